// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"fmt"

	"sluice/orchagent-ext/flows/flow"
)

// Classification is the set of fields by which packets are one flow to the nodes of a
// domain. All nodes of a domain have the same: nodes that differ give one flow two ids.
type Classification uint8

// The fields that packets of one flow share. Other fields of a [flow.Key] are ignored:
// two nodes may learn of a flow by different queue pairs.
const (
	ByFlowLabel Classification = iota // source, destination, flow label
	// source, destination, source port; the rest is RoCEv2's
	By5Tuple
)

// name is the flow's name in etcd. It is free of "/", the separator of keys.
//
//conformance:draft-yang/by-5-tuple
func (c Classification) name(k *flow.Key) string {
	if c == By5Tuple {
		return fmt.Sprintf("%s,%s,port=%d", k.SrcAddr(), k.DstAddr(), k.SrcPort)
	}
	return fmt.Sprintf("%s,%s,label=%#05x", k.SrcAddr(), k.DstAddr(), k.FlowLabel)
}

// first is the id that a flow gets if it is free: that of scope "hash".
func (c Classification) first(seed uint32, k *flow.Key) uint16 {
	if c == By5Tuple {
		return flow.HashStreamID(seed, k.Src, k.Dst, uint32(k.SrcPort))
	}
	return flow.HashStreamID(seed, k.Src, k.Dst, k.FlowLabel)
}
