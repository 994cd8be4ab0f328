"""Say where `make demo` left its picture and its pages, and what to try next.

usage: demo_epilogue.py SAMPLE PICTURE PAGE
"""

import sys
from pathlib import Path

sample, picture, page = (Path(argument) for argument in sys.argv[1:])
for made in (picture, page):
    if not made.is_file() or made.stat().st_size == 0:
        sys.exit(f"demo: nothing was written to {made}")
print(f"""
The picture is {picture.resolve()}
The sample  is {sample.resolve()}
The pages of the laboratory begin at
  file://{page.resolve()}

What to try next:
  .venv/bin/arrowroot ls {sample}
  .venv/bin/arrowroot head {sample}:Events
  .venv/bin/arrowroot perf --help
  .venv/bin/arrowroot lab show --db {page.parents[1] / "lab.db"}
and in .venv/bin/python:
  import arrowroot as ar
  ar.open("{sample}")["Events"].to_arrow(["nMuon", "Muon_pt"])""")
