#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Takes a program, or all files, out of a package of Debian without installing it. Where there is
# no such package it says so and goes on: the tests that need the program are skipped.
#
#   unpack.sh PACKAGE PATH OUT      PATH as in the package; . is all of it
set -eu -o pipefail
[ $# = 3 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
package=$1 path=$2 out=$3
mkdir -p "$(dirname "$out")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # apt-get downloads as a user of its own
if (cd "$work" && apt-get download -q "$package" && dpkg-deb -x "$package"_*.deb root && [ -e "root/$path" ]); then
	rm -rf "$out"
	if [ "$path" = . ]; then
		path=
	fi
	mv "$work/root${path:+/$path}" "$out"
else
	echo "make: no $out from Debian's package $package: the tests that need it are skipped, and say so" >&2
fi
