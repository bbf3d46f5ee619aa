#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compares include/sai_abi.h with a system's SAI headers: every number, and the
# size and offset of every type and member in it. `make sai-abi-check
# SAI_INC=/usr/include/sai` calls it. What these headers do not know, because they
# are older, is listed and not compared; nor are sizes of method tables, which
# newer versions extend. CC may be the compiler for another machine, and HOSTCC the
# one for this.
set -eu
inc=$1
here=$(cd "$(dirname "$0")" && pwd)
abi=$here/include/sai_abi.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -f "$inc/sai.h" ] || { echo "sai-abi-check: $inc has no sai.h: nothing to compare with" >&2; exit 2; }

# A program of our header that prints assertions for theirs.
{
	printf '#include <stdio.h>\n#include "sai_abi.h"\n#define S(x) (long long)(x)\n'
	printf '#define ASSERT(what, value) printf("_Static_assert((long long)(" what ") == %%lldLL, \\"" what "\\");\\n", S(value))\n'
	printf '#define SIZE(t) ASSERT("sizeof(" #t ")", sizeof(t));\n'
	printf '#define SLOT(t, m) ASSERT("offsetof(" #t ", " #m ")", offsetof(t, m));\n'
	printf '#define AT(t, m) SLOT(t, m) ASSERT("sizeof(((" #t " *)0)->" #m ")", sizeof(((t *)0)->m));\n'
	echo 'int main(void)'
	echo '{'
	awk '
		# typedef struct or union { members } name; a union inside has its name at its end.
		/^typedef (struct|union) \{$/ { n = 0; inside = 1; next }
		inside && /^\tunion \{$/      { from = n; next }
		inside && /^\t\} [a-z0-9_]+;/ { sub(/;.*/, "", $2); for (i = from; i < n; i++) member[i] = $2 "." member[i]; member[n++] = $2; next }
		inside && /^\}/ {
			inside = 0
			sub(/;/, "", $2)
			table = $2 ~ /_api_t$/
			if (!table) print "SIZE(" $2 ")"
			for (i = 0; i < n; i++) print (table ? "SLOT(" : "AT(") $2 ", " member[i] ")"
			next
		}
		inside && /;/ { sub(/;.*/, ""); sub(/^\*/, "", $NF); if ($NF !~ /^room\[/) member[n++] = $NF; next }

		/^SAI_LIST\(/ { gsub(/[(),;]/, " "); print "SIZE(" $3 ") AT(" $3 ", count) AT(" $3 ", list)"; next }
		/^typedef [a-z0-9_]+ [a-z0-9_]+(\[.*\])?;/ { sub(/[[;].*/, "", $3); print "SIZE(" $3 ")"; next }
		/^\tSAI_[A-Z0-9_]+ = / { print "ASSERT(\"" $1 "\", " $1 ");" }
	' "$abi"
	echo '}'
} >"$work/ours.c"
${HOSTCC:-${CC:-gcc}} -I"$here/include" -o "$work/ours" "$work/ours.c"
{
	printf '#include <stddef.h>\n#include <sai.h>\n'
	"$work/ours"
} >"$work/theirs.c"

# Assertions that fail are differences; lines that do not compile name what is not there.
if ! ${CC:-gcc} -w -I"$inc" -I"$inc/../experimental" -I"$inc/experimental" -fsyntax-only -fmax-errors=0 \
	-fdiagnostics-color=never -fno-diagnostics-show-caret "$work/theirs.c" 2>"$work/errors"; then
	if grep 'error:' "$work/errors" | grep -v "^$work/theirs.c:" >&2 || grep 'fatal error:' "$work/errors" >&2; then
		echo "sai-abi-check: the headers in $inc do not compile" >&2
		exit 1
	fi
fi
sed -n 's/.*error: static assertion failed: "\(.*\)"$/\1/p' "$work/errors" >"$work/differ"
sed -n '/static assertion failed/!s/^[^:]*:\([0-9]*\):[0-9]*: error:.*/\1/p' "$work/errors" | sort -nu |
	while read -r line; do sed -n "${line}s/.*, \"\(.*\)\");\$/\1/p" "$work/theirs.c"; done >"$work/unknown"
sed 's/^/not in these headers, not compared: /' "$work/unknown"
if [ -s "$work/differ" ]; then
	sed 's/^/sai-abi-check: differs: /' "$work/differ" >&2
	exit 1
fi
echo "sai-abi-check: $(($(grep -c _Static_assert "$work/theirs.c") - $(wc -l <"$work/unknown"))) numbers, sizes and offsets agree"
