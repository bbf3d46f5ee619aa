// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"sync"

	"sluice/orchagent-ext/flows/flow"
)

// Ignored counts packets that were left out of the metering: they found a receive
// ring full, or could not be parsed (RFC 7011 section 4.2). Any goroutine may use
// it.
type Ignored struct {
	mu              sync.Mutex
	packets, octets uint64
	first, last     int64 // ns since 1970, or 0
}

// Add counts packets that were ignored at time now (ns since 1970, or flow.NoTime). octets is
// their length, 0 where it is unknown: packets that were dropped before a full
// ring.
func (i *Ignored) Add(packets, octets uint64, now int64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.packets += packets
	i.octets += octets
	if now == flow.NoTime {
		return
	}
	if i.first == 0 || i.first > now { // or the clock was set back
		i.first = now
	}
	i.last = max(i.last, now)
}

// counts returns the totals, and the times of the first and last ignored packet
// in ns since 1970. It is 0 for a nil receiver.
func (i *Ignored) counts() (packets, octets uint64, first, last int64) {
	if i == nil {
		return 0, 0, 0, 0
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.packets, i.octets, i.first, i.last
}
