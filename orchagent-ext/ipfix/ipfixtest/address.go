// SPDX-License-Identifier: Apache-2.0

package ipfixtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// FreeAddress is an address of loopback without a listener. Its port is below those
// that Linux gives to sockets that name none, so that no other program gets it meanwhile, nor
// one that connects to it the same port as its own: it would be connected to itself.
func FreeAddress(tb testing.TB, network string) string {
	tb.Helper()
	for range 1000 {
		address := fmt.Sprint("127.0.0.1:", 10_000+rand.N(22_000))
		if network == "udp" {
			if c, err := net.ListenPacket(network, address); err == nil {
				_ = c.Close()
				return address
			}
		} else if l, err := net.Listen(network, address); err == nil {
			_ = l.Close()
			return address
		}
	}
	tb.Fatal("no port is free")
	return ""
}
