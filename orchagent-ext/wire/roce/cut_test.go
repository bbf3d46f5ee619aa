// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// TestLengthOfOffload: with length 0 in IP, or in IP and UDP, the packet ends with its frame,
// and the ICRC is that of the lengths that the adapter fills in. It is so in captures alone: a
// packet on its way has its lengths.
func TestLengthOfOffload(t *testing.T) {
	inner, want := firstRoCE(t)
	for name, udpToo := range map[string]bool{"IP": false, "IP and UDP": true} {
		frame := append([]byte(nil), inner...)
		binary.BigEndian.PutUint16(frame[ipAt+2:], 0)
		if udpToo {
			binary.BigEndian.PutUint16(frame[ipAt+20+4:], 0)
		}
		var p roce.Packet
		if err := p.Parse(frame, len(frame)); err == nil {
			t.Errorf("%s: Parse takes it", name)
		}
		if err := p.ParseFrom(roce.LookLink, frame, 0, roce.EtherTypeEthernet, len(frame)); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if p.DestQP() != want.DestQP() || p.PSN() != want.PSN() || p.Len() != want.Len() || p.PayloadLen() != want.PayloadLen() {
			t.Errorf("%s: to %#x, PSN %d, %d octets, payload %d", name, p.DestQP(), p.PSN(), p.Len(), p.PayloadLen())
		}
		if got, calculated, ok := p.ICRC(); !ok || got != calculated {
			t.Errorf("%s: ICRC %x, want %x", name, got, calculated)
		}
	}
	six := frame6(udp, append(datagram(roce.RCAck, 4), 1, 2, 3, 4))
	finished, err := roce.Finish(six[:len(six)-4], ipAt)
	if err != nil {
		t.Fatal(err)
	}
	binary.BigEndian.PutUint16(finished[ipAt+4:], 0)
	var p roce.Packet
	if err := p.Parse(finished, len(finished)); err == nil {
		t.Error("IPv6: Parse takes it")
	}
	if err := p.ParseFrom(roce.LookLink, finished, 0, roce.EtherTypeEthernet, len(finished)); err != nil {
		t.Fatal(err)
	}
	if got, calculated, ok := p.ICRC(); !ok || got != calculated || p.Len() != len(finished)-ipAt {
		t.Errorf("IPv6: ICRC %x, want %x, %d octets of %d", got, calculated, p.Len(), len(finished)-ipAt)
	}
}

// TestCutBeforeTheCapture: a mirror cut the packet, and the frame around it is whole. A
// capture has what there is of it; on the packet path of a switch the lengths contradict each
// other.
func TestCutBeforeTheCapture(t *testing.T) {
	inner, want := firstRoCE(t)
	for name, wrap := range map[string]func([]byte) []byte{
		"alone":         func(b []byte) []byte { return b },
		"ERSPAN type I": func(b []byte) []byte { return join(ether(0x0800), in4(47, join([]byte{0, 0, 0x88, 0xbe}, b))) },
		"NVIDIA": func(b []byte) []byte {
			return join(ether(0x0800), in4(47, join([]byte{0, 0, 0x89, 0x49}, make([]byte, 22), b)))
		},
		"GRE with Ethernet": func(b []byte) []byte { return join(ether(0x0800), in4(47, join([]byte{0, 0, 0x65, 0x58}, b))) },
		"VXLAN": func(b []byte) []byte {
			return join(ether(0x0800), in4(17, inUDP(4789, join([]byte{8, 0, 0, 0, 0, 0, 7, 0}, b))))
		},
		"ERSPAN, padded frame": func(b []byte) []byte {
			return join(ether(0x0800), in4(47, join([]byte{0, 0, 0x88, 0xbe}, b)), make([]byte, 40))
		},
	} {
		for n := ipAt + 20 + 8 + roce.BTHLen; n < len(inner); n++ {
			frame := wrap(inner[:n:n])
			var p roce.Packet
			if err := through(&p, frame, len(frame)); err != nil {
				t.Fatalf("%s, %d octets: %v", name, n, err)
			}
			if p.DestQP() != want.DestQP() || p.PSN() != want.PSN() || p.Opcode() != want.Opcode() || p.PayloadLen() != want.PayloadLen() || p.Complete() {
				t.Fatalf("%s, %d octets: %v to %#x, PSN %d, payload %d, complete %v", name, n, p.Opcode(), p.DestQP(), p.PSN(), p.PayloadLen(), p.Complete())
			}
		}
		frame := wrap(inner[:ipAt+20+8+roce.BTHLen-1])
		var p roce.Packet
		var e *roce.Error
		if err := through(&p, frame, len(frame)); !errors.As(err, &e) || e.Header != roce.HeaderBTH || e.Problem != roce.Cut {
			t.Errorf("%s, part of a BTH: %v", name, err)
		}
	}
	var p roce.Packet
	var e *roce.Error
	if err := p.Parse(inner[:len(inner)-10], len(inner)-10); !errors.As(err, &e) || e.Problem != roce.BadLength {
		t.Errorf("packet path: %v", err)
	}
}

// TestCopies: with LookCopies mirrors are read, and tunnels are others.
func TestCopies(t *testing.T) {
	inner, want := firstRoCE(t)
	for name, tunnel := range tunnelFrames(inner) {
		var p roce.Packet
		err := p.ParseFrom(roce.LookCopies, tunnel.frame, 0, roce.EtherTypeEthernet, len(tunnel.frame))
		copied := map[string]bool{"ERSPAN type I": true, "ERSPAN type II": true, "ERSPAN type II, cut": true, "ERSPAN type III": true, "ERSPAN III with subheader": true, "NVIDIA": true}[name]
		if copied != p.Copied() && name != "VXLAN in ERSPAN" || (err == nil) != (copied || name == "SRv6, IPv4") || copied && p.DestQP() != want.DestQP() {
			t.Errorf("%s: %v, copied %v", name, err, p.Copied())
		}
	}
}
