// SPDX-License-Identifier: Apache-2.0

// Package socket sends and receives whole packets for the commands send and listen: IP
// packets through raw sockets, so that the kernel routes them and resolves the neighbor,
// frames through packet sockets. It needs CAP_NET_RAW; the packets are octets to it.
package socket
