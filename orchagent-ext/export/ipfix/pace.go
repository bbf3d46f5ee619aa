// SPDX-License-Identifier: Apache-2.0

package ipfix

import "time"

// pacer spreads messages over time. A collector reads a datagram as fast as it comes, but its
// socket holds no more than net.core.rmem_default: about 90 of them on Linux.
type pacer struct {
	gap  time.Duration // between messages; 0: none
	next time.Time     // when the next one is due
}

// maxBehind is how far a pacer catches up after it had nothing to send, or no CPU: so many
// messages may go at once as belong into this time.
const maxBehind = 10 * time.Millisecond

// newPacer returns a pacer for so many messages a second; 0: for any number.
func newPacer(perSecond uint32) pacer {
	if perSecond == 0 {
		return pacer{}
	}
	return pacer{gap: time.Second / time.Duration(perSecond)}
}

// wait returns how long the message that is to be sent now waits; it counts as sent then.
func (p *pacer) wait(now time.Time) time.Duration {
	if p.gap == 0 {
		return 0
	}
	if earliest := now.Add(-maxBehind); p.next.Before(earliest) {
		p.next = earliest
	}
	at := p.next
	p.next = at.Add(p.gap)
	return max(at.Sub(now), 0)
}
