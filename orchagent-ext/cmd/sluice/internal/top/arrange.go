// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"slices"

	"sluice/yang/rows"
)

// Order is by what flows are sorted.
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

// Only leaves of ports and flows those of a port. A flow is left if its row names
// the port, which those of a switch that does not know it do not.
func (v *View) Only(port string) {
	v.only = port
	v.Ports = slices.DeleteFunc(v.Ports, func(p Port) bool { return p.Name != port })
	v.Flows = slices.DeleteFunc(v.Flows, func(f Flow) bool { return f.Ingress != port && f.Egress != port })
}

// Sort sorts the flows. What is not known comes last; before rates are known the
// octets decide.
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

// named compares names of ports as people do. One that is not known comes last.
func named(a, b string) int {
	if (a == "") != (b == "") {
		return -cmp.Compare(a, b)
	}
	return rows.Natural(a, b)
}

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
