// SPDX-License-Identifier: Apache-2.0

// Package loopback finds addresses of loopback for programs that tests start later, or stop
// and start again.
package loopback

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"testing"
)

// Free are n addresses, of tcp or udp, that are free. Their ports are below the ephemeral
// ones (ip_local_port_range, ip(7)): so they stay free, and a socket that connects to one
// has another source port, else it could connect to itself.
func Free(tb testing.TB, network string, n int) (addresses []string) {
	tb.Helper()
	for range 1000 {
		address := fmt.Sprint("127.0.0.1:", 10_000+rand.N(22_000))
		var taken io.Closer
		var err error
		if network == "udp" {
			taken, err = net.ListenPacket(network, address)
		} else {
			taken, err = net.Listen(network, address)
		}
		if err != nil {
			continue
		}
		defer func() { _ = taken.Close() }() // at the end, lest it is found twice
		if addresses = append(addresses, address); len(addresses) == n {
			return addresses
		}
	}
	tb.Fatalf("%d of %d ports are free", len(addresses), n)
	return nil
}
