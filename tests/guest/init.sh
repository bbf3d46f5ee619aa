#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: Apache-2.0
# The first process of a guest. It loads the modules, and runs the commands that come in by a port
# of virtio, a line each. Its answer is a line "done STATUS OCTETS", and the output.
/bin/busybox mkdir -p /proc /sys /dev /tmp /bin /sbin /run /usr/sbin
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/usr/bin:/bin:/sbin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
while read -r module; do
	insmod "$module" || echo "init: $module is not loaded"
done </modules/order
ulimit -l unlimited
until port=$(ls /dev/vport*p1 2>/dev/null); do sleep 0.1; done
exec 3<>"$port" # by one open: a second one is refused
exec <&3 >&3
echo ready
while :; do
	read -r line || { # the other end is closed
		sleep 0.1
		continue
	}
	sh -c "$line" </dev/null >/tmp/output 2>&1 3>&-
	status=$?
	echo "done $status $(wc -c </tmp/output)"
	cat /tmp/output
done
