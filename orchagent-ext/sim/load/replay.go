// SPDX-License-Identifier: Apache-2.0

package load

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"sluice/orchagent-ext/sim/paths"
)

// Seen is a message or a flow record of one connection, as a capture or a switch saw it.
type Seen struct {
	Src, Dst   netip.Addr
	QP         uint64 // names the connection among those of the two hosts
	Octets     int64  // of the application
	Start, End int64  // ns
}

// part is the most octets of one message of a replay. A record that lasts is sent in such
// parts, evenly over its time.
const part = 1 << 20

// replay makes the messages of a replay, and sets the fields that follow from the trace.
func (s *Spec) replay(hosts int) error {
	switch {
	case s.File == "":
		return fmt.Errorf("file is missing: a capture (pcap, pcapng) or an IPFIX file")
	case len(s.Trace) == 0:
		return fmt.Errorf("%s has no octets of RDMA", s.File)
	case !(s.Speed >= 0 && s.Speed <= 1e6):
		return fmt.Errorf("speed %g: above 0, 1e6 at most; 2 replays in half the time", s.Speed)
	case s.FromMS < 0:
		return fmt.Errorf("from_ms %g: 0 or more", s.FromMS)
	}
	s.Speed, s.messages = cmp.Or(s.Speed, 1), nil
	all := slices.Clone(s.Trace)
	slices.SortStableFunc(all, func(a, b Seen) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.QP, b.QP), cmp.Compare(a.Octets, b.Octets))
	})
	begin, end := all[0].Start+int64(s.FromMS*1e6), int64(math.MaxInt64)
	if s.DurationMS != 0 {
		end = begin + int64(s.DurationMS*1e6)
	}
	index, last := places(all), begin
	if len(index) > hosts {
		return fmt.Errorf("%s has %d addresses, the fabric %d hosts", s.File, len(index), hosts)
	}
	numbers := map[[2]int]map[uint64]int{} // queue pairs of two hosts, as they come
	for _, x := range all {
		src, dst := index[x.Src], index[x.Dst]
		if src == dst {
			continue
		}
		pair := [2]int{src, dst}
		if numbers[pair] == nil {
			numbers[pair] = map[uint64]int{}
		}
		k, ok := numbers[pair][x.QP]
		if !ok {
			k = len(numbers[pair])
			numbers[pair][x.QP] = k
		}
		parts := max(1, (x.Octets+part-1)/part)
		for i := range parts {
			at := x.Start + (max(x.End, x.Start)-x.Start)/parts*i
			if at < begin || at >= end {
				continue
			}
			octets := x.Octets / parts
			if i == 0 {
				octets += x.Octets % parts
			}
			last = max(last, at)
			s.QueuePairs = max(s.QueuePairs, k+1)
			s.messages = append(s.messages, Message{
				Connection: paths.Connection{Src: src, Dst: dst, K: k}, Octets: max(octets, 1), At: int64(float64(at-begin) * 1000 / s.Speed),
			})
		}
	}
	if len(s.messages) == 0 {
		return fmt.Errorf("%s has no octets from %g ms for %g ms", s.File, s.FromMS, s.DurationMS)
	}
	slices.SortStableFunc(s.messages, func(a, b Message) int { return cmp.Compare(a.At, b.At) })
	if s.DurationMS = float64(last-begin) / 1e6 / s.Speed; s.DurationMS > longest {
		return fmt.Errorf("%s lasts %.0f ms: from_ms and duration_ms choose at most %d of them", s.File, s.DurationMS*s.Speed, int(longest*s.Speed))
	}
	return nil
}

// places numbers the addresses in their order, so that neighbors are on one leaf.
func places(all []Seen) map[netip.Addr]int {
	var list []netip.Addr
	for _, x := range all {
		list = append(list, x.Src, x.Dst)
	}
	slices.SortFunc(list, netip.Addr.Compare)
	index := map[netip.Addr]int{}
	for _, a := range slices.Compact(list) {
		index[a] = len(index)
	}
	return index
}

// newReplay sends each message at its time.
func newReplay(s Spec, hosts []int) *once {
	o := &once{groups: 1}
	for _, m := range s.messages {
		m.Src, m.Dst = hosts[m.Src], hosts[m.Dst]
		o.messages = append(o.messages, m)
	}
	return o
}
