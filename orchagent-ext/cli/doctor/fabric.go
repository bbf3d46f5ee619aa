// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"net/netip"

	"sluice/orchagent-ext/flows/health"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// Congestion sums up the signs of queues that fill.
type Congestion struct {
	// Packets counts all of RoCEv2, ECT those that a switch may mark, CE those that one did.
	Packets, ECT, CE uint64
	// CNPs counts congestion notification packets.
	CNPs uint64
	// Pauses counts frames of PFC that stop a priority, Resumes those that only let go on;
	// Priorities has a bit for each one that was stopped.
	Pauses, Resumes uint64
	Priorities      uint8

	marked map[hosts]uint64 // packets with CE
	told   map[hosts]uint64 // CNPs
	macs   map[roce.MAC]uint64
}

// AddPFC counts a frame of PFC from an address.
func (c *Congestion) AddPFC(m notify.PFC, from roce.MAC) {
	stopped := uint8(0)
	for i, q := range m.Quanta {
		if q > 0 && m.Enable>>i&1 != 0 {
			stopped |= 1 << i
		}
	}
	if stopped == 0 {
		c.Resumes++
		return
	}
	c.Pauses++
	c.Priorities |= stopped
	count(&c.macs, from, 1)
}

// Loss sums up the losses of connections.
type Loss struct {
	// Missing counts PSNs that were jumped over, in so many Gaps; Lost those of them that never
	// came, Reordered those that were overtaken.
	Missing, Gaps, Lost, Reordered uint64
	// Resent counts packets that were sent again, Octets their data.
	Resent, Octets uint64
	// Timeouts counts senders that went back after a pause, unasked.
	Timeouts uint64
	// NAKs counts refusals by their reason.
	NAKs [roce.NumNAKs]uint64

	worst map[hosts]uint64 // packets that were lost or sent again
}

// AddDirection adds the health of one direction of a connection.
func (t *Traffic) AddDirection(d *health.Direction) {
	at := hosts{netip.AddrFrom16(d.Src).Unmap(), netip.AddrFrom16(d.Dst).Unmap()}
	c, l := &t.Congestion, &t.Loss
	c.Packets += d.Packets
	c.ECT += d.ECT
	c.CE += d.CE
	c.CNPs += d.CNPs
	if d.CE > 0 {
		count(&c.marked, at, d.CE)
	}
	if d.CNPs > 0 {
		count(&c.told, at, d.CNPs)
	}
	resent := d.Recovered + d.Duplicates
	l.Gaps += d.Gaps
	l.Missing += d.Missing
	l.Lost += d.Lost()
	l.Reordered += d.Reordered
	l.Resent += resent
	l.Octets += d.Retransmitted
	l.Timeouts += d.Timeouts
	for why := roce.NotNAK + 1; why < roce.NumNAKs; why++ {
		l.NAKs[why] += d.NAKs[why]
	}
	if n := d.Lost() + resent; n > 0 {
		count(&l.worst, at, n)
	}
}

// refused is how many requests were refused, other than for want of a receive request.
func (l *Loss) refused() (n uint64) {
	for why := roce.NotNAK + 1; why < roce.NumNAKs; why++ {
		if why != roce.NAKRNR {
			n += l.NAKs[why]
		}
	}
	return n
}

// count adds n to the count of a key, in a map of at most maxPairs.
func count[K comparable](counts *map[K]uint64, key K, n uint64) {
	if *counts == nil {
		*counts = map[K]uint64{}
	}
	if _, known := (*counts)[key]; known || len(*counts) < maxPairs {
		(*counts)[key] += n
	}
}

// most returns the key with the greatest count, and the first of these by order.
func most[K comparable](counts map[K]uint64, order func(a, b K) int) (best K, n uint64) {
	for key, of := range counts {
		if of > n || of == n && order(key, best) < 0 {
			best, n = key, of
		}
	}
	return best, n
}

// byAddress orders host pairs.
func byAddress(a, b hosts) int { return cmp.Or(a.src.Compare(b.src), a.dst.Compare(b.dst)) }
