// SPDX-License-Identifier: Apache-2.0

// Package routes publishes the next hops of the kernel's routes, and its hash, as rows of
// SLUICE_NEXT_HOP and SLUICE_HASH while the configuration wants them.
package routes
