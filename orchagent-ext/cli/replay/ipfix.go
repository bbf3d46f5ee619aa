// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"

	"github.com/netsampler/goflow2/v2/decoders/netflow"

	"sluice/orchagent-ext/sim/load"
)

const (
	ipfixVersion  = 10
	headerLen     = 16 // of a message
	enterpriseBit = 1 << 15
	// Octets of a packet's headers from IP to the ICRC, without extended ones.
	headers4, headers6 = 20 + 8 + 12 + 4, 40 + 8 + 12 + 4
	rocePort           = 4791
	ntpEpoch           = 2_208_988_800 // 1970 in seconds since 1900
)

// Elements by their numbers in IANA's registry.
const (
	octetDeltaCount        = 1
	packetDeltaCount       = 2
	sourceTransportPort    = 7
	sourceIPv4             = 8
	destinationPort        = 11
	destinationIPv4        = 12
	sourceIPv6             = 27
	destinationIPv6        = 28
	flowStartSeconds       = 150 // and the end, in ms, µs, ns
	flowEndNanoseconds     = 157
	informationElementID   = 303
	informationElementName = 341
	privateEnterprise      = 346
)

// element is the number of an element of an enterprise.
type element struct {
	enterprise uint64
	id         uint64
}

// records reads the flow records of an IPFIX file (RFC 5655): messages one after the other.
func records(ctx context.Context, r io.Reader) ([]load.Seen, error) {
	var all []load.Seen
	system := netflow.CreateTemplateSystem()
	queuePair := map[element]bool{} // elements of rdmaDestinationQP by RFC 5610
	header := make([]byte, headerLen)
	for n := 1; ; n++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(r, header); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("message %d: %w", n, err)
		}
		length := int(binary.BigEndian.Uint16(header[2:]))
		if binary.BigEndian.Uint16(header) != ipfixVersion || length < headerLen {
			return nil, fmt.Errorf("message %d is no IPFIX message: % x", n, header)
		}
		message := append(bytes.Clone(header), make([]byte, length-headerLen)...)
		if _, err := io.ReadFull(r, message[headerLen:]); err != nil {
			return nil, fmt.Errorf("message %d: %w", n, err)
		}
		var p netflow.IPFIXPacket
		if err := netflow.DecodeMessageIPFIX(bytes.NewBuffer(message[2:]), system, &p); err != nil && !errors.Is(err, netflow.ErrorTemplateNotFound) {
			return nil, fmt.Errorf("message %d: %w", n, err)
		}
		for _, set := range p.FlowSets {
			switch set := set.(type) {
			case netflow.DataFlowSet:
				for _, x := range set.Records {
					if seen, ok := record(x.Values, queuePair); ok {
						all = append(all, seen)
					}
				}
			case netflow.OptionsDataFlowSet:
				for _, x := range set.Records {
					learn(append(x.ScopesValues, x.OptionsValues...), queuePair)
				}
			}
		}
	}
}

// learn takes the name of an element (RFC 5610).
func learn(values []netflow.DataField, queuePair map[element]bool) {
	var e element
	name := ""
	for _, v := range values {
		b := v.Value.([]byte)
		switch v.Type {
		case privateEnterprise:
			e.enterprise = number(b)
		case informationElementID:
			e.id = number(b)
		case informationElementName:
			name = string(b)
		}
	}
	if name == "rdmaDestinationQP" {
		queuePair[e] = true
	}
}

// record is one record; ok is false where it is not about RoCEv2, or has no octets but those of
// headers, as acknowledgements have.
func record(values []netflow.DataField, queuePair map[element]bool) (s load.Seen, ok bool) {
	var octets, packets, port, destination uint64
	destination = rocePort // where the record lacks a port
	headers := int64(headers6)
	for _, v := range values {
		b, _ := v.Value.([]byte)
		if v.PenProvided {
			if queuePair[element{uint64(v.Pen), uint64(v.Type &^ enterpriseBit)}] {
				s.QP = number(b)
			}
			continue
		}
		switch n := number(b); v.Type {
		case octetDeltaCount:
			octets = n
		case packetDeltaCount:
			packets = n
		case sourceTransportPort:
			port = n
		case destinationPort:
			destination = n
		case sourceIPv4, sourceIPv6:
			s.Src, _ = netip.AddrFromSlice(b)
		case destinationIPv4, destinationIPv6:
			s.Dst, _ = netip.AddrFromSlice(b)
		default:
			if v.Type >= flowStartSeconds && v.Type <= flowEndNanoseconds {
				at := nanoseconds(n, (v.Type-flowStartSeconds)/2)
				if v.Type%2 == 0 {
					s.Start = at
				} else {
					s.End = at
				}
			}
		}
	}
	if s.Src.Is4() {
		headers = headers4
	}
	s.QP |= port << 32
	s.Octets = int64(octets) - int64(packets)*headers
	const extended = 16 // a packet of this length is empty
	return s, destination == rocePort && s.Src.IsValid() && s.Dst.IsValid() && packets > 0 && s.Octets > int64(packets)*extended
}

// nanoseconds returns a time since 1970: seconds, milliseconds, or an NTP timestamp (RFC 7011
// section 6.1), by the place of its element.
func nanoseconds(n uint64, unit uint16) int64 {
	switch unit {
	case 0:
		return int64(n) * 1e9
	case 1:
		return int64(n) * 1e6
	default:
		return (int64(n>>32)-ntpEpoch)*1e9 + int64(n&0xffffffff*1e9>>32)
	}
}

// number is an unsigned number of up to 8 octets; the last 8 of a longer value.
func number(b []byte) (n uint64) {
	for _, o := range b {
		n = n<<8 | uint64(o)
	}
	return n
}
