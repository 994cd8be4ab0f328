"""Say where `make demo` left its picture, and what to try next.

usage: demo_epilogue.py SAMPLE PICTURE
"""

import sys
from pathlib import Path

sample, picture = (Path(argument) for argument in sys.argv[1:])
if not picture.is_file() or picture.stat().st_size == 0:
    sys.exit(f"demo: no picture was written to {picture}")
print(f"""
The picture is {picture.resolve()}
The sample  is {sample.resolve()}

What to try next:
  .venv/bin/arrowroot ls {sample}
  .venv/bin/arrowroot head {sample}:Events
  .venv/bin/arrowroot perf --help
and in .venv/bin/python:
  import arrowroot as ar
  ar.open("{sample}")["Events"].to_arrow(["nMuon", "Muon_pt"])""")
