// SPDX-License-Identifier: Apache-2.0

package rtt

import (
	"hash/maphash"
	"net/netip"
	"time"
)

// Source is the kind of packets that a time is measured by.
type Source uint8

// The sources, the most exact one first: adapters answer by themselves, connections are set up by
// software, and a lower rate is seen once an interval.
const (
	Answer Source = iota // from a request to its acknowledgement or response
	CM                   // from a message of RDMA-CM to the one that follows it
	Advice               // from advice of a lower rate to that rate
	sources
)

// String returns the name of a source in rows.
func (s Source) String() string { return [sources]string{"answer", "cm", "advice"}[s] }

// Bounds of the memory, and of times that are plausible.
const (
	MostHosts   = 1024
	mostWaiting = 4096 // requests; a power of 2
	evictTries  = 8    // hosts that a new one looks at for one that is silent

	// light passes 100 m there and back in 1 µs; stand-ins of one machine are faster
	Least = 500 * time.Nanosecond
	Most  = 10 * time.Second // as rtt_us of the configuration

	// Stale is when a host has had no sample for so long that its time is not used.
	Stale = time.Minute
)

// Counters count samples by their fate.
type Counters struct {
	Taken uint64
	Short uint64 // below Least
	Long  uint64 // above Most
	Full  uint64 // of hosts that came to a full table
	// requests that were sent again: their answers are ambiguous (Karn's algorithm, RFC 6298 section 3)
	Repeated uint64
}

// Host is the round-trip time from this switch to a host.
type Host struct {
	Addr    netip.Addr
	Time    time.Duration
	From    Source
	Samples uint64 // of this source
	At      int64  // ns: of the last sample
}

// Fresh reports whether a host's time may be used now: two samples agree on it, the last one a
// moment ago.
func (h *Host) Fresh(now int64) bool { return h.Samples > 1 && h.sampled(now) }

// sampled reports whether the last sample is less than Stale from now: one that is further ahead came
// before the clock was set back.
func (h *Host) sampled(now int64) bool {
	since := now - h.At
	return -int64(Stale) < since && since < int64(Stale)
}

// host is a Host with its filter.
type host struct {
	Host
	low minimum
}

// request is a packet that waits for its answer.
type request struct {
	src, dst [16]byte
	qp       uint32 // that is to answer; of CM: cmRequest
	number   uint32 // PSN, or communication id
	at       int64  // ns; 0: it was sent twice
}

// cmRequest is in the place of a queue pair, which has 24 bits.
const cmRequest = 1 << 31

// A Table has the hosts.
type Table struct {
	seed    maphash.Seed
	waiting []request
	index   map[netip.Addr]int
	hosts   []host
	hand    int // where the next silent host is looked for
	count   Counters
}

// New returns a table, with all its memory.
func New() *Table {
	t := NewHosts()
	t.waiting = make([]request, mostWaiting)
	return t
}

// NewHosts returns a table for samples that are measured elsewhere: [Table.Packet] is not for it.
func NewHosts() *Table {
	return &Table{seed: maphash.MakeSeed(), index: make(map[netip.Addr]int, MostHosts), hosts: make([]host, 0, MostHosts)}
}

// Counters returns the counters.
func (t *Table) Counters() Counters { return t.count }

// slot returns the place where a request waits. Others share it: the last one counts.
func (t *Table) slot(r *request) *request {
	var h maphash.Hash
	h.SetSeed(t.seed)
	_, _ = h.Write(r.src[:]) // always succeeds
	_, _ = h.Write(r.dst[:])
	for _, v := range [...]uint32{r.qp, r.number} {
		_, _ = h.Write([]byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)})
	}
	return &t.waiting[h.Sum64()&(mostWaiting-1)]
}

// asked notes a request.
func (t *Table) asked(r request) {
	at := r.at
	s := t.slot(&r)
	if r.at = s.at; *s == r && (s.at == 0 || at-s.at < int64(Most)) {
		t.count.Repeated++
		s.at = 0
		return
	}
	r.at = at
	*s = r
}

// answered takes the answer to a request; r.at is the answer's time.
func (t *Table) answered(r request, from Source) {
	at := r.at
	s := t.slot(&r)
	if r.at = s.at; *s != r || s.at == 0 {
		return
	}
	*s = request{}
	t.Add(netip.AddrFrom16(r.dst).Unmap(), at-r.at, from, at)
}

// Add takes a sample of a host's time, in ns. One by a less exact source counts where the host
// has had none by another lately.
func (t *Table) Add(addr netip.Addr, sample int64, from Source, now int64) {
	switch {
	case sample < int64(Least):
		t.count.Short++
		return
	case sample > int64(Most):
		t.count.Long++
		return
	}
	h := t.host(addr, now)
	if h == nil {
		t.count.Full++
		return
	}
	if from != h.From || h.Samples == 0 {
		if from > h.From && h.Samples > 0 && h.sampled(now) {
			return
		}
		*h = host{Host: Host{Addr: addr, From: from}}
	}
	t.count.Taken++
	h.low.add(sample, now)
	h.Time, h.At = time.Duration(h.low.last), now
	h.Samples++
}

// host returns the entry of a host, a new one if need be: the place of one that is silent where
// all are taken; nil: all of them were.
func (t *Table) host(addr netip.Addr, now int64) *host {
	if i, known := t.index[addr]; known {
		return &t.hosts[i]
	}
	i := len(t.hosts)
	if i < MostHosts {
		t.hosts = t.hosts[:i+1]
	} else if i = t.silent(now); i < 0 {
		return nil
	}
	delete(t.index, t.hosts[i].Addr)
	t.hosts[i] = host{Host: Host{Addr: addr}}
	t.index[addr] = i
	return &t.hosts[i]
}

// silent returns a host that has had no sample for long; -1: the next ones all have.
func (t *Table) silent(now int64) int {
	for range evictTries {
		t.hand = (t.hand + 1) % MostHosts
		if !t.hosts[t.hand].sampled(now) {
			return t.hand
		}
	}
	return -1
}

// AppendHosts appends all hosts that have a time.
func (t *Table) AppendHosts(to []Host) []Host {
	for i := range t.hosts {
		if t.hosts[i].Samples > 0 {
			to = append(to, t.hosts[i].Host)
		}
	}
	return to
}
