#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs every fuzz target of targets.txt. Inputs that reached new code are kept in FOLDER, where
# the next run begins.
#
#   run.sh TIME FOLDER
set -u -o pipefail
[ $# = 2 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
cd "$(dirname "$0")/../.." || exit
log=build/fuzz.log count=0 found=0
mkdir -p build
while read -r pkg name _; do
	case $pkg in '' | '#'*) continue ;; esac
	count=$((count + 1))
	corpus=$2/$pkg
	mkdir -p "$corpus"
	printf '%s %s: ' "$pkg" "$name"
	if go test -run '^$' -fuzz "^$name\$" -fuzztime "$1" "./$pkg" -args -test.fuzzcachedir="$corpus" >$log 2>&1 </dev/null; then
		awk '/execs:/ { execs = $5 } END { printf "nothing found in %d runs, ", execs }' $log
		echo "$(find "$corpus/$name" -type f 2>/dev/null | wc -l) inputs kept"
	else
		found=$((found + 1))
		echo FAILED
		cat $log
	fi
done <tests/fuzz/targets.txt
echo "$count fuzz targets, $1 each: $found failed"
[ $count != 0 ] && [ $found = 0 ]
