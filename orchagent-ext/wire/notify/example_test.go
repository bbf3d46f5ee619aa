// SPDX-License-Identifier: Apache-2.0

package notify_test

import (
	"errors"
	"fmt"
	"net/netip"

	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// A switch asks the node upstream to halve the rate of one flow for 1 ms.
func ExamplePFCM() {
	m := notify.PFCM{
		StreamID: 0x1234, QueueID: 3,
		Action: notify.Reduce(50), Time: 1000,
		Source: netip.MustParseAddr("2001:db8:a::11"), Destination: netip.MustParseAddr("2001:db8:b::22"),
	}
	e := notify.DefaultEnvelope(m.Kind())
	e.Src, e.Dst = netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2")
	packet, err := m.AppendPacket(nil, &e, notify.DefaultCodePoints())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%x\n", packet[:40])
	fmt.Printf("%x\n", packet[40:])
	// Output:
	// 6c000000002c3afffe800000000000000000000000000001fe800000000000000000000000000002
	// c800c50b0000123403b203e820010db8000b0000000000000000002220010db8000a00000000000000000011
}

// The node upstream reads it, and does not obey what came through a router.
func ExamplePacket_ParseIP() {
	m := notify.PFCM{StreamID: 7, Action: notify.Pause, Time: 500, Source: netip.MustParseAddr("2001:db8::1"), Destination: netip.MustParseAddr("2001:db8::2")}
	e := notify.DefaultEnvelope(m.Kind())
	e.Src, e.Dst = netip.MustParseAddr("fe80::1"), netip.MustParseAddr("fe80::2")
	codePoints := notify.DefaultCodePoints()

	var p notify.Packet // reused for every packet
	for _, e.HopLimit = range []uint8{255, 254} {
		packet, err := m.AppendPacket(nil, &e, codePoints)
		if err != nil {
			fmt.Println(err)
			return
		}
		err = p.ParseIP(packet, codePoints)
		if errors.Is(err, notify.ErrNotNotification) {
			continue
		}
		if p.Kind == notify.KindPFCM {
			fmt.Printf("%v for %d µs: ", p.PFCM.Action, p.PFCM.Time)
		}
		var refused *notify.Error
		if errors.As(err, &refused) {
			fmt.Printf("%v; counted as %s\n", refused, refused.Reason.Label())
			continue
		}
		fmt.Println("obeyed")
	}
	// Output:
	// pause for 500 µs: obeyed
	// pause for 500 µs: pfcm: hop limit is not 255; counted as hop-limit
}

// A pause of 10 µs at 100 Gbit/s, for a device that knows PFC only.
func ExamplePFC() {
	m := notify.PFC{Enable: 1 << 3}
	m.Quanta[3] = notify.Quanta(10, 100_000)
	frame, err := notify.AppendFrame(nil, m, &notify.Envelope{SrcMAC: roce.MAC{0, 0, 0x5e, 0, 0x53, 1}}, notify.DefaultCodePoints())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Quanta[3], "quanta,", len(frame), "octets")
	fmt.Printf("%x\n", frame[:34])
	fmt.Println("longest single pause:", notify.QuantaDuration(notify.MaxQuanta, 100_000))
	// Output:
	// 1954 quanta, 60 octets
	// 0180c200000100005e00530188080101000800000000000007a20000000000000000
	// longest single pause: 335.539µs
}
