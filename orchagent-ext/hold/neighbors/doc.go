// SPDX-License-Identifier: Apache-2.0

// Package neighbors finds the node at the other end of each port, to send it
// notifications and to recognize its own: the neighbor that the operator configured, or
// else the only router among the port's neighbors that has a link-local address.
//
// A [Watcher] reads the kernel by netlink, and leaves its tables alone: where routers are
// unknown it sends an echo request to all routers of the link, and the kernel learns the
// rest by itself.
package neighbors
