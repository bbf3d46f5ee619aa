#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The container's health check: succeeds while sluiced runs and can read the
# databases, and sluice-gnmi serves. It programs nothing and writes nothing.
set -eu
start=${0%/*}/start.sh

running=
for comm in /proc/[0-9]*/comm; do
	read -r name 2>/dev/null <"$comm" || continue # it ended meanwhile
	[ "$name" != sluiced ] || running=yes
done
[ -n "$running" ] || {
	echo 'sluiced does not run'
	exit 1
}
"$start" sluiced --dry-run >/dev/null
exec "$start" sluice-gnmi --health
