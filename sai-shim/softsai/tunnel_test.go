// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"fmt"
	"testing"

	"sluice/orchagent-ext/wire/roce"
)

// tunnelOf puts an untagged IPv6 frame after further headers: those of an IPv6 header
// between hostA and hostB, and what follows it.
func tunnelOf(frame []byte, next byte, before []byte) []byte {
	outer := appendIPv6(nil, 0, hostB, hostA, next, append(before, frame[ethLen:]...))
	return append(append([]byte(nil), frame[:ethLen]...), outer...)
}

// tunnels are the ways in which SRv6 carries a packet (RFC 8986), and packets without a tunnel.
func tunnels() map[string][]byte {
	inner := roceFrame(hostA, hostB, 0xc000, 7)
	other := roceFrame(hostA, hostB, 0xc000, 7)
	other[ethLen+ipv6Len+3]++ // another UDP port
	v4 := append(make([]byte, ethLen), appendIPv4(nil, [4]byte{10, 0, 0, 1}, [4]byte{10, 0, 0, 2}, nil, 0, inner[ethLen+ipv6Len:])...)
	copy(v4, inner[:ethLen])
	srh := append([]byte{41, 2, 4, 1, 0, 0, 0, 0}, hostB[:]...)
	return map[string][]byte{
		"IPv6 in IPv6, as with a reduced header or a uSID": tunnelOf(inner, 41, nil),
		"IPv4 in IPv6":           tunnelOf(v4, 4, nil),
		"after a routing header": tunnelOf(inner, 43, srh),
		"two tunnels":            tunnelOf(tunnelOf(inner, 41, nil), 41, nil),
		"three tunnels":          tunnelOf(tunnelOf(tunnelOf(inner, 41, nil), 41, nil), 41, nil),
		"no RoCEv2 in it":        tunnelOf(other, 41, nil),
		"no tunnel":              inner,
		"no tunnel, after a routing header": append(append([]byte(nil), inner[:ethLen]...),
			appendIPv6(nil, 0, hostA, hostB, 43, append(append([]byte{17, 2, 4, 1, 0, 0, 0, 0}, hostB[:]...), inner[ethLen+ipv6Len:]...))...),
	}
}

// RoCEv2 in a tunnel has its ports inside: L4_DST_PORT does not match it and
// INNER_L4_DST_PORT does. The key is as roce.Packet has it: addresses and protocol of the
// outermost header.
func TestMatchInTunnel(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0 SLUICE_CPU_RATE=1000000 SLUICE_CPU_BURST=1000000")
	table := newTable(t, d, "port0")
	program := startRunner(t, "port0")
	trapOf := map[string]string{}
	for i, fields := range []string{fieldInner, fieldRoCE} {
		trap := d.id("create trap TYPE=ACL")
		trapOf[trap] = fields
		d.id("create entry TABLE_ID=%s PRIORITY=%d %s %s=%d %s=%s", table, 9-i, fields, actionPacket, packetCopy, actionTrap, trap)
	}
	end := d.id("create trap TYPE=ACL")
	d.id("create entry TABLE_ID=%s PRIORITY=1 FIELD_L4_DST_PORT=4790 %s=%d %s=%s", table, actionPacket, packetCopy, actionTrap, end)
	last := roceFrame(hostA, hostB, 0xc000, 7)
	last[ethLen+ipv6Len+3]-- // port 4790

	for name, frame := range tunnels() {
		var p roce.Packet
		want := ""
		if p.Parse(frame, len(frame)) == nil {
			want = fieldRoCE
			if p.Tunnelled() {
				want = fieldInner
			}
		}
		program.run(frame)
		program.run(last) // always copied: when it is there, all are
		var got string
		for done := false; !done; {
			for _, c := range d.packets(1) {
				if c.trap == end {
					done = true
				} else {
					got += trapOf[c.trap]
				}
			}
		}
		if got != want {
			t.Errorf("%s: matched by %q, want %q", name, got, want)
		}
	}
	for _, test := range []struct {
		fields string
		hits   bool
	}{
		{fieldInner + " FIELD_IPV6_NEXT_HEADER=41", true},
		{fieldInner + " FIELD_IPV6_NEXT_HEADER=17", false},
		{fieldInner + " " + fieldIP("SRC_IPV6", hostB, 128) + " " + fieldIP("DST_IPV6", hostA, 128), true},
		{fieldInner + " " + fieldIP("SRC_IPV6", hostA, 128), false},
	} {
		id := d.id("create entry TABLE_ID=%s PRIORITY=20 %s %s=%d", table, test.fields, actionPacket, packetDrop)
		verdict, _ := program.run(tunnels()["IPv6 in IPv6, as with a reduced header or a uSID"])
		if hits := verdict == verdictDrop; hits != test.hits {
			t.Errorf("%s: matches %v, want %v", test.fields, hits, test.hits)
		}
		d.do("remove entry %s", id)
	}
}

// What goes to the CPU has the label that the packet leaves with.
func TestCopyHasTheLabelThatLeaves(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	program := startRunner(t, "port0")
	sampler := d.id("create samplepacket SAMPLE_RATE=1")
	for name, actions := range map[string]string{
		"set, sampled":     fmt.Sprintf("%s=0x12345 %s=%s", setLabel, actionSample, sampler),
		"computed, copied": fmt.Sprintf("%s=0 %s=%d", compute, actionPacket, packetCopy),
	} {
		id := d.id("create entry TABLE_ID=%s %s %s", table, fieldRoCE, actions)
		_, out := program.run(roceFrame(hostA, hostB, 0xc000, 7))
		got := d.packets(1)
		if label := labelOf(out); label == 0 || labelOf(got[0].data) != label {
			t.Errorf("%s: the packet leaves with label %#05x, the CPU's has %#05x", name, label, labelOf(got[0].data))
		}
		d.do("remove entry %s", id)
	}
}
