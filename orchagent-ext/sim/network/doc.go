// SPDX-License-Identifier: Apache-2.0

// Package network runs packets over a fabric of package topology: links, queues, shared
// buffers, PFC, ECN, and adapters with reliable connections. A [Net] belongs to one goroutine.
//
// # Events
//
// A packet that crosses a link is one event: its arrival at the far end. The queue before a
// link is served lazily: before the state of a link is read or changed, all transmissions that
// are due start (advance). So each link has at most one event in the calendar,
// that of the first packet on its wire, and starts, ends and pauses of transmissions are
// exact to the picosecond. One number is late by at most a link's delay: the buffer that a
// switch has in use, since ports are advanced one by one.
//
// Packets, queue pairs and links are flat structs in slices, referred to by index: nothing is
// allocated per packet once the pools have grown, and a packet in flight has 40 octets.
//
// # Decisions
//
// CNPs, PFC, PFCM and Rate Advice are encoded and decoded by package notify. Senders slow by
// package dcqcn; switches signal congested flows by package congestion, and hold flows by
// package enforce: the code that sluiced runs.
package network
