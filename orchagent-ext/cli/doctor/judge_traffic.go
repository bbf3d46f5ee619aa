// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"sluice/orchagent-ext/cli/kit"
)

// Thresholds of the verdicts about packets.
const (
	// spreadBits: below one bit most packets are of one queue pair, and no hash divides it.
	spreadBits = 1.0
	// portShare: from this share of the queue pairs' entropy on, source ports are as good as
	// labels, and labels are done.
	portShare = 0.8
	// someShare and mostShare of packets are a minority that matters, and nearly all.
	someShare, mostShare = 0.05, 0.95

	// A verdict is sure with so many data packets, and so many of each queue pair; below the
	// others it is a hint.
	surePackets, sureEach = 1000, 10
	hintPackets, hintEach = 100, 2
)

// traffic judges the packets that passed, in the order: how much there is to judge, how it is
// spread, how it fares. on is the kind of switch; nil: unknown.
func traffic(t *Traffic, on *Switch) []Verdict {
	if t.Packets == 0 {
		v := say("traffic", Unknown, "no RoCEv2 data passed: "+t.Census.String(), t.Census.Advice())
		v.Numbers = map[string]float64{"packets": float64(t.Census.Packets), "rocev2_packets": float64(t.Census.RoCE), "data_packets": 0}
		all := []Verdict{v}
		if t.Congestion.CE+t.Congestion.CNPs+t.Congestion.Pauses+t.Congestion.Resumes > 0 {
			all = append(all, congestion(&t.Congestion))
		}
		return all
	}
	e := t.Entropy()
	all := []Verdict{passed(t, &e), direction(t), enough(t, &e), ports(t, &e, on)}
	all = append(all, label(t, &e, on)...)
	all = append(all, paths(t, &e, on)...)
	return append(all, congestion(&t.Congestion), loss(t), unread(t))
}

// share returns a part of a whole; 0 of nothing.
func share[N int | uint64](part, whole N) float64 {
	if whole == 0 {
		return 0
	}
	return float64(part) / float64(whole)
}

// passed sums up the data.
func passed(t *Traffic, e *Entropy) Verdict {
	six := share(t.IPv6, t.Packets)
	v := say("traffic", OK, fmt.Sprintf("data packets: %d, %.0f %% of them over IPv6; host pairs: %d; queue pairs: %d", t.Packets, 100*six, e.HostPairs, e.QueuePairs), "")
	v.Numbers = map[string]float64{
		"packets": float64(t.Census.Packets), "rocev2_packets": float64(t.Census.RoCE), "data_packets": float64(t.Packets), "ipv6_share": six,
		"host_pairs": float64(e.HostPairs), "queue_pairs": float64(e.QueuePairs), "uncounted_packets": float64(t.Uncounted), "sampling_rate": float64(max(t.Rate, 1)),
	}
	if t.Sampled() {
		v.Found += fmt.Sprintf("; samples, one of %d packets", t.Rate)
	}
	if t.Uncounted > 0 {
		v.Level, v.Found = Note, v.Found+fmt.Sprintf("; packets of further ones, left out: %d", t.Uncounted)
	}
	return v
}

// direction judges whether both directions passed, which losses and answers need.
func direction(t *Traffic) Verdict {
	both, of := t.answered()
	v := say("direction", OK, "", "")
	v.Numbers = map[string]float64{"host_pairs_both": float64(both), "host_pairs": float64(of)}
	switch {
	case of == 0:
		v.Found = "datagrams alone, which have no answers"
	case both == of:
		v.Found = "both directions passed"
	case both == 0:
		v.Level, v.Found = Note, "one direction passed: round trips, refusals and time-outs are not seen"
		v.Do = "capture both: mirror the port's ingress and egress"
	default:
		v.Level, v.Found = Note, fmt.Sprintf("both directions passed of %d of %s", both, kit.Plural(of, "host pair"))
		v.Do = "capture where both pass: mirror the port's ingress and egress"
	}
	return v
}

// enough judges how far the counts carry the verdicts.
func enough(t *Traffic, e *Entropy) Verdict {
	each := share(t.Packets, e.QueuePairs)
	v := say("data", OK, fmt.Sprintf("%s of %s, %.0f each: sure", kit.Plural(t.Packets, "data packet"), kit.Plural(e.QueuePairs, "queue pair"), each), "")
	v.Numbers = map[string]float64{"data_packets": float64(t.Packets), "queue_pairs": float64(e.QueuePairs), "packets_per_queue_pair": each, "confidence": 1}
	switch {
	case t.Packets < hintPackets || each < hintEach:
		v.Level, v.Numbers["confidence"] = Note, 0
		v.Found = v.Found[:len(v.Found)-len("sure")] + "a hint"
		v.Do = "capture 10 seconds of a busy port before you change anything"
	case t.Packets < surePackets || each < sureEach:
		v.Level, v.Numbers["confidence"] = Note, 0.5
		v.Found = v.Found[:len(v.Found)-len("sure")] + "fair"
		v.Do = "a longer capture makes the figures of paths more exact"
	}
	return v
}

// hint reports whether there are too few packets for more than a hint.
func (t *Traffic) hint(e *Entropy) bool {
	return t.Packets < hintPackets || share(t.Packets, e.QueuePairs) < hintEach
}

// done reports whether labels separate the queue pairs of hosts as far as ports do not.
func (t *Traffic) done(e *Entropy) bool {
	return share(t.Labeled, t.IPv6) > mostShare && share(t.IPv6, t.Packets) > mostShare && e.LabelBits >= portShare*e.QueuePairBits
}

