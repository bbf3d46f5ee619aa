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
	if n := len(p.young) + len(p.old); n > 2*pairRoom {
		t.Errorf("%d pairs", n)
	}
	if last := uint32(5*pairRoom - 1); p.Find(of(last)).QP != last+1 || p.Find(of(1)).QP != 0 {
		t.Error("the last is forgotten, or the first is not")
	}
}
