// SPDX-License-Identifier: Apache-2.0

// Package neighbors tells for each port who the node at its other end is, to send it
// notifications and to know it by: the neighbor that the operator configured, or else
// the only router among the port's neighbors that has a link-local address.
//
// Package loop runs a [Watcher]. It learns from the kernel by netlink and changes
// nothing there: where no router is known it asks for one on the link
// (an echo request to all routers), and the kernel learns the rest by itself.
package neighbors
