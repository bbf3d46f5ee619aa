#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Writes what goes beside the tools below FOLDER: completion for bash, zsh and fish, and the
# manual page of each command, which come from the tools' own list of flags.
#
#   beside.sh PROGRAMS FOLDER TOOL...
#
# PROGRAMS is the folder of the tools, as this machine runs them; SOURCE_DATE_EPOCH dates the pages.
set -eu -o pipefail
umask 022
[ $# -ge 3 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
programs=$(realpath "$1")
mkdir -p "$2"
to=$(realpath "$2")
shift 2
cd "$(dirname "$0")/.."
version=$(cat VERSION)
mkdir -p "$to"/bash-completion/completions "$to"/zsh/vendor-completions "$to"/fish/vendor_completions.d "$to"/man/man1
for tool; do
	"$programs/$tool" completion bash >"$to/bash-completion/completions/$tool"
	"$programs/$tool" completion zsh >"$to/zsh/vendor-completions/_$tool"
	"$programs/$tool" completion fish >"$to/fish/vendor_completions.d/$tool.fish"
	go run -trimpath -buildvcs=false -tags manual -ldflags "-X main.version=$version" "./orchagent-ext/cmd/$tool" "$to/man/man1"
done
