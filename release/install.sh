#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what `make build` has put into bin/: programs, library, YANG models, completion,
# manual pages, units, and the files in /etc/sluice that are not there yet. The Debian package
# is made by it, too.
#
#   install.sh PREFIX DESTDIR [BIN STRIP]
#
# BIN has the programs to install and STRIP strips them; bin/ is always of this machine. With
# PART=lab in its environment it installs the laboratory, sluice-lab, alone.
set -eu -o pipefail
umask 022
[ $# = 2 ] || [ $# = 4 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
prefix=$1 root=$2
cd "$(dirname "$0")/.."
here=$PWD/bin
bin=${3:-$here} strip=${4:-strip}
to=$root$prefix
version=$(cat VERSION)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y VERSION)}
export SOURCE_DATE_EPOCH
date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)
if [ "${PART:-}" = lab ]; then
	tools=sluice-lab programs=sluice-lab
else
	tools=sluice programs='sluice sluiced sluice-gnmi'
fi
for file in $programs libsoftsai.so; do
	[ -e "$bin/$file" ] || { echo "install.sh: $bin has no $file: make build" >&2; exit 1; }
done
for program in $programs; do
	install -D -s --strip-program="$strip" -m 755 -t "$to/bin" "$bin/$program"
done

# The manual page of each command comes from the program's own list of flags.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$to/share/man/man1"
for tool in $tools; do
	"$here/$tool" completion bash >"$work/bash"
	"$here/$tool" completion zsh >"$work/zsh"
	install -D -m 644 "$work/bash" "$to/share/bash-completion/completions/$tool"
	install -D -m 644 "$work/zsh" "$to/share/zsh/vendor-completions/_$tool"
	go run -trimpath -buildvcs=false -tags manual -ldflags "-X main.version=$version" "./orchagent-ext/cmd/$tool" "$to/share/man/man1"
done
[ "${PART:-}" != lab ] || exit 0

install -D -s --strip-program="$strip" -m 644 -t "$to/lib/sluice" "$bin/libsoftsai.so"
install -D -m 644 -t "$to/lib/sluice" sonic-container/environment.sh
install -D -m 644 -t "$to/share/sluice/yang" yang/*.yang
mkdir -p "$to/share/man/man8"
for daemon in sluiced sluice-gnmi; do
	env -i "$here/$daemon" --help 2>&1 | go run -buildvcs=false ./debian/internal/manual "$daemon" "$version" "$date" >"$to/share/man/man8/$daemon.8"
done

# Units and environment name the programs by their paths.
mkdir -p "$work/etc" "$work/units"
for file in debian/etc/*; do
	sed "s#/usr/lib/sluice/#$prefix/lib/sluice/#" "$file" >"$work/etc/${file##*/}"
done
for file in debian/*.service; do
	sed "s#/usr/bin/sluice#$prefix/bin/sluice#" "$file" >"$work/units/${file##*/}"
done
install -D -m 644 -t "$root${UNITS:-$prefix/lib/systemd/system}" "$work"/units/*
for file in "$work"/etc/*; do
	[ -e "$root/etc/sluice/${file##*/}" ] || install -D -m 644 -t "$root/etc/sluice" "$file"
done
