// SPDX-License-Identifier: Apache-2.0

package sflow

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// UDPPort is the port of collectors.
const UDPPort = 6343

// Errors of a datagram.
var (
	// ErrVersion is of a datagram of another version than 5.
	ErrVersion = errors.New("sflow: not version 5")
	// ErrLength is of a datagram whose lengths contradict each other, or that ends before them.
	ErrLength = errors.New("sflow: length contradicts the datagram")
)

// Protocol is the kind of header that a packet begins with (header_protocol).
type Protocol uint32

// The protocols of headers that are RoCEv2's.
const (
	Ethernet Protocol = 1
	PPP      Protocol = 7
	IPv4     Protocol = 11
	IPv6     Protocol = 12
	MPLS     Protocol = 13
	WiFi     Protocol = 15
)

// Port is an interface of the agent as a sample has it: a kind in the upper 2 bits, and its
// value.
type Port uint32

// The kinds of a port, and a value.
const (
	single   = 0 // the value is an ifIndex
	dropped  = 1 // the value is the reason
	several  = 2 // the value is how many
	kindBits = 30
	internal = 1<<kindBits - 1 // an ifIndex: the agent itself, or unknown
)

// String is such as "if3"; "dropped (reason 257)"; "2 ports"; "" for an unknown one.
func (p Port) String() string {
	value := uint32(p) & internal
	switch p >> kindBits {
	case single:
		if value == 0 || value == internal {
			return ""
		}
		return fmt.Sprint("if", value)
	case dropped:
		return fmt.Sprintf("dropped (reason %d)", value)
	case several:
		if value == 0 {
			return "several ports"
		}
		return fmt.Sprintf("%d ports", value)
	}
	return ""
}

// Sample is one packet that an agent sampled.
type Sample struct {
	// Header has the first octets of the packet, as far as the datagram has them. It is a part
	// of the datagram.
	Header []byte
	// Protocol is the kind of header that it begins with.
	Protocol Protocol
	// Length is the packet's on the wire, in octets, less the octets that the agent stripped, such as
	// the frame check sequence.
	Length int
	// Rate: one of so many packets is sampled.
	Rate uint32
	// Drops counts the samples that the agent lost for lack of resources, since it began.
	Drops uint32
	// Source is the ifIndex of the interface that samples.
	Source uint32
	// In and Out are the ports that the packet came in and left by.
	In, Out Port
}

// Formats of samples and records, of enterprise 0.
const (
	flowSample         = 1
	expandedFlowSample = 3
	rawHeader          = 1
)

// Datagram is a datagram whose samples are read one by one. Its zero value has none.
type Datagram struct {
	rest    []byte // from the next sample on
	records reader // of the sample that is open, from the next record on
	left    uint32 // records of it
	sample  Sample
	err     error
}

// Parse begins to read the datagram b, the payload of UDP. Wherever a capture cut it, the
// samples before are read, and the one that is cut as far as it is there.
func Parse(b []byte) (Datagram, error) {
	const ipv4, ipv6 = 1, 2 // the types of the agent's address
	r := reader{b}
	version, ok := r.word()
	if ok && version != 5 {
		return Datagram{}, ErrVersion
	}
	kind, _ := r.word()
	switch kind {
	case ipv4:
		r.skip(4)
	case ipv6:
		r.skip(16)
	default:
		return Datagram{}, ErrLength
	}
	// sub-agent, sequence number, uptime, number of samples
	if !r.skip(16) {
		return Datagram{}, ErrLength
	}
	return Datagram{rest: r.b}, nil
}

// Err returns the error that ended the samples early; nil: they were all read.
func (d *Datagram) Err() error { return d.err }

// Next reads the next packet into s; false: there is none left. Each call reads on, so all of
// them together cost as much as the datagram is long.
func (d *Datagram) Next(s *Sample) bool {
	for d.err == nil {
		for d.left > 0 {
			d.left--
			found, err := d.record(s)
			if err != nil {
				d.err = err
			}
			if found {
				return true
			}
			if err != nil {
				return false
			}
		}
		if len(d.rest) == 0 || !d.open() {
			return false
		}
	}
	return false
}

// open opens the next sample.
func (d *Datagram) open() bool {
	r := reader{d.rest}
	format, _ := r.word()
	length, ok := r.word()
	if !ok {
		d.err = ErrLength
		return false
	}
	body := r.b
	if uint64(length) > uint64(len(body)) {
		d.rest = nil // the sample is cut, and the last
	} else {
		body, d.rest = body[:length], body[length:]
	}
	r = reader{body}
	d.sample = Sample{}
	s := &d.sample
	r.skip(4) // sequence number
	switch format {
	case flowSample:
		source, _ := r.word()
		s.Source = source & 0xffffff
		s.Rate, _ = r.word()
		r.skip(4) // pool
		s.Drops, _ = r.word()
		in, _ := r.word()
		out, _ := r.word()
		s.In, s.Out = Port(in), Port(out)
	case expandedFlowSample:
		r.skip(4) // type of the source
		s.Source, _ = r.word()
		s.Rate, _ = r.word()
		r.skip(4)
		s.Drops, _ = r.word()
		s.In, s.Out = r.port(), r.port()
	default:
		return true // no packet
	}
	d.left, ok = r.word()
	if !ok {
		d.left, d.err = 0, ErrLength
		return false
	}
	d.records = r
	return true
}

// record reads the next record of the sample that is open. found: it is a packet.
func (d *Datagram) record(s *Sample) (found bool, err error) {
	r := &d.records
	format, _ := r.word()
	length, ok := r.word()
	if !ok {
		d.left = 0
		return false, ErrLength
	}
	body := reader{r.b}
	if uint64(length) > uint64(len(r.b)) {
		err, d.left, r.b = ErrLength, 0, nil
	} else {
		body.b, r.b = r.b[:length], r.b[length:]
	}
	if format != rawHeader {
		return false, err
	}
	*s = d.sample
	protocol, _ := body.word()
	frame, _ := body.word()
	stripped, _ := body.word()
	header, ok := body.word()
	if !ok || stripped > frame || frame > 1<<24 {
		return false, ErrLength
	}
	s.Protocol, s.Length = Protocol(protocol), int(frame-stripped)
	s.Header = body.b[:min(uint64(header), uint64(len(body.b)))]
	s.Header = s.Header[:min(len(s.Header), s.Length)]
	return true, err
}

// reader reads words of XDR (RFC 4506).
type reader struct{ b []byte }

// word reads 4 octets in network byte order.
func (r *reader) word() (uint32, bool) {
	if len(r.b) < 4 {
		r.b = nil
		return 0, false
	}
	v := binary.BigEndian.Uint32(r.b)
	r.b = r.b[4:]
	return v, true
}

// skip passes over n octets.
func (r *reader) skip(n int) bool {
	if len(r.b) < n {
		r.b = nil
		return false
	}
	r.b = r.b[n:]
	return true
}

// port reads a port in the form of expanded samples: kind and value, a word each.
func (r *reader) port() Port {
	kind, _ := r.word()
	value, _ := r.word()
	return Port(kind<<kindBits | min(value, internal))
}
