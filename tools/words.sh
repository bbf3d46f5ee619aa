# SPDX-License-Identifier: Apache-2.0

# Finds the phrases of tools/words.txt in the tracked files, and ends with 1 if there
# is one. Runs in the root of the source.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
patterns() { sed 's/[[:space:]]*#.*//; /^$/d'; }
sed '/^# What follows is held/,$d' tools/words.txt | patterns >"$work/everywhere"
sed '1,/^# What follows is held/d' tools/words.txt | patterns >"$work/pages"
[ -s "$work/everywhere" ]
found=0
find_in() { # find_in PATTERNS PATHSPEC...
	list=$1
	shift
	git grep -nIiE -f "$list" -- "$@" ':!CONTRIBUTING.md' ':!CHANGELOG.md' ':!tools/words.txt' \
		':!yang/model/model.go' ':!LICENSE' ':!*/testdata/*' && found=1 || [ $? = 1 ]
}
find_in "$work/everywhere" .
[ ! -s "$work/pages" ] || find_in "$work/pages" . ':!*.c' ':!*.h'
[ $found = 0 ] || echo 'tools/words.txt says what to write instead of these phrases' >&2
exit $found
