#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes archives of the tool sluice alone in FOLDER, sluice_VERSION_SYSTEM_ARCH.tar.gz: the program,
# built without cgo, completion, manual pages, licenses and a sample capture. Equal input gives
# equal archives.
#
#   tool.sh FOLDER SYSTEM/ARCH...
#
# SYSTEM is linux or darwin, ARCH amd64 or arm64, as Go names them.
set -eu -o pipefail
umask 022
[ $# -ge 2 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
mkdir -p "$1"
out=$(realpath "$1")
shift
cd "$(dirname "$0")/.."
version=$(cat VERSION)
commit=$(git describe --always --dirty=.dirty --exclude '*' 2>/dev/null || true)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

build() { # FILE, for GOOS and GOARCH
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -pgo=orchagent-ext/cmd/cpu.pgo -ldflags "-s -w -X main.version=$version${commit:++$commit}" -o "$1" ./orchagent-ext/cmd/sluice
}

build "$work/own/sluice"
release/beside.sh "$work/own" "$work/share" sluice
for target; do
	name=sluice_${version}_${target/\//_}
	root=$work/$name
	mkdir "$root"
	GOOS=${target%/*} GOARCH=${target#*/} build "$root/bin/sluice"
	cp -r "$work/share" "$root/share"
	install -D -m 644 -t "$root/samples" tests/captures/one-port-ipv6.pcap
	install -m 644 LICENSE "$root"
	release/licenses.sh "$root/bin/sluice" >"$root/LICENSES.modules"
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -C "$work" -cf - "$name" | gzip -n >"$out/$name.tar.gz"
done
