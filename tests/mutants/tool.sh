#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Changes operators and conditions of a package that computes, one at a time, by gremlins, and runs the tests of
# the package: tool.sh PACKAGE. build/mutants/tool.json has each mutant.
set -eu -o pipefail
cd "$(dirname "$0")/../.."
package=$1
mkdir -p build/mutants
report=$PWD/build/mutants/tool.json
# gremlins copies all of a folder for each worker: a copy of the sources alone is a hundredth of it.
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
git ls-files -z | tar --null --files-from=- --ignore-failed-read -cf - | tar -xf - -C "$tree"
cd "$tree"
ulimit -v 12000000 # kB: a mutant may allocate without end
go run github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0 unleash --timeout-coefficient 20 --output "$report" "$package"
