// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"net/netip"

	"sluice/orchagent-ext/hold/congestion"
	sai "sluice/sai-shim"
)

// Queue is an egress queue in which single flows are monitored.
type Queue struct {
	Port      sai.ObjectID
	Name      string // of the port
	Number    uint8
	Threshold congestion.Threshold
}

// FlowID names a flow as the switch does.
type FlowID struct {
	Queue sai.ObjectID
	Flow  uint64
}

// Target is the object of a hold: packets that leave by a port, [sai.Null] any, and match.
type Target struct {
	Port  sai.ObjectID
	Match sai.HoldMatch
}

// Addresses are the hosts of a flow, or the outer addresses of its path.
type Addresses struct{ Src, Dst netip.Addr }

// Flow is a flow in a queue that is watched, as the switch and its packets show it. Its detector
// writes it; the other machines read it, and look up the queue pair of its session's sender.
type Flow struct {
	ID    FlowID
	Queue Queue
	State congestion.Flow // its depth in the queue

	In       sai.ObjectID // port that it comes in by
	Src, Dst netip.Addr   // of the outermost header as the upstream neighbor sends it
	Label    uint32       // as it leaves here
	Stream   uint16       // as the upstream neighbor sends it
	Nameless Nameless     // why the neighbor does not know it by Stream
	Leaves   Leaving
	Session  Session
	DSCP     uint8
}

// Nameless is the reason why no PFCM can name a flow.
type Nameless uint8

// The reasons.
const (
	Named        Nameless = iota
	IsUnreadable          // the switch gave no packet
	IsIPv4                // PFCM knows IPv6 only
	IsRelabelled          // its header as the neighbor sent it is unknown
)

// Leaving is a flow as it leaves here, by which a downstream neighbor knows it: SRv6 may have changed
// its header since it came.
type Leaving struct {
	Src, Dst netip.Addr
	Stream   uint16 // 0: it is not IPv6
}

// Matches returns the matches by which messages of a downstream neighbor hold a flow.
func (f *Flow) Matches() [2]sai.HoldMatch {
	return [...]sai.HoldMatch{{Kind: sai.HoldStream, Value: uint32(f.Leaves.Stream), Src: f.Leaves.Src, Dst: f.Leaves.Dst}, {Kind: sai.HoldPair, Src: f.Leaves.Src, Dst: f.Leaves.Dst}}
}
