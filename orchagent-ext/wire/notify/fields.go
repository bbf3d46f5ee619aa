// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"encoding/json"
	"fmt"
	"strings"

	"sluice/orchagent-ext/wire/roce"
)

// Field is one value of a message, with its name. Names end with their unit where there
// is one, such as time_us and rate_mbps.
type Field struct {
	Name  string // lower case, with underscores
	Value any    // a number, string, bool, [netip.Addr], or a slice of numbers
}

// Fields are the values of a message, in the order of the wire. As JSON it is one object
// in that order.
type Fields []Field

// Fields returns the values of the packet, the envelope first: all that the tables, the
// JSON and the golden files of this project show of a message.
func (p *Packet) Fields() Fields {
	f := Fields{}.add("message", p.Kind.String())
	e := &p.Envelope
	if e.SrcMAC != (roce.MAC{}) {
		f = f.add("eth_dst", macText(e.DstMAC)).add("eth_src", macText(e.SrcMAC))
	}
	if e.Src.IsValid() {
		f = f.add("dscp", e.TrafficClass>>2).add("ecn", e.TrafficClass&3)
		if e.Src.Is6() {
			f = f.add("flow_label", e.FlowLabel)
		}
		f = f.add("hop_limit", e.HopLimit).add("src", e.Src).add("dst", e.Dst)
	}
	if p.Kind == KindRateAdvice || p.Kind == KindCNP || p.Kind == KindPPFC && p.PPFC.Transport == OverUDP {
		f = f.add("sport", e.SrcPort)
	}
	if m := p.Message(); m != nil {
		f = m.fields(f)
	}
	return f
}

// fields implements [Message].
func (m PFCM) fields(f Fields) Fields {
	return f.add("encapsulation", m.Encapsulation.String()).
		add("stream_id", m.StreamID).add("queue_id", m.QueueID).
		add("action", m.Action.Type().String()).add("reduction_percent", m.Action.Percent()).
		add("time_us", m.Time).
		add("destination", m.Destination).add("source", m.Source)
}

// fields implements [Message]. The two transports have different fields (draft-xz
// sections 4.1 and 4.2).
func (m PPFC) fields(f Fields) Fields {
	f = f.add("transport", m.Transport.String()).
		add("flags", m.Flags).add("pt", m.PT.String()).add("priority", m.Priority)
	if m.Transport == OverICMP {
		f = f.add("congestion_port", m.CongestionPort)
	} else {
		f = f.add("congestion_qid", m.CongestionQID)
	}
	f = f.add("pause_duration_us", m.PauseDuration).
		add("source", m.Source).add("destination", m.Destination).add("router_id", m.RouterID).
		add("flow", m.Flow.Form.String())
	switch m.Flow.Form {
	case OneWord:
		f = f.add("flow_word", m.Flow.Word)
	case Ports, QPs:
		f = f.add("flow_protocol", m.Flow.Protocol).add("flow_sport", m.Flow.SrcPort).add("flow_dport", m.Flow.DstPort)
	}
	if m.Flow.Form == QPs {
		f = f.add("flow_src_qp", m.Flow.SrcQP).add("flow_dst_qp", m.Flow.DstQP)
	}
	return f
}

// fields implements [Message].
func (m RateAdvice) fields(f Fields) Fields {
	return f.add("pkey", m.PKey).add("dest_qp", m.DestQP).
		add("rate_mbps", m.Rate).add("version", m.Version).
		add("destination_qp", m.DestinationQP).add("source_qp", m.SourceQP)
}

// fields implements [Message].
func (m CNP) fields(f Fields) Fields { return f.add("pkey", m.PKey).add("dest_qp", m.DestQP) }

// fields implements [Message]: the quanta of the enabled priorities only.
func (m PFC) fields(f Fields) Fields {
	priorities := []int{}
	for i := range m.Quanta {
		if m.Enable>>i&1 != 0 {
			priorities = append(priorities, i)
		}
	}
	return f.add("priorities", priorities).add("quanta", m.Quanta[:])
}

// add appends a field.
func (f Fields) add(name string, value any) Fields { return append(f, Field{name, value}) }

// MarshalJSON writes one object, its members in the order of the fields. Values that JSON
// lacks are an error that names the field.
func (f Fields) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, field := range f {
		if i > 0 {
			b = append(b, ',')
		}
		value, err := json.Marshal(field.Value)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field.Name, err)
		}
		b = fmt.Appendf(b, "%q:%s", field.Name, value)
	}
	return append(b, '}'), nil
}

// String is the fields as "name=value", with spaces between them. Values are in Go's
// format %v, on one line.
func (f Fields) String() string {
	words := make([]string, len(f))
	for i, field := range f {
		words[i] = fmt.Sprintf("%s=%v", field.Name, field.Value)
	}
	return strings.Join(words, " ")
}

// macText returns an Ethernet address in hexadecimal with colons.
func macText(m roce.MAC) string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5])
}
