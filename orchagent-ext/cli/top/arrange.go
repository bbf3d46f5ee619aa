// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sluice/yang/rows"
)

// Order is the key by which flows are sorted.
type Order string

// Orders of flows. All but ByQP and ByPort have the largest first.
const (
	ByRate    Order = "rate"    // bit/s
	ByPackets Order = "packets" // packets a second
	ByBytes   Order = "bytes"   // since the flow has its entry
	ByQP      Order = "qp"      // destination queue pair
	ByPort    Order = "port"    // that it comes in by, then that it leaves by
)

// Orders are all of them, in the order in which key s goes through them.
var Orders = []Order{ByRate, ByPackets, ByBytes, ByQP, ByPort}

// Next is the one behind o.
func (o Order) Next() Order {
	return Orders[(slices.Index(Orders, o)+1)%len(Orders)]
}

// Only leaves of ports and flows those of a port. A flow is kept if its row names the
// port; rows of a switch that does not know the port are dropped.
func (v *View) Only(port string) {
	v.only = port
	v.Ports = slices.DeleteFunc(v.Ports, func(p Port) bool { return p.Name != port })
	v.Flows = slices.DeleteFunc(v.Flows, func(f Flow) bool { return f.Ingress != port && f.Egress != port })
}

// Find leaves of the flows those whose addresses, ports, or destination queue pair (decimal
// or with 0x) have a text in them, in capitals or not.
func (v *View) Find(text string) {
	v.search = text
	text = strings.ToLower(text)
	v.Flows = slices.DeleteFunc(v.Flows, func(f Flow) bool {
		words := []string{f.Src, f.Dst, f.Ingress, f.Egress, hexadecimal(f.DestQP, 6), fmt.Sprintf("%.0f", f.DestQP.value)}
		return !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(w), text) })
	})
}

// Skip drops the first n flows, keeps at least the last one, and returns how many it
// dropped.
func (v *View) Skip(n int) int {
	n = max(0, min(n, len(v.Flows)-1))
	v.above, v.Flows = n, v.Flows[n:]
	return n
}

// Sort sorts the flows. Unknown values come last; before rates are known the octets
// decide.
func (v *View) Sort(by Order) {
	key := func(f Flow) Number {
		switch by {
		case ByPackets:
			return f.Packets
		case ByBytes:
			return f.Bytes
		case ByQP:
			return Number{-f.DestQP.value, f.DestQP.known}
		default:
			return f.Bits
		}
	}
	slices.SortFunc(v.Flows, func(a, b Flow) int {
		if by == ByPort {
			if c := cmp.Or(named(a.Ingress, b.Ingress), named(a.Egress, b.Egress)); c != 0 {
				return c
			}
		}
		return cmp.Or(descending(key(a), key(b)), descending(a.Bytes, b.Bytes), cmp.Compare(a.ID, b.ID))
	})
}

// named compares names of ports as people do. An unknown one comes last.
func named(a, b string) int {
	if (a == "") != (b == "") {
		return -cmp.Compare(a, b)
	}
	return rows.Natural(a, b)
}

// descending compares numbers, the larger one first and unknown ones last.
func descending(a, b Number) int {
	if a.known != b.known {
		if a.known {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.value, a.value)
}

// Limit leaves the first n flows; 0: all.
func (v *View) Limit(n int) {
	if n > 0 && n < len(v.Flows) {
		v.more = len(v.Flows) - n
		v.Flows = v.Flows[:n]
	}
}
