// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"sluice/tests/guest"
)

// packages are those of a guest, with the libraries that their programs load.
var packages = []string{
	"busybox-static", "iproute2", "perftest", "ibverbs-utils", "rdmacm-utils",
	"ibverbs-providers", "libc6", "libibumad3", "libibverbs1", "libnl-3-200", "libnl-route-3-200", "libpci3", "librdmacm1", "libudev1",
	"libbpf1", "libbsd0", "libcap2", "libelf1", "libgcc-s1", "libmd0", "libmnl0", "libxtables12", "zlib1g",
}

// programs are those of a guest, by their path below the root. Busybox has the rest.
var programs = []string{
	"bin/ip", "sbin/tc", "usr/bin/rdma",
	"usr/bin/ibv_devices", "usr/bin/ibv_devinfo", "usr/bin/ibv_rc_pingpong", "usr/bin/ibv_uc_pingpong", "usr/bin/ibv_ud_pingpong",
	"usr/bin/ib_write_bw", "usr/bin/ib_send_bw", "usr/bin/ib_read_bw", "usr/bin/ib_atomic_bw", "usr/bin/rping", "usr/bin/ucmatose",
	"usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so", // loaded by its name in etc/libibverbs.d
	"lib/x86_64-linux-gnu/libgcc_s.so.1",                    // loaded by pthread_exit
	"etc/libibverbs.d/rxe.driver",
}

// modules are loaded by a guest, after those that they depend on.
var modules = []string{"virtio_net", "rdma_rxe", "ib_uverbs", "rdma_ucm", "sch_netem"}

// makeImage makes the image of the guests, of Debian's packages.
func makeImage(ctx context.Context, folder string) (guest.Image, error) {
	root, err := guest.Suite{}.Unpack(ctx, folder, packages...)
	if err != nil {
		return guest.Image{}, err
	}
	return guest.Contents{Kernel: root, Modules: modules, Root: root, Programs: programs}.Make(folder)
}
