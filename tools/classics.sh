#!/bin/bash
# The classics again, for real and in virtual time; what comes of it is kept, and published in demo/classics.
#
# usage: tools/classics.sh     by `make classics`, with .venv in place. A step that fails is told at once and at the end, and
# the others are done all the same. Nothing is measured twice: after Ctrl-C, or a mend, the same command goes on.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
bin=.venv/bin db=demo/classics.db
failed=()
# A program that ends well at Ctrl-C would have the shell go on with the next step.
trap 'echo "interrupted; the same command goes on with what is left" >&2; exit 130' INT

step() { # step COMMAND...
    echo "== $(date +%H:%M) $*" >&2
    "$@" || { failed+=("$*"); return 1; }
}

# Files of three classics, and the writers beside ours, are ROOT's.
"$bin/python" tools/check_root.py || { echo "the classics need ROOT: rm .venv/.root, and again" >&2; exit 1; }
mkdir -p demo
for campaign in campaigns/layouts.toml campaigns/classics/*.toml; do
    step "$bin/arrowroot" lab run "$campaign" --db "$db"
done
step "$bin/python" campaigns/classics/unflushed.py demo &&
    step "$bin/arrowroot" lab classics liverpool-2008 --file demo/unflushed.root:events --write
step "$bin/python" -m campaigns.parallel_output peers --real-events 600 --work-ms 5 --out demo/peers.json &&
    step "$bin/arrowroot" lab classics cms-2017 --file demo/peers.json --write
for name in root-2009 cms-2010 atlas-2012; do
    step "$bin/arrowroot" lab classics "$name" --db "$db" --write
done
step "$bin/arrowroot" lab classics --picture docs/classics.svg
step "$bin/arrowroot" lab publish demo/classics --db "$db"
[ ${#failed[@]} = 0 ] || { printf 'failed: %s\n' "${failed[@]}" >&2; exit 1; }