// ports judges whether the UDP source port separates queue pairs.
func ports(t *Traffic, e *Entropy, on *Switch) Verdict {
	six := share(t.IPv6, t.Packets)
	each := fmt.Sprint(e.MostPorts)
	if e.LeastPorts < e.MostPorts {
		each = fmt.Sprintf("%d to %d", e.LeastPorts, e.MostPorts)
	}
	v := say("ports", OK, fmt.Sprintf("UDP source ports of a host pair: %s, with %.1f of the %.1f bits of its queue pairs", each, e.PortBits, e.QueuePairBits), "")
	v.Numbers = map[string]float64{
		"least_source_ports": float64(e.LeastPorts), "most_source_ports": float64(e.MostPorts), "source_port_bits": e.PortBits, "queue_pair_bits": e.QueuePairBits,
	}
	switch {
	case e.QueuePairBits < spreadBits:
		v.Do = "nothing to separate: nearly all packets between two hosts are of one queue pair, which keeps its path; Sluice can show, hold and advise it"
	case e.PortBits >= portShare*e.QueuePairBits:
		v.Do = "labels by hash bring nothing: ECMP separates queue pairs by port; chosen paths are still more even (docs/placement.md, over IPv4 docs/redirect.md)"
	case t.done(e) && (on == nil || on.HashesLabel):
		v.Do = "done by labels: see below"
	case on != nil && !on.Labels && !on.HashesQueuePair:
		v.Level, v.Do = Act, "let the adapters vary their ports (docs/adapters.md): "+on.Name+" writes no label, and a rule to a next hop moves all queue pairs of a port"
	case six > mostShare:
		v.Level, v.Do = Act, "write flow labels: ECMP cannot separate the queue pairs of two hosts (docs/flow-labels.md)"
	case six < someShare:
		v.Level, v.Do = Act, "no label over IPv4: let the adapters vary their ports (docs/adapters.md), or the switch hash the queue pair (methods hash, udf-hash of docs/flow-labels.md); a rule to a next hop moves all queue pairs of a port"
	default:
		v.Level, v.Do = Act, "write flow labels for IPv6 (docs/flow-labels.md); for the IPv4 part let the adapters vary their ports (docs/adapters.md), or the switch hash the queue pair"
	}
	return v
}

// label judges labels that are there, of IPv6 alone.
func label(t *Traffic, e *Entropy, on *Switch) []Verdict {
	if t.IPv6 == 0 {
		return nil
	}
	labeled := share(t.Labeled, t.IPv6)
	v := say("label", OK, fmt.Sprintf("%.0f %% of the IPv6 packets have a flow label", 100*labeled), "")
	v.Numbers = map[string]float64{"labeled_share": labeled, "computed_share": share(t.Sluice, t.IPv6), "label_bits": e.LabelBits, "most_labels": float64(e.MostLabels)}
	whose := "of the senders, or chosen"
	if t.Labeled > 0 && share(t.Sluice, t.Labeled) > mostShare {
		whose = "as Sluice computes them"
	}
	const keep = "Sluice keeps labels that are there, unless SLUICE_FLOW_LABEL|global has rewrite=always"
	switch {
	case labeled <= someShare:
	case t.done(e) && on != nil && !on.HashesLabel:
		v.Level, v.Found = Note, v.Found+", "+whose+", that separate the queue pairs"
		v.Do = on.Name + " cannot hash them: " + "let the adapters vary their ports (docs/adapters.md)"
	case t.done(e):
		v.Found = fmt.Sprintf("done: labels on this port, %s, with %.1f of the %.1f bits of the queue pairs", whose, e.LabelBits, e.QueuePairBits)
		v.Do = "check that ECMP hashes them: manage_switch_hash=true of SLUICE_FLOW_LABEL|global sees to it"
	case labeled > mostShare && e.QueuePairBits >= spreadBits && e.LabelBits < portShare*e.QueuePairBits:
		v.Level, v.Found = Note, fmt.Sprintf("labels %s, on all IPv6 packets separate %.1f of the %.1f bits of the queue pairs", whose, e.LabelBits, e.QueuePairBits)
		v.Do = keep
	case labeled <= mostShare:
		v.Level, v.Found = Note, v.Found+", "+whose
		v.Do = keep + ", and writes the others"
	}
	return []Verdict{v}
}

// unread judges the other packets of the capture, and those that were cut.
func unread(t *Traffic) Verdict {
	c := &t.Census
	v := say("packets", OK, c.String(), "")
	cut, _ := c.sum(true)
	wrong, _ := c.sum(false)
	others, _ := c.others()
	v.Numbers = map[string]float64{
		"packets": float64(c.Packets), "rocev2_packets": float64(c.RoCE), "other_packets": float64(others), "cut_packets": float64(cut), "malformed_packets": float64(wrong),
		"dropped_packets": float64(t.Dropped), "tunnelled_packets": float64(c.Tunnelled), "samples": float64(c.Samples),
	}
	if t.Dropped > 0 {
		v.Level, v.Found = Note, v.Found+fmt.Sprintf("; the capture itself dropped %d more", t.Dropped)
		v.Do = "capture fewer octets of each packet, or a shorter time: its own drops look like losses"
	}
	switch {
	case cut > 0:
		v.Level, v.Do = Note, fmt.Sprintf("the capture cut headers: capture %d octets of each packet (tcpdump -s %d)", whole, whole)
	case wrong > 0:
		v.Level, v.Do = Note, "headers are wrong: sluice decode names the packets"
	}
	if step := c.hidden(); step != "" && v.Do == "" {
		v.Level, v.Do = Note, step
	}
	return v
}
