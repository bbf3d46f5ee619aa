// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"net/netip"
	"testing"
)

func TestLearnedPairsStayBounded(t *testing.T) {
	p := NewPairs()
	src, dst := netip.MustParseAddr("2001:db8:a::1"), netip.MustParseAddr("2001:db8:b::2")
	of := func(i uint32) Pair { return Pair{src, dst, i} }
	for i := range uint32(5 * pairRoom) {
		p.Add(&Learned{Pair: of(i), SrcQP: i + 1})
		if p.Find(of(0)).QP != 1 {
			t.Fatalf("a pair that is looked up is forgotten after %d others", i)
		}
	}
	if n := len(p.known.young) + len(p.known.old); n > 2*pairRoom {
		t.Errorf("%d pairs", n)
	}
	if last := uint32(5*pairRoom - 1); p.Find(of(last)).QP != last+1 || p.Find(of(1)).QP != 0 {
		t.Error("the last is forgotten, or the first is not")
	}
}

// The queue pairs of a connection are those whose packets have it: not that of RDMA-CM, nor one that
// has another source port by now. A report without a packet leaves what packets have shown.
func TestConnectionHasItsQueuePairs(t *testing.T) {
	p := NewPairs()
	src, dst := netip.MustParseAddr("2001:db8:a::1"), netip.MustParseAddr("2001:db8:b::2")
	seen := func(qp uint32, port uint16) {
		p.Add(&Learned{Pair: Pair{src, dst, qp}, SrcPort: port, PKey: 0x8001, Bits: 3})
	}
	of := func(port uint16) map[uint32]Session {
		all := map[uint32]Session{}
		if n := p.OfConnection(src, dst, port, func(s Session) { all[s.DstQP] = s }); n != len(all) {
			t.Errorf("%d queue pairs, called for %d", n, len(all))
		}
		return all
	}
	for _, qp := range []uint32{1, 0x77, 0x78, 0x77} {
		seen(qp, 50001)
	}
	p.Add(&Learned{Pair: Pair{src, dst, 0x77}, SrcQP: 0x42})
	seen(0x79, 50002)
	if got := of(50001); len(got) != 2 || got[0x77] != (Session{RDMA: true, Src: src, Dst: dst, SrcPort: 50001, SrcQP: 0x42, DstQP: 0x77, PKey: 0x8001, Bits: 3}) || got[0x78].DstQP != 0x78 {
		t.Errorf("%+v", got)
	}
	seen(0x78, 50003)
	if got := of(50001); len(got) != 1 || len(of(50003)) != 1 || len(of(50004)) != 0 {
		t.Errorf("after one has moved: %+v", got)
	}
	for qp := range uint32(40) {
		seen(0x100+qp, 50001)
	}
	if got := of(50001); len(got) != sharing || got[0x127].DstQP == 0 {
		t.Errorf("of many it has %d", len(got))
	}
}
