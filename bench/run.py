"""Measures arrowroot beside the limit and the peers, and prints one table of ratios: ``make bench``.

Uses the peers kit (ARROWROOT_PEERS_KIT, by default ../shared/peers beside the repository), which is set up
and given its data if they are missing: about 8 GB at scale 1. METHODOLOGY.md says what the numbers mean.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parent
sys.path.insert(0, str(HERE))
import against  # noqa: E402
import process_measures  # noqa: E402
from tables import open_table, process_table, read_table  # noqa: E402
from targets import ALL_CASES, GROUPS, LZMA_SCALE, MAIN_CASES, Group  # noqa: E402

RESULTS = REPOSITORY / "target" / "bench"
README = REPOSITORY / "README.md"
#: All that was measured; the README has the cases that say most.
MEASURED = REPOSITORY / "docs" / "measured.md"
BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
RUN_TIMEOUT_S = 600


def kit_directory() -> Path:
    """Where the peers kit is."""
    kit = Path(os.environ.get("ARROWROOT_PEERS_KIT") or REPOSITORY.parent / "shared" / "peers")
    if not (kit / "bench.py").exists():
        sys.exit(f"the peers kit is not in {kit}: set ARROWROOT_PEERS_KIT")
    return kit


def peers_directory() -> Path:
    """Where the kit keeps its data."""
    return Path(os.environ.get("PEERS_DIR") or Path.home() / ".cache" / "arrowroot-peers")


def set_name(group: Group, scale: float) -> str:
    """Name of the kit's set of files for a group."""
    return group.set_name or ("default" if scale == 1 else f"scale-{scale:g}".replace(".", "_"))


def names(text: str) -> list[str]:
    """What an option lists with commas."""
    return [name for name in text.split(",") if name]


def parse() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--scale", type=float, default=1.0, help="size of the data; 1 is 1.3 GB of values (default 1)"
    )
    parser.add_argument("--codecs", type=names, help="of zstd,zlib,lz4,none,lzma (default: all)")
    parser.add_argument("--cases", type=names, help="such as flat:s10 or 'nano:*' (default: all)")
    parser.add_argument("--peers", type=names, help="names or patterns of the kit (default: the usual ones)")
    parser.add_argument(
        "--tasks", type=names, default=["read", "open", "process"], help="of read,open,process"
    )
    parser.add_argument("--repeat", type=int, default=3, help="repetitions, in turns (default 3)")
    parser.add_argument("--prepared", action="store_true", help="the kit and its data are there: don't look")
    parser.add_argument("--reuse", action="store_true", help="measure nothing: tables of the last results")
    parser.add_argument(
        "--update-docs", action="store_true", help="write the tables into README.md and docs/measured.md"
    )
    parser.add_argument(
        "--against", metavar="COMMIT", help="instead: build a commit, and say where this checkout is slower"
    )
    parser.add_argument(
        "--pairs", type=int, default=11, help="of samples in a round of --against (default 11)"
    )
    return parser.parse_args()


def groups(options: argparse.Namespace) -> list[Group]:
    """The groups that have one of the chosen codecs, with only those."""
    chosen = []
    for group in GROUPS:
        codecs = tuple(c for c in group.codecs if not options.codecs or c in options.codecs)
        if codecs:
            cases = tuple(options.cases or group.cases)
            chosen.append(Group(group.set_name, codecs, cases, tuple(options.peers or group.peers)))
    return chosen


def prepare(kit: Path, options: argparse.Namespace) -> None:
    """Set the kit up and make the data; quick when both are there."""
    subprocess.run([str(kit / "setup.sh")], check=True)
    if options.against:
        make_data(kit, against.SET, against.SCALE, against.CODECS, ("nano", "flat", "aod"))
        return
    for group in groups(options):
        scale = LZMA_SCALE if group.set_name else options.scale
        make_data(kit, set_name(group, options.scale), scale, group.codecs, ("nano", "flat"))


def make_data(kit: Path, name: str, scale: float, codecs: tuple[str, ...], only: tuple[str, ...]) -> None:
    """Make one set of the kit's files, what is missing of it."""
    chosen = [argument for dataset in only for argument in ("--only", dataset)]
    command = [str(kit / "make_data.sh"), "--set", name, "--scale", f"{scale:g}", "--codec", ",".join(codecs)]
    subprocess.run([*command, *chosen], check=True)


def external(name: str, script: str) -> list[str]:
    """The kit's option for an engine of ours."""
    return ["--external", f"{name}={shlex.quote(sys.executable)} {shlex.quote(str(HERE / script))}"]


