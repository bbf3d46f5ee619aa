// SPDX-License-Identifier: Apache-2.0

// Package nic models the network adapter of an RDMA host: flows that are sent at a rate,
// obey the notifications named by [Obey], and are counted; and the adapter that receives
// them.
//
// A [Sender] decides which flow sends next and when, and processes the frames that the
// adapter receives. Clock and socket belong to its caller. A [Receiver] counts arrivals.
// A [Verifier] checks the packets of `sluice-lab gen`. [Run], [Sink] and [Verify] act on
// packet sockets.`sluice-lab gen --dev`, `sluice-lab verify` and the demo call them.
package nic
