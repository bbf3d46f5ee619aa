#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a small Debian 12 as tar to FILE: sh, coreutils, setpriv, ip and what they
# need. Run it as root; it takes debootstrap and a Debian mirror (MIRROR).
#
#   debian-root.sh FILE
set -eu

packages='base-files base-passwd libc6 libgcc-s1 gcc-12-base libcrypt1 dash coreutils libacl1 libattr1 libgmp10
	libselinux1 libpcre2-8-0 util-linux libcap-ng0 mount libmount1 libblkid1
	iproute2 libbpf1 libelf1 libmnl0 libbsd0 libmd0 libcap2 zlib1g libxtables12'
made='bin sbin lib lib64 dev proc run sys tmp etc/passwd etc/group etc/ld.so.cache usr/bin/sh var/run'
[ $# = 1 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
if ! debootstrap --variant=minbase --include=iproute2 bookworm "$root" ${MIRROR:+"$MIRROR"} >"$work/log" 2>&1; then
	tail -n 5 "$work/log" >&2
	exit 1
fi
# /bin and its like are links into /usr, and packages name files by either.
{
	# shellcheck disable=SC2086 # a list
	dpkg-query --admindir="$root/var/lib/dpkg" -L $packages | sed -E 's#^/(bin|sbin|lib|lib64)/#/usr/\1/#; s#^/##'
	# shellcheck disable=SC2086 # a list
	printf '%s\n' $made
} | sort -u | while read -r file; do
	case $file in
	. | bin/* | usr/share/doc/*/copyright) ;;
	usr/share/doc/* | usr/share/man* | usr/share/locale* | usr/share/info* | usr/share/bash-completion* | \
		usr/share/lintian* | usr/lib/*/gconv* | usr/lib/udev*) continue ;;
	esac
	if [ -e "$root/$file" ] || [ -L "$root/$file" ]; then
		printf '%s\n' "$file"
	fi
done >"$work/files"
tar -C "$root" --no-recursion --numeric-owner --sort=name -cf "$1" -T "$work/files"
