# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0

# Finds the phrases of tools/words.txt in the tracked files, and ends with 1 if there
# is one. Runs in the root of the source.
set -eu
list=$(mktemp)
trap 'rm -f "$list"' EXIT
sed 's/[[:space:]]*#.*//; /^$/d' tools/words.txt >"$list"
[ -s "$list" ]
if git grep -nIiE -f "$list" -- . ':!CONTRIBUTING.md' ':!CHANGELOG.md' ':!tools/words.txt' ':!tests/words/count.go' \
	':!yang/model/model.go' ':!LICENSE' ':!*/testdata/*'; then
	echo 'tools/words.txt says what to write instead of these phrases' >&2
	exit 1
fi
