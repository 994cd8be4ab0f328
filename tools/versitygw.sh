#!/bin/sh
# Builds versitygw, the S3 server of the remote tests, through Go's module proxy, once: it stays in
# ARROWROOT_TEST_TOOLS (by default ~/.cache/arrowroot-test), which `make clean` leaves alone.
#
# usage: tools/versitygw.sh     Quiet when it is there. Exits 1 with one message when it cannot be built.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n 's/^VERSION = "\(.*\)"/\1/p' lab/arrowroot_servers/s3.py)
directory=${ARROWROOT_TEST_TOOLS:-$HOME/.cache/arrowroot-test}/versitygw-$version
[ ! -x "$directory/versitygw" ] || exit 0

PATH=$PATH:/usr/local/go/bin
if ! command -v go >/dev/null; then
    echo "arrowroot: no Go to build the S3 server with. https://go.dev/dl, or Debian 13 and later: apt install golang-go" >&2
    exit 1
fi
echo "arrowroot: building versitygw $version, some minutes, once: $directory" >&2
mkdir -p "$directory"
# Elsewhere first, so that a broken build leaves nothing that looks whole.
building=$(mktemp -d "$directory/building.XXXXXX")
trap 'rm -rf "$building"' EXIT
GOBIN=$building GOFLAGS= go install -trimpath -ldflags '-s -w' "github.com/versity/versitygw/cmd/versitygw@$version" >&2 || {
    echo "arrowroot: versitygw $version does not build with $(go version)" >&2
    exit 1
}
mv "$building/versitygw" "$directory/versitygw"
