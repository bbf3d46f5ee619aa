// SPDX-License-Identifier: Apache-2.0

// Package machine has the requirements of the software switch: releases of the kernel,
// capabilities of the process, and a kernel that forwards, instead of an ASIC; and it asks for the
// netdevs that ports are. sluiced, the demo and `sluice doctor` ask it; the SAI library of a vendor
// has requirements of its own. It only reads.
package machine
