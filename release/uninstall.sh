#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Removes what install.sh has installed, and the folders that it made, where nothing else is in
# them. /etc/sluice and /var/lib/sluice stay: they are the operator's.
#
#   uninstall.sh PREFIX DESTDIR
set -eu -o pipefail
[ $# = 2 ] || { sed -n 's/^#   //p' "$0" >&2; exit 2; }
prefix=$1 root=$2
list=$root$prefix/share/sluice/installed
[ -f "$list" ] || { echo "uninstall.sh: there is no $list: nothing is installed below $root$prefix" >&2; exit 1; }
if [ -z "$root" ] && [ -d /run/systemd/system ] && systemctl is-active --quiet sluiced.service; then
	echo 'uninstall.sh: sluiced runs: systemctl disable --now sluiced sluice-gnmi, and sluiced --remove takes off the switch what it programmed' >&2
	exit 1
fi
installed=$(cat "$list")
while IFS= read -r name; do
	[[ $name == */ ]] || rm -f "$root$name"
done <<<"$installed"
rm -f "$list"
# The deepest folders first.
sort -r <<<"$installed" | while IFS= read -r name; do
	[[ $name != */ ]] || [ ! -d "$root$name" ] || rmdir --ignore-fail-on-non-empty "$root$name"
done
[ ! -e "$root/etc/sluice" ] && [ ! -e "$root/var/lib/sluice" ] || echo "$root/etc/sluice and $root/var/lib/sluice are kept"
