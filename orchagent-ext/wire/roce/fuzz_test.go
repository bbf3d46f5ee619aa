// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// seedFrames are every captured frame and one made packet of each opcode and of
// each shape.
func seedFrames(f *testing.F) [][]byte {
	f.Helper()
	var frames [][]byte
	for name := range captures {
		frames = append(frames, readCapture(f, name)...)
	}
	for i := range max(len(specs), len(shapes)) {
		m := packets(specs[i%len(specs)], shapes[i%len(shapes)]).Example(i)
		frames = append(frames, m.frame)
	}
	return frames
}

func FuzzParse(f *testing.F) {
	for _, frame := range seedFrames(f) {
		f.Add(frame, len(frame))
		f.Add(frame[:len(frame)*3/4], len(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte, wireLen int) {
		var p roce.Packet
		b := slices.Clone(frame) // the label is written into it
		checkDirect(t, &p, b, p.Parse(b, wireLen))
	})
}

func FuzzParseFrom(f *testing.F) {
	inner, _ := firstRoCE(f)
	for _, tunnel := range tunnelFrames(inner) {
		f.Add(uint8(roce.LookThrough), tunnel.frame, 0, uint16(roce.EtherTypeEthernet), len(tunnel.frame))
		f.Add(uint8(roce.LookCopies), tunnel.frame, ipAt, uint16(roce.EtherTypeIPv4), len(tunnel.frame))
	}
	for _, below := range belowFrames(inner) {
		f.Add(uint8(roce.LookLink), below.frame, 0, uint16(roce.EtherTypeEthernet), len(below.frame))
		f.Add(uint8(roce.LookThrough), below.frame[:len(below.frame)-30], 14, below.etherType, len(below.frame))
	}
	f.Fuzz(func(t *testing.T, look uint8, frame []byte, at int, etherType uint16, wireLen int) {
		var p roce.Packet
		b := slices.Clone(frame)
		checkParse(t, &p, b, p.ParseFrom(roce.Look(look%3+1), b, max(0, at), etherType, wireLen))
	})
}

func FuzzParseIP(f *testing.F) {
	for _, frame := range seedFrames(f) {
		f.Add(frame[min(ipAt, len(frame)):], len(frame)-ipAt)
	}
	f.Fuzz(func(t *testing.T, packet []byte, wireLen int) {
		var p roce.Packet
		b := slices.Clone(packet)
		checkDirect(t, &p, b, p.ParseIP(b, wireLen))
	})
}

// checkDirect is checkParse for what no tunnel brings: the link header is the frame's first.
func checkDirect(t *testing.T, p *roce.Packet, b []byte, err error) {
	t.Helper()
	checkParse(t, p, b, err)
	if err == nil && !bytes.HasPrefix(b, p.LinkHeader()) {
		t.Errorf("link header %x is not the packet's first", p.LinkHeader())
	}
}

// checkParse checks what holds for all octets of the world.
func checkParse(t *testing.T, p *roce.Packet, b []byte, err error) {
	t.Helper()
	if err != nil {
		if e, ok := errors.AsType[*roce.Error](err); ok == errors.Is(err, roce.ErrNotRoCE) || ok && e.Error() == "" {
			t.Errorf("error %v is not one of the two kinds", err)
		}
		return
	}
	was := slices.Clone(b)
	touch(p)
	link, bth, payload := p.LinkHeader(), p.BTHBytes(), p.Payload()
	if !within(b, link) || len(bth) < roce.BTHLen || !within(b, bth) || !within(bth, payload) {
		t.Errorf("link header %x, BTH %x, payload %x are not in the packet in order", link, bth, payload)
	}
	if again := p.BTH().Append(nil); !bytes.Equal(again, bth[:roce.BTHLen]) {
		t.Errorf("BTH %x, appended again %x", bth[:roce.BTHLen], again)
	}
	if _, _, ok := p.ICRC(); ok != p.Complete() || p.Complete() && p.Fragment() {
		t.Errorf("complete %v, fragment %v, ICRC can be judged: %v", p.Complete(), p.Fragment(), ok)
	}
	if p.Complete() {
		body := appendBody(nil, p.BTH(), decodeExtended(p), payload)
		if len(body)+roce.ICRCLen != len(bth) {
			t.Errorf("BTH, headers, payload and padding are %d octets, want %d", len(body), len(bth)-roce.ICRCLen)
		}
		if p.Len() < len(bth)+8+20 {
			t.Errorf("an IP packet of %d octets carries %d behind UDP", p.Len(), len(bth))
		}
	}
	p.SetFlowLabel(p.FlowLabel())
	if !bytes.Equal(was, b) {
		t.Errorf("reading changed the packet: %x, was %x", b, was)
	}
}

// within reports whether part lies in whole, not only has the same octets.
func within(whole, part []byte) bool {
	if cap(part) > cap(whole) {
		return false
	}
	at := cap(whole) - cap(part)
	return at+len(part) <= len(whole)
}

func FuzzFinish(f *testing.F) {
	for _, frame := range seedFrames(f) {
		f.Add(frame[:max(0, len(frame)-roce.ICRCLen)], ipAt)
	}
	f.Add([]byte{0x45}, -1)
	f.Add([]byte{0x60}, math.MaxInt)
	f.Fuzz(func(t *testing.T, b []byte, ip int) {
		length := len(b)
		b = slices.Clone(b) // Finish writes into it
		out, err := roce.Finish(b, ip)
		if err != nil {
			if len(out) != length {
				t.Errorf("%v, and %d octets instead of %d", err, len(out), length)
			}
			return
		}
		if len(out) != length+roce.ICRCLen {
			t.Fatalf("%d octets became %d", length, len(out))
		}
		var p roce.Packet
		if err := p.ParseIP(out[ip:], len(out)-ip); err != nil {
			if _, ok := errors.AsType[*roce.Error](err); !ok { // Finish does not look behind the BTH
				t.Errorf("finished, and then %v", err)
			}
			return
		}
		if got, want, ok := p.ICRC(); !ok || got != want {
			t.Errorf("ICRC %08x, want %08x, can be judged: %v", got, want, ok)
		}
		datagram := out[len(out)-len(p.BTHBytes())-8:]
		src, dst := p.Src().AsSlice(), p.Dst().AsSlice()
		if roce.Checksum(roce.PseudoHeader(src, dst, len(datagram), udp), datagram) != 0 {
			t.Errorf("UDP checksum is wrong: %x", out[ip:])
		}
	})
}

func FuzzCM(f *testing.F) {
	for _, m := range cmMessages {
		f.Add(m.Append(nil)[8:])
	}
	for _, frame := range readCapture(f, "cm-rc-write-read-ipv4.pcap") {
		var p roce.Packet
		if p.Parse(frame, len(frame)) == nil && p.Opcode() == roce.UDSendOnly {
			f.Add(p.Payload())
		}
	}
	f.Fuzz(func(t *testing.T, mad []byte) {
		mad = mad[:min(len(mad), 4096)]
		m, ok := parseCM(t, append(roce.DETH{}.Append(nil), mad...))
		if want := len(mad) >= 256 && mad[1] == 7; ok != want {
			t.Fatalf("a CM message: %v, want %v", ok, want)
		}
		if !ok {
			return
		}
		if m.Attribute != roce.CMAttribute(binary.BigEndian.Uint16(mad[16:])) || m.LocalCommID != binary.BigEndian.Uint32(mad[24:]) {
			t.Errorf("%+v of %x", m, mad)
		}
		if again, ok := parseCM(t, m.Append(nil)); !ok || again != m {
			t.Errorf("%+v, appended and parsed again %+v", m, again)
		}
	})
}
