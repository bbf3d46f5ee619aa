#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Judges the tree without running it, from its root: make lint.
set -eu -o pipefail
cd "$(dirname "$0")/.."

# tree is the state of the tree, which make generate leaves as it is.
tree() { { git status --porcelain || true; git diff || true; } 2>/dev/null | git hash-object --stdin; }

echo 'gofmt -l .'
files=$(gofmt -l .)
[ -z "$files" ] || { printf 'not formatted:\n%s\n' "$files" >&2; exit 1; }

echo 'clang-format by .clang-format'
git ls-files '*.c' '*.h' | xargs clang-format --dry-run --Werror

echo 'SPDX-License-Identifier in each source file'
files=$(git ls-files '*.go' '*.c' '*.h' '*.py' '*.sh' '*.lua' '*.yang' Makefile '*/Makefile' ':!:*/testdata/*' | xargs grep -L 'SPDX-License-Identifier:' || true)
[ -z "$files" ] || { printf 'no SPDX-License-Identifier line:\n%s\n' "$files" >&2; exit 1; }

echo 'circles of includes in C'
sh tools/includes.sh

echo 'words of tools/words.txt'
sh tools/words.sh

echo 'words by density'
go run ./tests/words

echo 'shellcheck'
git ls-files '*.sh' debian/p{ost,re}{inst,rm} debian/testdata/systemctl ':!tests/ipsec/testdata' | xargs shellcheck

echo 'mandoc -T lint of the manual pages'
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
release/install.sh /usr "$pages"
PART=lab release/install.sh /usr "$pages"
mandoc -T lint -W warning "$pages"/usr/share/man/man*/*

echo 'systemd-analyze security of the units'
for unit in debian/*.service; do
	systemd-analyze security --offline=true --threshold=50 --no-pager "$unit" >"$pages/report" || { tail -n 1 "$pages/report"; exit 1; }
done

echo 'ansible-lint'
(cd lab/ansible && LC_ALL=C.UTF-8 ansible-lint --offline -q)

echo 'go vet ./...'
go vet ./...

# The linter has a module file of its own, so that its dependencies never choose the
# versions that Sluice uses.
echo 'golangci-lint run (before its first run it is built, which takes minutes)'
go tool -modfile=tools/go.mod golangci-lint run --allow-parallel-runners

echo 'govulncheck: known vulnerabilities'
tools/vulnerabilities.sh

before=$(tree)
make --no-print-directory generate
[ "$before" = "$(tree)" ] || {
	git status --short
	echo 'make lint: make generate changed files: commit what it makes' >&2
	exit 1
}
