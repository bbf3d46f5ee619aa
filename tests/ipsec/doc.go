// SPDX-License-Identifier: Apache-2.0

// Package ipsec tries the IPsec policies of docs/security.md: between two neighbors in
// network namespaces, with the commands of that page as they are there. On a kernel
// without ESP it does so in a Linux in user space, which `make test` takes from Debian's
// package.
package ipsec
