#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts the libraries that libsoftsai.so is linked with, of Debian for arm64, into
# DIR, with their headers. Nothing is installed: the packages are fetched with lists
# of their own, and unpacked. DIR is left as it is when it is complete.
#
#   arm64-root.sh DIR
set -eu

packages='libbpf1 libbpf-dev libelf1 zlib1g libnl-3-200 libnl-3-dev libnl-route-3-200 libnl-route-3-dev'
[ $# = 1 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
[ ! -e "$1/complete" ] || exit 0
command -v apt-get >/dev/null || {
	echo "arm64-root.sh: no apt-get here: unpack Debian 12's arm64 packages $packages into $1, and make $1/complete" >&2
	exit 1
}

mkdir -p "$1"
root=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
fetch() {
	apt-get -q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o APT::Sandbox::User= \
		-o Dir::State::lists="$work/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$work/cache" "$@" >"$work/log" 2>&1 || {
		cat "$work/log" >&2
		exit 1
	}
}
cd "$work"
fetch update
# shellcheck disable=SC2086 # a list
fetch download $packages
for package in *.deb; do
	dpkg-deb --extract "$package" "$root"
done
touch "$root/complete"
