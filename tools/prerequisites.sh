#!/bin/sh
# Checks what a build needs and pip cannot bring: Python >= 3.10 with venv, a C compiler that links, Rust.
#
# As root on a Debian-like system (a container, a CI machine) it installs what is missing, from the distribution, and never
# removes a package to do so. Everybody else gets one message that says what to install. Quiet when all is there.
#
# usage: tools/prerequisites.sh [--cxx|--cxx-if-possible|--servers|--browser|--bench]
#   --cxx             also a C++ compiler, which libFuzzer needs
#   --cxx-if-possible likewise, for ROOT's interpreter, but a lack of it is no error
#   --servers         only this: the servers of the remote tests. What cannot be installed is said; the tests decide what
#                     a lack means (skipped, but an error in CI)
#   --browser         only this: the browser of the tests of the laboratory's pages; a lack is treated likewise
#   --bench           only this: a C++ compiler and the codecs' libraries, with which the benchmarks measure the limit
set -u
cd "$(dirname "$0")/.." || exit 1
python=${PYTHON:-python3}
cc=${CC:-cc}
cxx=${CXX:-c++}
wanted=$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' Cargo.toml)

say() { printf 'arrowroot: %s\n' "$*" >&2; }
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; } # at_least WANTED FOUND

has_python() { "$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }
links() { # links COMPILER LANGUAGE: compiles and links a program against its library
    case $2 in c++) header=vector ;; *) header=stdlib.h ;; esac
    printf '#include <%s>\nint main(void) { return 0; }\n' "$header" | $1 -x "$2" - -o /dev/null 2>/dev/null
}
cargo_version() { cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9.]*\).*/\1/p'; }
has_rust() {
    found=$(cargo_version)
    [ -n "$found" ] && at_least "$wanted" "$found" && rustc --version >/dev/null 2>&1
}
candidate() { apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}\([0-9.]*\).*/\2/p'; }
on_path() { PATH="$PATH:/usr/sbin:/usr/local/sbin:/usr/local/go/bin" command -v "$1" >/dev/null; }
install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends --no-remove "$@" >&2; }

install_rust() {
    if command -v rustup >/dev/null; then
        say "rustup is here, its stable toolchain is not: rustup toolchain install stable"
        rustup toolchain install stable --profile minimal --component rustfmt --component clippy >&2
        return
    fi
    # Debian keeps an up-to-date compiler for its browsers in the packages that end in -web.
    for suffix in "" -web; do
        if at_least "$wanted" "$(candidate "cargo$suffix")"; then
            say "installing Rust from the distribution: cargo$suffix"
            install "cargo$suffix" || continue
            for extra in "rustfmt$suffix" "rust-clippy$suffix"; do
                [ -n "$(candidate "$extra")" ] && install "$extra"
            done
            return 0
        fi
    done
    if [ -n "$(candidate rustup)" ]; then
        say "installing rustup from the distribution, and with it the stable toolchain"
        install rustup && rustup toolchain install stable --profile minimal --component rustfmt --component clippy >&2
    fi
}

# A server that Debian installs also starts, on its usual port: not here, unless the machine has a policy of its own.
install_without_starting() {
    policy=/usr/sbin/policy-rc.d
    if [ -e "$policy" ]; then install "$@"; return; fi
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod +x "$policy" || return
    trap 'rm -f "$policy"' EXIT INT TERM
    install "$@"
    status=$?
    rm -f "$policy"
    trap - EXIT INT TERM
    return "$status"
}

