// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"fmt"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

// verdict has the fates of packets, in numbers of packets.
type verdict struct {
	Checked int // labels looked at: of every packet that was sent and arrived
	Right   int // of those, with the label that package flow gives
	ICRCBad int // arrived with a wrong ICRC
	// Lost: sent, and did not arrive as they were (but for label and hop limit)
	Lost    int
	Foreign int // arrived more often than sent

	FirstWrong string // the first wrong label, for the operator
}

// add sums up another round; the first wrong packet of all stays.
func (v *verdict) add(o verdict) {
	v.Checked += o.Checked
	v.Right += o.Right
	v.ICRCBad += o.ICRCBad
	v.Lost += o.Lost
	v.Foreign += o.Foreign
	if v.FirstWrong == "" {
		v.FirstWrong = o.FirstWrong
	}
}

// judge compares the frames that arrived with those that were sent. label returns
// the label that a packet has on arrival; it is called in the order of sending.
func judge(sent [][]byte, label func(*roce.Packet) uint32, arrived []fabric.Frame) (verdict, error) {
	var p roce.Packet
	// labels, by what must not change
	due := make(map[string][]uint32, len(sent))
	for i, frame := range sent {
		if err := p.Parse(frame, len(frame)); err != nil {
			return verdict{}, fmt.Errorf("packet %d that is sent: %w", i, err)
		}
		k := invariant(frame, &p)
		due[k] = append(due[k], label(&p))
	}
	v := verdict{Lost: len(sent)}
	for _, f := range arrived {
		if p.Parse(f.Data, len(f.Data)) != nil || p.Is4() {
			v.Foreign++
			continue
		}
		if got, want, ok := p.ICRC(); !ok || got != want {
			v.ICRCBad++
		}
		k := invariant(f.Data, &p)
		labels := due[k]
		if len(labels) == 0 {
			v.Foreign++
			continue
		}
		due[k] = labels[1:]
		v.Lost--
		v.Checked++
		if p.FlowLabel() == labels[0] {
			v.Right++
		} else if v.FirstWrong == "" {
			v.FirstWrong = fmt.Sprintf("%s → %s, %v to QP %#06x, PSN %d: label %#05x, want %#05x",
				p.Src(), p.Dst(), p.Opcode(), p.DestQP(), p.PSN(), p.FlowLabel(), labels[0])
		}
	}
	return v, nil
}

// invariant returns the IPv6 packet with flow label and hop limit removed.
func invariant(frame []byte, p *roce.Packet) string {
	ip := bytes.Clone(frame[len(p.LinkHeader()):])
	ip[1], ip[2], ip[3] = ip[1]&0xf0, 0, 0
	ip[7] = 0
	return string(ip)
}

// Methods of the flow label that write it; at the others ECMP hashes the queue pair
// itself, and the label stays.
const (
	methodCompute = "compute"
	methodRewrite = "rewrite"
)

// labelsAt returns the function that knows the label of each packet, at a method of
// the switch's methods. Labels that senders set stay.
func labelsAt(method string, algorithm flow.Algorithm) func(*roce.Packet) uint32 {
	var label func(p *roce.Packet) uint32
	switch method {
	case methodCompute:
		// A pipeline has the packet alone: a source queue pair that the packet
		// lacks counts as 0.
		label = func(p *roce.Packet) uint32 {
			deth, _ := p.DETH()
			return algorithm.Label(deth.SrcQP, p.DestQP(), p.Src16(), p.Dst16())
		}
	case methodRewrite:
		table, now := flow.NewTable(flow.Config{}), int64(0)
		label = func(p *roce.Packet) uint32 {
			now++
			f := table.Observe(p, now)
			if _, datagram := p.DETH(); datagram {
				return p.FlowLabel() // an entry matches any source queue pair, and their labels differ
			}
			return table.Label(f, algorithm)
		}
	default:
		return (*roce.Packet).FlowLabel
	}
	return func(p *roce.Packet) uint32 {
		if p.FlowLabel() != 0 {
			return p.FlowLabel()
		}
		return label(p)
	}
}