def call_kit(kit: Path, task: str, name: str, arguments: list[str]) -> dict[str, Any]:
    """Run the kit's bench.py. Returns its samples; a complaint of wrong content is kept in them."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.unlink(missing_ok=True)
    subprocess.run(
        [sys.executable, str(kit / "bench.py"), task, *external("arrowroot", "peers_engine.py"),
         "--timeout", str(RUN_TIMEOUT_S), "--json", str(path), *arguments],
        check=False,
    )  # fmt: skip
    if not path.exists():
        sys.exit(f"the kit's {task} gave no results")
    return _load(name)


def _load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return found


def read(kit: Path, options: argparse.Namespace) -> dict[str, Any]:
    """All groups' cases as one result."""
    merged: dict[str, Any] = {}
    for group in groups(options):
        result = call_kit(kit, "read", f"read-{group.codecs[0]}", [
            "--formats", "ttree", "--cases", ",".join(group.cases), "--codecs", ",".join(group.codecs),
            "--engines", ",".join(group.peers),
            "--set", set_name(group, options.scale), "--repeat", str(options.repeat),
        ])  # fmt: skip
        if merged:
            merged["cases"] += result["cases"]
            merged["complaints"] += result["complaints"]
        else:
            merged = result
    return merged


def machine(environment: dict[str, Any]) -> str:
    """The kind of machine, without anything that tells which one."""
    packages = ", ".join(f"{name} {version}" for name, version in sorted(environment["packages"].items()))
    return (
        f"{environment['cpu']}, {environment['n_cpus']} cores, "
        f"{environment['memory_bytes'] / 2**30:.0f} GiB, "
        f"load {environment['load']:.1f} at the start; {packages}"
    )


def measure(kit: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Run the chosen tasks; what came of them is also in RESULTS."""
    results: dict[str, Any] = {"date": today()}
    results |= {"scale": options.scale, "repeat": options.repeat}
    main_set = set_name(GROUPS[0], options.scale)
    if "read" in options.tasks:
        results["read"] = read(kit, options)
        _save(results)
    if "open" in options.tasks:
        arguments = ["--formats", "ttree", "--set", main_set, "--engines", "root,uproot", "--threads", "1",
                     "--codecs", "zstd", "--cases", "nano:ttree,flat:ttree,file:",
                     "--repeat", str(max(5, options.repeat))]  # fmt: skip
        results["open"] = call_kit(kit, "open", "open", arguments)
        _save(results)
    if "process" in options.tasks:
        path = peers_directory() / "data" / main_set / "flat_zstd.root"
        results["process"] = vars(process_measures.measure(path, "T"))
    _save(results)
    return results


def _save(results: dict[str, Any]) -> None:
    (RESULTS / "results.json").write_text(json.dumps(results))


def render(results: dict[str, Any], cases: tuple[str, ...] = ALL_CASES) -> str:
    """All tables, and what they were measured on; of reading, the rows of some cases."""
    parts = []
    kit_results = results.get("read") or results.get("open")
    if kit_results:
        parts.append(
            f"{results['date']}, {machine(kit_results['environment'])}. Scale {results['scale']:g} "
            f"(lzma {LZMA_SCALE:g}), medians of {results['repeat']}, warm page cache. "
            "`bench/METHODOLOGY.md` says what is measured and where it is biased."
        )
    if "read" in results:
        parts.append(read_table([case for case in results["read"]["cases"] if case["case"] in cases]))
    if "open" in results:
        parts.append(open_table(results["open"]["cases"]))
    if "process" in results:
        parts.append(process_table(process_measures.ProcessMeasures(**results["process"])))
    return "\n\n".join(parts)


def today() -> str:
    """The date of a measurement."""
    return dt.datetime.now(tz=dt.timezone.utc).date().isoformat()


def update_page(page: Path, tables: str, begin: str, end: str) -> None:
    """Replace what stands between the markers."""
    text = page.read_text(encoding="utf-8")
    if begin not in text or end not in text:
        sys.exit(f"{page.name} has no {begin} and {end}")
    before, _, rest = text.partition(begin)
    after = rest.partition(end)[2]
    page.write_text(f"{before}{begin}\n{tables}\n{end}{after}", encoding="utf-8")


def main() -> int:
    """Return 1 if arrowroot read something else than the peers, or is slower than the commit it is compared with."""
    options = parse()
    if options.against:
        kit = kit_directory()
        if not options.prepared:
            prepare(kit, options)
        return against.compare(options.against, peers_directory() / "data" / against.SET, options.pairs)
    if options.reuse:
        results = _load("results")
    else:
        kit = kit_directory()
        if not options.prepared:
            prepare(kit, options)
        results = measure(kit, options)
    tables = render(results)
    print(f"\n{tables}")
    if options.update_docs:
        update_page(README, render(results, MAIN_CASES), BEGIN, END)
        update_page(MEASURED, tables, BEGIN, END)
    ours = "arrowroot,"
    wrong = [c for task in ("read", "open") for c in results.get(task, {}).get("complaints", []) if ours in c]
    for complaint in wrong:
        print(f"!! {complaint}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
