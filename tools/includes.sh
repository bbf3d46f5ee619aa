#!/bin/sh
# SPDX-License-Identifier: Apache-2.0

# Finds circles of includes between units of C: a unit is FILE.c with FILE.h. Every FILE.c
# of softsai has a header of its own, but sai.c, which has what SAI libraries export.
set -eu
cd "$(git rev-parse --show-toplevel)"
bad=0
# "unit included-unit" for each #include of a header beside the file, or below its folder.
circles=$(git ls-files 'sai-shim/*.c' 'sai-shim/*.h' ':!:*/testdata/*' | while read -r file; do
	unit=${file%.*}
	sed -n 's/^#include "\(.*\)\.h"$/\1/p' "$file" | while read -r name; do
		other=$(dirname "$file")/$name
		[ ! -e "$other.h" ] || [ "$other" = "${unit%.bpf}" ] || echo "$unit $other"
	done
done | tsort 2>&1 >/dev/null || true)
[ -z "$circles" ] || { printf 'circles of includes:\n%s\n' "$circles" >&2; bad=1; }
for file in sai-shim/softsai/src/*.c; do
	name=$(basename "$file" .c)
	[ "$name" = sai ] || grep -q "^#include \"$name.h\"" "$file" || {
		echo "$file: it has no header $name.h of its own" >&2
		bad=1
	}
done
exit $bad
