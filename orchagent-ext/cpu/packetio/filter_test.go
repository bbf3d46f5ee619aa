// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"testing"

	"golang.org/x/net/bpf"

	"sluice/orchagent-ext/wire/roce"
)

// tagged puts VLAN tags, by their EtherTypes, before what a frame carries.
func tagged(f Frame, types ...uint16) []byte {
	b := append([]byte{}, f.Data[:12]...)
	for _, t := range types {
		b = append(b, byte(t>>8), byte(t), 0x20, 0x64)
	}
	return append(b, f.Data[12:]...)
}

func changed(f Frame, at int, octets ...byte) []byte {
	b := append([]byte{}, f.Data...)
	copy(b[at:], octets)
	return b
}

// withOptions is a frame over IPv4 whose header has options.
func withOptions(f Frame) []byte {
	b := append([]byte{}, f.Data[:34]...)
	b[14] = 0x47
	b = append(b, 1, 1, 1, 1, 1, 1, 1, 0)
	return append(b, f.Data[34:]...)
}

// routed is a frame over IPv6 with a routing header.
func routed(f Frame) []byte {
	b := append([]byte{}, f.Data[:54]...)
	b[20] = 43
	b = append(b, 17, 2, 4, 0, 0, 0, 0, 0)
	b = append(b, make([]byte, 16)...)
	return append(b, f.Data[54:]...)
}

// TestFilterPassesRoCEv2Alone: RoCEv2 goes through, however it is carried, and nothing else.
func TestFilterPassesRoCEv2Alone(t *testing.T) {
	vm, err := bpf.NewVM(roceInstructions())
	if err != nil {
		t.Fatal(err)
	}
	v4, v6 := frame4(t, 1), frame(t, 1, 0)
	port := func(f Frame, ip int) []byte { return changed(f, ip+2, 0x12, 0xb8) } // 4792
	for _, tt := range []struct {
		name string
		data []byte
		want bool
	}{
		{"IPv4", v4.Data, true},
		{"IPv6", v6.Data, true},
		{"a tag", tagged(v4, 0x8100), true},
		{"a service tag", tagged(v6, 0x88a8), true},
		{"two tags", tagged(v6, 0x88a8, 0x8100), true},
		{"two tags, IPv4", tagged(v4, 0x8100, 0x8100), true},
		{"three tags", tagged(v4, 0x8100, 0x8100, 0x8100), false},
		{"options", withOptions(v4), true},
		{"routing header", routed(v6), true},
		{"tunnel", tunnel(v6).Data, true},
		{"tunnel of IPv4", changed(v6, 20, 4), true},
		{"first fragment", changed(v4, 20, 0x20, 0x00), true},
		{"later fragment", changed(v4, 20, 0x00, 0x10), false},
		{"another port", port(v4, 34), false},
		{"another port, IPv6", port(v6, 54), false},
		{"TCP", changed(v4, 23, 6), false},
		{"TCP, IPv6", changed(v6, 20, 6), false},
		{"ARP", changed(v4, 12, 0x08, 0x06), false},
		{"source port 4791", changed(v4, 34, 0x12, 0xb7, 0, 53), false},
		{"short", v6.Data[:40], false},
		{"empty", []byte{}, false},
	} {
		n, err := vm.Run(tt.data)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if (n > 0) != tt.want || n > 0 && n < len(tt.data) {
			t.Errorf("%s: %d octets go through, want %v", tt.name, n, tt.want)
		}
	}
	if roce.UDPPort != 4791 {
		t.Error("the ports above are wrong")
	}
}
