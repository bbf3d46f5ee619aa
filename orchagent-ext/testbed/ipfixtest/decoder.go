// SPDX-License-Identifier: Apache-2.0

package ipfixtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	"github.com/netsampler/goflow2/v2/decoders/netflow"
)

// Record is a record by the names of its elements: addresses are netip.Addr,
// strings are strings, all others uint64. An enterprise element without a type
// record is called PEN/NUMBER.
type Record map[string]any

// Decoder decodes the messages of one transport session.
type Decoder struct {
	Records   []Record // of flows and packets
	Options   []Record
	Messages  int
	Lengths   []int    // of messages, octets
	Gaps      []string // sequence numbers out of order
	Unknown   int      // sets of a missing template
	Withdrawn int      // withdrawals
	Templates map[uint16]int

	names    map[element]string // those of IANA have the enterprise number 0
	system   netflow.NetFlowTemplateSystem
	sequence uint32
}

// element is the numbers of an element.
type element struct {
	pen    uint32
	number uint16
}

const (
	// Lengths in octets (RFC 7011 sections 3.1 and 8.1).
	headerLen  = 16
	withdrawal = 8 // octets of a set that withdraws all templates
)

// NewDecoder returns the decoder of a new session.
func NewDecoder() *Decoder {
	return &Decoder{Templates: map[uint16]int{}, names: map[element]string{}, system: netflow.CreateTemplateSystem()}
}

// Feed decodes one message.
func (d *Decoder) Feed(message []byte) error {
	be := binary.BigEndian
	if len(message) < headerLen || be.Uint16(message) != 10 || int(be.Uint16(message[2:])) != len(message) {
		return fmt.Errorf("%d octets are no IPFIX message: % x", len(message), message[:min(len(message), headerLen)])
	}
	d.Messages++
	d.Lengths = append(d.Lengths, len(message))
	if got := be.Uint32(message[8:]); got != d.sequence {
		d.Gaps = append(d.Gaps, fmt.Sprintf("message %d has sequence number %d, not %d", d.Messages, got, d.sequence))
		d.sequence = got
	}
	// goflow2 lacks withdrawals, which are for other transports than UDP.
	for rest := message[headerLen:]; len(rest) >= withdrawal; rest = rest[be.Uint16(rest[2:]):] {
		if id := be.Uint16(rest); id < 4 && be.Uint16(rest[2:]) == withdrawal && be.Uint16(rest[6:]) == 0 {
			d.Withdrawn++
		}
	}
	if d.Withdrawn > 0 {
		return nil
	}
	var p netflow.IPFIXPacket
	err := netflow.DecodeMessageIPFIX(bytes.NewBuffer(message[2:]), d.system, &p)
	if errors.Is(err, netflow.ErrorTemplateNotFound) {
		err = nil
		d.Unknown++
	}
	for _, set := range p.FlowSets {
		d.set(set)
	}
	return err
}

// set decodes one set of a message: templates or records.
func (d *Decoder) set(set any) {
	switch set := set.(type) {
	case netflow.TemplateFlowSet:
		for _, t := range set.Records {
			d.Templates[t.TemplateId]++
		}
	case netflow.IPFIXOptionsTemplateFlowSet:
		for _, t := range set.Records {
			d.Templates[t.TemplateId]++
		}
	case netflow.DataFlowSet:
		d.sequence += uint32(len(set.Records))
		for _, r := range set.Records {
			d.Records = append(d.Records, d.record(r.Values))
		}
	case netflow.OptionsDataFlowSet:
		d.sequence += uint32(len(set.Records))
		for _, r := range set.Records {
			o := d.record(r.ScopesValues)
			maps.Copy(o, d.record(r.OptionsValues))
			d.Options = append(d.Options, o)
			if name, ok := o["informationElementName"].(string); ok {
				d.names[element{uint32(o["privateEnterpriseNumber"].(uint64)), uint16(o["informationElementId"].(uint64))}] = name
			}
		}
	}
}

const (
	// Values of templates (RFC 7011 section 3.2).
	reversePEN    = 29305   // enterprise number of reverse elements, RFC 5103
	enterpriseBit = 1 << 15 // of an element's number in a template
)

// record returns the values of a record by the names of their elements.
func (d *Decoder) record(values []netflow.DataField) Record {
	r := Record{}
	for _, v := range values {
		var name string
		switch {
		case v.Pen == reversePEN:
			name = "reverse " + d.standard(v.Type)
		case v.PenProvided:
			id := v.Type &^ enterpriseBit // goflow2 leaves it set in options
			var ok bool
			if name, ok = d.names[element{v.Pen, id}]; !ok {
				name = fmt.Sprintf("%d/%d", v.Pen, id)
			}
		default:
			name = d.standard(v.Type)
		}
		r[name] = value(name, v.Value.([]byte))
	}
	return r
}

// standard returns the name of an element of IANA's, which goflow2 is asked for once: it makes its
// list of all names for each question.
func (d *Decoder) standard(number uint16) string {
	name, ok := d.names[element{number: number}]
	if !ok {
		name = netflow.IPFIXTypeToString(number)
		d.names[element{number: number}] = name
	}
	return name
}

// value returns the octets of an element as the type that its name has.
func value(name string, b []byte) any {
	if strings.HasSuffix(name, "Address") {
		a, _ := netip.AddrFromSlice(b)
		return a
	}
	if strings.HasPrefix(name, "informationElementName") || strings.HasPrefix(name, "informationElementDescription") {
		return string(b)
	}
	var n uint64
	for _, o := range b {
		n = n<<8 | uint64(o)
	}
	return n
}
