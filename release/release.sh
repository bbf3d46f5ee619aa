#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Gathers a release in FOLDER from what make has built for this machine and for arm64: Debian
# packages, the images, archives of the tool, YANG models, a bill of materials, and checksums. With a tag
# vVERSION on another commit, or changes that are not committed, it says so: such a folder is no release.
#
#   release.sh FOLDER IMAGE_TAR TOOL_IMAGE_TAR
set -eu -o pipefail
umask 022
[ $# = 3 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
image=$(realpath "$2") tool=$(realpath "$3")
cd "$(dirname "$0")/.."
version=$(cat VERSION)
host=$(dpkg --print-architecture)
rm -f "$out"/*

for arch in "$host" arm64; do
	debian/build.sh "$out" "$arch"
done
install -m 644 "$image" "$out/docker-sluice_${version}_$host.tar.gz"
install -m 644 "$tool" "$out/docker-sluice-tool_${version}_$host.tar.gz"
release/tool.sh "$out" {linux,darwin}/{amd64,arm64}
epoch=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=644 --mtime="@$epoch" -cf - yang/*.yang | gzip -9n >"$out/sluice-yang_$version.tar.gz"
go tool -modfile=tools/go.mod go-licenses report --template release/licenses.tpl \
	./orchagent-ext/cmd/sluice ./orchagent-ext/cmd/sluice-lab ./orchagent-ext/cmd/sluiced ./gnmi-server/cmd/sluice-gnmi 2>"$out/log" | sed '/^$/d' |
	go run -buildvcs=false ./release/internal/sbom sluice "$version" bin/sluice bin/sluice-lab bin/sluiced bin/sluice-gnmi >"$out/sluice_$version.cdx.json" || {
	cat "$out/log" >&2
	exit 1
}
rm "$out/log"
(cd "$out" && sha256sum -- * >SHA256SUMS)

[ -z "$(git status --porcelain 2>/dev/null)" ] || echo 'release.sh: changes are not committed: this is no release' >&2
[ "$(git rev-parse -q --verify "v$version^{commit}" 2>/dev/null)" = "$(git rev-parse HEAD 2>/dev/null)" ] ||
	echo "release.sh: tag v$version is not on this commit: git tag -s v$version" >&2
ls -l "$out"
