// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"

	"sluice/orchagent-ext/wire/roce"
)

// Marshal and then parse is the identity, for every opcode in any shape.
func TestRoundTrip(t *testing.T) {
	for _, s := range specs {
		t.Run(s.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				sh := rapid.SampledFrom(shapes).Draw(t, "shape")
				makePacket(t, s, sh).check(t)
			})
		})
	}
}

// check parses the packet and compares what Parse found with what was put in.
func (m made) check(t rapid.TB) {
	t.Helper()
	var p roce.Packet
	m.checkParsed(t, &p, p.Parse(m.frame, len(m.frame)))

	padded := append(m.frame[:len(m.frame):len(m.frame)], make([]byte, 18)...)
	m.checkParsed(t, &p, p.Parse(padded, 0))

	link := len(m.want.Link)
	err := p.ParseIP(padded[link:], len(padded)-link)
	m.ip, m.udp, m.want.Link = m.ip-link, m.udp-link, []byte{}
	m.frame = m.frame[link:]
	m.checkParsed(t, &p, err)
}

func (m made) checkParsed(t rapid.TB, p *roce.Packet, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v, of %x", err, m.frame)
	}
	w := m.want
	if d := diff(w, decode(p)); d != "" {
		t.Fatalf("put in (-), parsed (+):\n%s", d)
	}
	if p.Src16() != w.Src.As16() || p.Dst16() != w.Dst.As16() {
		t.Errorf("Src16 %x, Dst16 %x, want %v, %v", p.Src16(), p.Dst16(), w.Src, w.Dst)
	}
	short := roce.BTH{Opcode: p.Opcode(), PKey: p.PKey(), DestQP: p.DestQP(), AckReq: p.AckReq(), PSN: p.PSN()}
	if want := (roce.BTH{Opcode: w.BTH.Opcode, PKey: w.BTH.PKey, DestQP: w.BTH.DestQP, AckReq: w.BTH.AckReq, PSN: w.BTH.PSN}); short != want {
		t.Errorf("single fields of the BTH: %+v, want %+v", short, want)
	}
	if got := p.BTHBytes(); !bytes.Equal(got, m.frame[m.udp+8:]) {
		t.Errorf("BTHBytes %x, want %x", got, m.frame[m.udp+8:])
	}
	got, want, ok := p.ICRC()
	if ok == w.Fragment {
		t.Errorf("fragment %v: an ICRC that can be judged: %v", w.Fragment, ok)
	}
	if w.Fragment {
		return
	}
	if got != want {
		t.Errorf("ICRC %08x, want %08x", got, want)
	}
	body := appendBody(nil, p.BTH(), decodeExtended(p), p.Payload())
	if was := m.frame[m.udp+8 : len(m.frame)-roce.ICRCLen]; !bytes.Equal(body, was) {
		t.Errorf("appended again: %x, was %x", body, was)
	}
	m.checkChecksums(t)
}

func (m made) checkChecksums(t rapid.TB) {
	t.Helper()
	if header := m.frame[m.ip : m.ip+4*int(m.frame[m.ip]&0xf)]; m.want.Is4 && roce.Checksum(0, header) != 0 {
		t.Errorf("IPv4 header checksum of %x is wrong", header)
	}
	datagram := m.frame[m.udp:]
	pseudo := roce.PseudoHeader(m.want.Src.AsSlice(), m.want.Dst.AsSlice(), len(datagram), udp)
	if roce.Checksum(pseudo, datagram) != 0 {
		t.Errorf("UDP checksum of %x is wrong", datagram)
	}
}
