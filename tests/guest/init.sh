#!/bin/busybox sh
# shellcheck shell=dash
# SPDX-License-Identifier: Apache-2.0
# The first process of a guest. It loads the modules, and runs the commands that come in by the
# second serial port, a line each. Its answer is a line "done STATUS OCTETS", and the output.
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
exec </dev/ttyS1 >/dev/ttyS1
stty raw -echo
echo ready
while read -r line; do
	sh -c "$line" </dev/null >/tmp/output 2>&1
	status=$?
	echo "done $status $(wc -c </tmp/output)"
	cat /tmp/output
done
