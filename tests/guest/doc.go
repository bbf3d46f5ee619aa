// SPDX-License-Identifier: Apache-2.0

// Package guest boots Linux kernels of Debian's packages by QEMU, and runs commands there. No KVM
// is needed. tests/rdma and tests/kernels call it.
//
// Packages are downloaded and unpacked below a folder (packages.go); an initramfs with programs,
// their libraries and modules is made of them (image.go). A guest is reached by a port of virtio,
// over which it runs commands (guest.go, init.sh).
package guest
