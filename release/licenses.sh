#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints the licenses of Go and of the modules that programs contain.
#
#   licenses.sh PROGRAM...
set -eu -o pipefail
[ $# -ge 1 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
programs=$(realpath "$@")
cd "$(dirname "$0")/.."
# shellcheck disable=SC2086 # a list, of paths without blanks
go version -m $programs | awk '$1 == "dep" { print $2 }' | sort -u | xargs go list -m -f '{{.Path}} {{.Dir}}' | while read -r module folder; do
	found=
	for file in "$folder"/LICENSE* "$folder"/NOTICE* "$folder"/COPYING*; do
		[ -f "$file" ] || continue
		found=yes
		printf '==== %s %s\n\n' "$module" "${file##*/}"
		cat "$file"
		echo
	done
	[ -n "$found" ] || { echo "licenses.sh: module $module has no license" >&2; exit 1; }
done
# those of the page of sluice view
for file in orchagent-ext/view/page/third_party/*/LICENSE; do
	printf '==== %s LICENSE\n\n' "$(basename "$(dirname "$file")")"
	cat "$file"
	echo
done
printf '==== Go\n\n'
cat "$(go env GOROOT)/LICENSE"
