import re
from pathlib import Path

import arrowroot
from arrowroot import _sizes
from tests.recorded import session


def test_sizes_durations_and_rates_are_read_and_shown(tmp_path):
    session("sizes", tmp_path, vars(_sizes))


def test_units_are_written_nowhere_else():
    """A value formatted with a unit behind it would be a second spelling."""
    with_unit = re.compile(r"""\}(?: ?[kKMGT]B| (?:[mnuµ]?s|min))(?:/s)?["' ,;:)]""")
    found = [
        f"{path.name}: {line.strip()}"
        for path in Path(arrowroot.__file__).parent.rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if with_unit.search(line) and path.name != "_sizes.py"
    ]
    # StallMonitor's own table has six digits, and the source of the cost model whole seconds.
    assert [line.partition(":")[0] for line in sorted(found)] == ["model.py", "stalls.py"]
