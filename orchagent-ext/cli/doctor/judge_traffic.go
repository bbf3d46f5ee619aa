// SPDX-License-Identifier: Apache-2.0

package doctor

import "fmt"

// Thresholds of the verdicts about packets.
const (
	// spreadBits: below one bit most packets are of one queue pair, and no hash divides it.
	spreadBits = 1.0
	// portShare: from this share of the queue pairs' entropy on, source ports are as good as
	// labels.
	portShare = 0.8
	// someShare and mostShare of packets are a minority that matters, and nearly all.
	someShare, mostShare = 0.05, 0.95
)

// traffic judges the packets that passed: whether there is something to spread, by which
// header field, and whether labels can carry it.
func traffic(t *Traffic) []Verdict {
	if t.Packets == 0 {
		return []Verdict{{"traffic", Unknown, "no RoCEv2 data passed: " + t.Census.String(), t.Census.Advice()}}
	}
	e := t.Entropy()
	six := float64(t.IPv6) / float64(t.Packets)
	sum := Verdict{"traffic", OK, fmt.Sprintf("data packets: %d, %.0f %% of them over IPv6; host pairs: %d; queue pairs: %d", t.Packets, 100*six, e.HostPairs, e.QueuePairs), ""}
	if t.Uncounted > 0 {
		sum.Level, sum.Found = Note, sum.Found+fmt.Sprintf("; packets of further ones, left out: %d", t.Uncounted)
	}
	return append([]Verdict{sum, ports(e, six)}, label(t)...)
}

// ports judges whether the UDP source port separates queue pairs. six is the share of
// IPv6.
func ports(e Entropy, six float64) Verdict {
	found := fmt.Sprintf("UDP source ports: %d, with %.1f of the %.1f bits of the queue pairs", e.Ports, e.PortBits, e.QueuePairBits)
	switch {
	case e.QueuePairBits < spreadBits:
		return Verdict{"ports", OK, found, "nothing to spread: nearly all packets between two hosts are of one queue pair, which keeps its path; Sluice can show, hold and advise it"}
	case e.PortBits >= portShare*e.QueuePairBits:
		return Verdict{"ports", OK, found, "labels bring nothing: ECMP separates queue pairs by port; chosen paths are still more even (docs/placement.md, over IPv4 docs/redirect.md)"}
	case six > mostShare:
		return Verdict{"ports", Act, found, "write flow labels: ECMP cannot separate the queue pairs of two hosts (docs/flow-labels.md)"}
	case six < someShare:
		return Verdict{"ports", Act, found, "no label over IPv4: hash the queue pair (methods hash, udf-hash of docs/flow-labels.md), choose next hops (docs/redirect.md), or let the adapter vary its ports (docs/adapters.md)"}
	}
	return Verdict{"ports", Act, found, "write flow labels for IPv6 (docs/flow-labels.md); for the IPv4 part choose next hops (docs/redirect.md)"}
}

// label judges labels that senders write; no verdict without IPv6.
func label(t *Traffic) []Verdict {
	if t.IPv6 == 0 {
		return nil
	}
	share := float64(t.Labeled) / float64(t.IPv6)
	v := Verdict{"label", OK, fmt.Sprintf("%.0f %% of the IPv6 packets have a flow label", 100*share), ""}
	if share > someShare {
		v.Level, v.Do = Note, "Sluice keeps labels that are there, unless SLUICE_FLOW_LABEL|global has rewrite=always; check that ECMP hashes the label"
	}
	return []Verdict{v}
}
