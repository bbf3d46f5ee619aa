#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs what `make build` has put into bin/: programs, library, YANG models, completion,
# manual pages, units, and the files in /etc/sluice that are not there yet. The Debian package
# is made by it, too. PREFIX/share/sluice/installed lists the files and the folders that it made,
# but for /etc/sluice: uninstall.sh removes these.
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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list=$prefix/share/sluice/installed
: >"$work/installed"
[ ! -e "$root$list" ] || grep '/$' "$root$list" >"$work/installed" || : # folders, of an installation before

# put installs files in a folder, and lists them with the folders that it makes.
put() { # MODE FOLDER FILE...
	local mode=$1 folder=$2 file
	shift 2
	file=$folder
	while [ -n "$file" ] && [ ! -e "$root$file" ]; do
		echo "$file/" >>"$work/installed"
		file=${file%/*}
	done
	install -D -m "$mode" -t "$root$folder" "$@"
	for file; do
		echo "$folder/${file##*/}" >>"$work/installed"
	done
}

# strips copies stripped files to a folder.
strips() { # FOLDER FILE...
	install -D -s --strip-program="$strip" -t "$@"
}

cd "$bin"
# shellcheck disable=SC2086 # a list
strips "$work/bin" $programs
cd "$OLDPWD"
put 755 "$prefix/bin" "$work"/bin/*
# shellcheck disable=SC2086 # a list
release/beside.sh "$here" "$work/share" $tools
put 644 "$prefix/share/bash-completion/completions" "$work"/share/bash-completion/completions/*
put 644 "$prefix/share/zsh/vendor-completions" "$work"/share/zsh/vendor-completions/*
put 644 "$prefix/share/fish/vendor_completions.d" "$work"/share/fish/vendor_completions.d/*
put 644 "$prefix/share/man/man1" "$work"/share/man/man1/*
[ "${PART:-}" != lab ] || exit 0

strips "$work/lib" "$bin/libsoftsai.so"
put 644 "$prefix/lib/sluice" "$work/lib/libsoftsai.so" sonic-container/environment.sh
put 644 "$prefix/share/sluice/yang" yang/*.yang
mkdir "$work/man8"
for daemon in sluiced sluice-gnmi; do
	env -i "$here/$daemon" --help 2>&1 | go run -buildvcs=false ./debian/internal/manual "$daemon" "$version" "$date" >"$work/man8/$daemon.8"
done
put 644 "$prefix/share/man/man8" "$work"/man8/*

# Units and environment name the programs by their paths.
mkdir -p "$work/etc" "$work/units"
for file in debian/etc/*; do
	sed "s#/usr/lib/sluice/#$prefix/lib/sluice/#" "$file" >"$work/etc/${file##*/}"
done
for file in debian/*.service; do
	sed "s#/usr/bin/sluice#$prefix/bin/sluice#" "$file" >"$work/units/${file##*/}"
done
put 644 "${UNITS:-$prefix/lib/systemd/system}" "$work"/units/*
for file in "$work"/etc/*; do
	[ -e "$root/etc/sluice/${file##*/}" ] || install -D -m 644 -t "$root/etc/sluice" "$file"
done
[ $# = 2 ] || exit 0 # a package has its own list
install -D -m 644 <(sort -u "$work/installed") "$root$list"