if [ "${1:-}" = --servers ]; then
    need=""
    on_path nginx || need="$need nginx-light"
    on_path xrootd || need="$need xrootd-server"
    on_path xrdcp || need="$need xrootd-client"
    on_path openssl || need="$need openssl"
    on_path curl || need="$need curl"
    on_path zsh || need="$need zsh"
    on_path fish || need="$need fish"
    find /usr/lib /usr/local/lib -name 'libXrdHttp-*.so' 2>/dev/null | grep -q . || need="$need xrootd-server-plugins"
    # Debian does not put its programs on the path.
    find /usr/lib/postgresql /usr/local/bin /usr/bin -name initdb 2>/dev/null | grep -q . || need="$need postgresql"
    [ -n "$need" ] || exit 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing servers and shells for tests from the distribution:$need"
        apt-get update -qq >&2 || say "apt-get update failed: going on with what apt knows"
        # One by one: a distribution that lacks one has the others. What is missing after all, the tests name.
        for package in $need; do install_without_starting "$package" || say "cannot install $package"; done
    else
        say "tests want servers and shells that are not here.
    Debian, Ubuntu: apt install$need"
    fi
    exit 0
fi

if [ "${1:-}" = --browser ]; then
    on_path chromium || on_path chromium-browser || on_path google-chrome || {
        if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
            say "installing the browser for the tests of the laboratory's pages from the distribution: chromium"
            apt-get update -qq >&2 || say "apt-get update failed: going on with what apt knows"
            install chromium fonts-dejavu-core || say "cannot install chromium"
        else
            say "tests of the laboratory's pages want a browser that is not here.
    Debian: apt install chromium"
        fi
    }
    exit 0
fi

if [ "${1:-}" = --bench ]; then
    need=""
    links "$cxx" c++ || need="$need g++"
    for pair in libdeflate.h:libdeflate-dev zstd.h:libzstd-dev lz4.h:liblz4-dev lzma.h:liblzma-dev; do
        printf '#include <%s>\n' "${pair%%:*}" | $cc -E -x c - >/dev/null 2>&1 || need="$need ${pair##*:}"
    done
    [ -n "$need" ] || exit 0
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing for the benchmarks from the distribution:$need"
        apt-get update -qq >&2 || say "apt-get update failed: going on with what apt knows"
        # shellcheck disable=SC2086 # a list of packages
        install $need && exit 0
    fi
    say "the benchmarks' limit wants what is not here.
    Debian, Ubuntu: apt install$need"
    exit 1
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    need=""
    has_python || need="$need python3 python3-venv"
    links "$cc" c || need="$need gcc libc6-dev"
    [ -z "${1:-}" ] || links "$cxx" c++ || need="$need g++"
    if [ -n "$need" ] || ! has_rust; then
        apt-get update -qq >&2 || say "apt-get update failed: going on with what apt knows"
        # shellcheck disable=SC2086 # a list of packages
        [ -z "$need" ] || { say "installing from the distribution:$need"; install $need; }
        has_rust || install_rust
    fi
fi

missing=0
lack() { missing=1; say "$@"; }
has_python || lack "needs Python 3.10 or later with venv as '$python' (PYTHON=... names another one).
    Debian, Ubuntu: apt install python3 python3-venv       Fedora: dnf install python3"
links "$cc" c || lack "needs a C compiler as '$cc' that compiles and links: the codecs are C libraries, built with the crates.
    Debian, Ubuntu: apt install gcc libc6-dev       Fedora: dnf install gcc       macOS: xcode-select --install"
[ "${1:-}" != --cxx ] || links "$cxx" c++ || lack "needs a C++ compiler as '$cxx' for libFuzzer.
    Debian, Ubuntu: apt install g++       Fedora: dnf install gcc-c++"
if ! has_rust; then
    found=$(cargo_version)
    if [ -n "$found" ]; then rust_state="cargo here is $found"; else rust_state="there is no cargo that runs"; fi
    lack "needs Rust $wanted or later; $rust_state.
    rustup: https://rustup.rs, then: rustup toolchain install stable --component rustfmt --component clippy
    Debian 12 and later: apt install cargo-web rustfmt-web       Ubuntu 24.04 and later: apt install rustup
    Fedora: dnf install cargo rustfmt clippy"
fi
[ "$missing" = 0 ] || { say "nothing was built; run make again when it is installed."; exit 1; }
