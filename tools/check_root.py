"""Exit with 0 if ROOT works here: it imports, and its interpreter finds a C++ library to compile against."""

import sys
import warnings

warnings.filterwarnings("ignore", message=r"\s*This distribution of ROOT is in alpha stage")
try:
    import ROOT
except ImportError as error:
    sys.exit(f"ROOT does not import: {error}")

ROOT.gROOT.SetBatch(True)
if not ROOT.gInterpreter.Declare(
    "#include <vector>\nint arrowroot_probe() { return std::vector<int>(3).size(); }"
):
    sys.exit(
        "ROOT's interpreter cannot compile C++ here (are the headers of a C++ standard library installed?)"
    )
if ROOT.arrowroot_probe() != 3:
    sys.exit("ROOT's interpreter computes nonsense")
