#!/usr/bin/env bash
# Runs fuzz targets one after the other, FUZZ_SECONDS each, with libFuzzer and the stable toolchain: cargo-fuzz is not needed.
#
# The flags are those of cargo-fuzz. Coverage instrumentation is stable in rustc; the address sanitizer is not, and is what
# RUSTC_BOOTSTRAP=1 is for (FUZZ_SANITIZER=none does without). A finding stops the run, exit status not 0; its input is in
# fuzz/artifacts/TARGET, and `tools/fuzz.sh TARGET FILE...` replays inputs instead of fuzzing.
#
# usage: tools/fuzz.sh --check         whether the targets compile
#        [FUZZ_SECONDS=60] [FUZZ_TIMEOUT=10] [FUZZ_SANITIZER=address|none] tools/fuzz.sh [TARGET...|TARGET FILE...]
set -euo pipefail

inputs=()
if [ $# -ge 2 ] && [ -f "$2" ]; then
  for file in "${@:2}"; do inputs+=("$(realpath "$file")"); done
  set -- "$1"
fi
cd "$(dirname "${BASH_SOURCE[0]}")/../fuzz"
if [ "${1:-}" = --check ]; then
  # libFuzzer itself, and with it a C++ compiler, is not needed to see whether the targets fit the crates.
  RUSTFLAGS="${RUSTFLAGS:-} --cfg fuzzing" CUSTOM_LIBFUZZER_PATH=/libnone.a \
    cargo check --release --quiet ${CI:+--locked} --target-dir ../target/fuzz-check
  exit
fi
seconds=${FUZZ_SECONDS:-60}
sanitizer=${FUZZ_SANITIZER:-address}
triple=$(rustc -vV | sed -n 's/^host: //p')
flags="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters"
flags+=" -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
flags+=" -Cllvm-args=-simplifycfg-branch-fold-threshold=0 -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks"
flags+=" --cfg fuzzing"
if [ "$sanitizer" = address ]; then
  # Distributions' toolchains may come without the sanitizer's runtime.
  if compgen -G "$(rustc --print target-libdir)/librustc-*_rt.asan.a" >/dev/null; then
    flags+=" -Zsanitizer=address"
    export RUSTC_BOOTSTRAP=1
    # The C libraries are built for it too. libdeflate includes one file with static tables several times, which gcc
    # marks as if they were one.
    export ASAN_OPTIONS=detect_odr_violation=0
  else
    echo "NOTE: this toolchain has no address sanitizer: fuzzing without it" >&2
  fi
fi

targets=("$@")
if [ ${#targets[@]} = 0 ]; then
  for source in fuzz_targets/*.rs; do targets+=("$(basename "$source" .rs)"); done
fi

# --target keeps the instrumentation out of build scripts and procedural macros. LTO would drop the coverage tables.
export CARGO_TARGET_DIR=$PWD/target CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_DEBUG=1
RUSTFLAGS="${RUSTFLAGS:-} $flags" cargo build --release --quiet --target "$triple" "${targets[@]/#/--bin=}"

for target in "${targets[@]}"; do
  program=$CARGO_TARGET_DIR/$triple/release/$target
  if [ ${#inputs[@]} -gt 0 ]; then
    "$program" "${inputs[@]}"
    continue
  fi
  mkdir -p "corpus/$target" "artifacts/$target"
  seeds=()
  [ -d "seeds/$target" ] && seeds=("seeds/$target")
  echo "fuzzing $target for $seconds s"
  # The bounds are explained in fuzz/README.md.
  "$program" -max_total_time="$seconds" -timeout="${FUZZ_TIMEOUT:-10}" -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 \
    -verbosity=0 -artifact_prefix="artifacts/$target/" "corpus/$target" "${seeds[@]}"
done
echo "no finding in ${#targets[@]} targets, $seconds s each"
