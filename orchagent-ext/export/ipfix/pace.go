// SPDX-License-Identifier: Apache-2.0

package ipfix

import "time"

// pacer spreads messages over time. A collector reads a datagram as fast as it comes, but its
// socket holds no more octets than net.core.rmem_default: about 90 datagrams of 1280 on Linux.
type pacer struct {
	rate uint64    // bit/s; 0: any
	next time.Time // when the next message is due
}

// maxBehind is how far a pacer catches up after it had nothing to send, or no CPU: so many
// octets may go at once as belong into this time.
const maxBehind = 10 * time.Millisecond

// wait returns how long a message of so many octets, that is to be sent now, waits; it counts
// as sent then.
func (p *pacer) wait(octets int, now time.Time) time.Duration {
	if p.rate == 0 {
		return 0
	}
	if earliest := now.Add(-maxBehind); p.next.Before(earliest) {
		p.next = earliest
	}
	at := p.next
	p.next = at.Add(time.Duration(float64(octets) * 8 / float64(p.rate) * float64(time.Second)))
	return max(at.Sub(now), 0)
}
