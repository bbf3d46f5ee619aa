// SPDX-License-Identifier: Apache-2.0

package ipfix

import "sync"

// Ignored counts what should have been metered and was not: packets that found a receive
// ring full, or that could not be parsed (RFC 7011 section 4.2). Any goroutine may use it.
type Ignored struct {
	mu              sync.Mutex
	packets, octets uint64
	first, last     int64 // ns since 1970; 0: never
}

// Add counts packets that were ignored at time now (ns since 1970). octets is their
// length, 0 where it was not seen: packets that did not fit into a ring.
func (i *Ignored) Add(packets, octets uint64, now int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.packets == 0 {
		i.first = now
	}
	i.packets += packets
	i.octets += octets
	i.last = now
}

func (i *Ignored) counts() (packets, octets uint64, first, last int64) {
	if i == nil {
		return 0, 0, 0, 0
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.packets, i.octets, i.first, i.last
}
