// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"strings"

	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

// appendTransport appends what follows the UDP header, and finishes the packet.
func (m *made) appendTransport(t *rapid.T, s spec) {
	w := &m.want
	w.BTH = draw[roce.BTH](t)
	w.BTH.Opcode = s.code
	w.BTH.Pad &= 3
	w.BTH.TVer &= 0xf
	w.BTH.Resv6 &= 0x3f
	w.BTH.Resv7 &= 0x7f
	w.BTH.DestQP &= 0xffffff
	w.BTH.PSN &= 0xffffff
	end := m.udp + 8 + 12
	m.spans = append(m.spans, span{roce.HeaderBTH, end})
	for _, name := range strings.Fields(s.headers) {
		w.Extended.draw(t, name)
		h := extendedHeaders[name]
		end += h.length
		m.spans = append(m.spans, span{h.header, end})
	}
	shortest, longest := 0, 0
	if s.class == "data" || s.class == "response" {
		longest = 40
	}
	if w.Fragment { // something must be left for the other fragments
		shortest, longest = 8, 40
	}
	w.Payload = octets(t, rapid.IntRange(shortest, longest).Draw(t, "payload length"))
	m.frame = appendBody(m.frame, w.BTH, w.Extended, w.Payload)
	frame, err := roce.Finish(m.frame, m.ip)
	if err != nil {
		t.Fatal(err)
	}
	m.frame = frame
}

var extensionHeaders = map[uint8]roce.Header{
	hopByHop: roce.HeaderHopByHop, destOptions: roce.HeaderDestOptions, routing: roce.HeaderRouting, fragment: roce.HeaderFragment, authentication: roce.HeaderAH,
}

// extendedHeaders are the headers that spec names, with their lengths in octets.
var extendedHeaders = map[string]struct {
	header roce.Header
	length int
}{
	"XRCETH": {roce.HeaderXRCETH, 4}, "DETH": {roce.HeaderDETH, 8}, "RETH": {roce.HeaderRETH, 16},
	"AtomicETH": {roce.HeaderAtomicETH, 28}, "AETH": {roce.HeaderAETH, 4}, "AtomicAckETH": {roce.HeaderAtomicAckETH, 8},
	"ImmDt": {roce.HeaderImmDt, 4}, "IETH": {roce.HeaderIETH, 4}, "FETH": {roce.HeaderFETH, 4}, "CNP": {roce.HeaderCNP, 16},
}

func (e *extended) draw(t *rapid.T, header string) {
	switch header {
	case "XRCETH":
		h := draw[roce.XRCETH](t)
		h.XRCSRQ &= 0xffffff
		e.XRCETH = &h
	case "DETH":
		h := draw[roce.DETH](t)
		h.SrcQP &= 0xffffff
		e.DETH = &h
	case "AETH":
		h := draw[roce.AETH](t)
		h.MSN &= 0xffffff
		e.AETH = &h
	case "FETH":
		e.FETH = new(draw[roce.FETH](t))
	case "RETH":
		e.RETH = new(draw[roce.RETH](t))
	case "AtomicETH":
		e.AtomicETH = new(draw[roce.AtomicETH](t))
	case "AtomicAckETH":
		e.AtomicAckETH = new(draw[roce.AtomicAckETH](t))
	case "ImmDt":
		e.ImmDt = new(draw[roce.ImmDt](t))
	case "IETH":
		e.IETH = new(draw[roce.IETH](t))
	}
}
