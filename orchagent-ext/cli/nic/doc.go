// SPDX-License-Identifier: Apache-2.0

// Package nic models the network adapter of an RDMA host: flows that are sent at
// a rate, obey the notifications that the adapter is told to obey, and are
// counted; and the adapter that receives them.
//
// A [Sender] decides: it says which flow sends next and when, and takes the frames
// that the adapter receives. It reads no clock and opens no socket. A [Receiver]
// counts what arrives. A [Verifier] checks what arrives of `sluice gen`. [Run], [Sink]
// and [Verify] act on packet sockets. `sluice gen --dev`, `sluice listen --verify` and
// the demo call them; no daemon does.
package nic
