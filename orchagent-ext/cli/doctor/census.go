// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/capture/link"
	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/wire/roce"
)

// Census counts the packets of a capture by kind, and names the kinds that are not read.
// Its zero value has none.
type Census struct {
	// Packets counts all packets of the capture.
	Packets int
	// Samples counts the packets that datagrams of sFlow brought. Each is counted once more
	// below, in place of its datagram.
	Samples int
	// RoCE counts those that are RoCEv2, Data those of them with data of an application.
	RoCE, Data int
	Tunnelled  int // of RoCE
	// Other counts the others by kind.
	Other map[roce.Other]int

	bad map[roce.Error]int // with headers that are cut or wrong
}

// Count counts a packet by the result of its Parse.
func (c *Census) Count(p *roce.Packet, err error) {
	if err == nil {
		c.RoCE++
		if p.Opcode().CarriesData() {
			c.Data++
		}
		if p.Tunnelled() {
			c.Tunnelled++
		}
		return
	}
	if c.bad == nil {
		c.bad, c.Other = map[roce.Error]int{}, map[roce.Other]int{}
	}
	var bad *roce.Error
	if errors.As(err, &bad) {
		c.bad[*bad]++
		return
	}
	c.Other[p.Other()]++
}

// Sampled takes back the count of a datagram of sFlow, whose packets were counted one by one;
// without any it stays one of the others.
func (c *Census) Sampled(packets int) {
	c.Other[capture.SFlow]--
	c.Samples += packets
	if packets == 0 {
		c.Other[roce.Other{Kind: roce.OtherSamples}]++
	}
}

// sum returns the count and the text of the packets whose headers are cut, or else wrong.
func (c *Census) sum(cut bool) (n int, text string) {
	by := map[string]int{}
	for e, of := range c.bad {
		if (e.Problem == roce.Cut) != cut {
			continue
		}
		n += of
		if cut {
			by[e.Header.String()] += of
		} else {
			by[e.Header.String()+" "+e.Problem.String()] += of
		}
	}
	return n, list(by)
}

// others returns the count and the text of the other packets.
func (c *Census) others() (n int, text string) {
	by := map[string]int{} // several numbers can have one name
	for o, of := range c.Other {
		if of > 0 {
			n += of
			by[name(o)] += of
		}
	}
	return n, list(by)
}

// name names a kind of packet, by number and name.
func name(o roce.Other) string {
	if o.Kind == roce.OtherLink {
		return link.Type(o.Value).String()
	}
	return o.String()
}

// maxNamed is how many kinds of packets are named.
const maxNamed = 8

// list returns counts in parentheses, the greatest first; "" of none.
func list(by map[string]int) string {
	if len(by) == 0 {
		return ""
	}
	names := slices.SortedFunc(maps.Keys(by), func(a, b string) int { return cmp.Or(cmp.Compare(by[b], by[a]), cmp.Compare(a, b)) })
	var parts []string
	rest := 0
	for i, name := range names {
		if i < maxNamed {
			parts = append(parts, fmt.Sprintf("%s: %d", name, by[name]))
		} else {
			rest += by[name]
		}
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("more kinds: %d", rest))
	}
	return " (" + strings.Join(parts, "; ") + ")"
}

// String sums up, such as "16 packets: 12 RoCEv2, 4 other (ARP: 4)".
func (c *Census) String() string {
	text := kit.Plural(c.Packets, "packet")
	if c.Samples > 0 {
		text += fmt.Sprintf(", with %s of sFlow", kit.Plural(c.Samples, "sample"))
	}
	text += fmt.Sprintf(": %d RoCEv2", c.RoCE)
	if c.Tunnelled > 0 {
		text += fmt.Sprintf(" (%d in tunnels)", c.Tunnelled)
	}
	others, kinds := c.others()
	text += fmt.Sprintf(", %d other%s", others, kinds)
	if cut, headers := c.sum(true); cut > 0 {
		text += fmt.Sprintf(", %d cut%s", cut, headers)
	}
	if wrong, reasons := c.sum(false); wrong > 0 {
		text += fmt.Sprintf(", %d malformed%s", wrong, reasons)
	}
	return text
}

// whole is how many octets of a packet have all headers of RoCEv2, in a tunnel with tags, too.
const whole = 192

// Advice returns the next step where a capture has no RoCEv2 with data, by the packets it has
// instead.
func (c *Census) Advice() string {
	cut, _ := c.sum(true)
	switch {
	case c.Data > 0:
		return ""
	case c.Packets == 0:
		return "the file has no packets: capture while the fabric is busy, without a filter or with udp port 4791"
	case c.RoCE > 0:
		return "there are answers alone, such as acknowledgements and CNPs: capture the other direction, too"
	case cut > 0:
		return fmt.Sprintf("the capture cut the headers: capture %d octets of each packet (tcpdump -s %d), and let a mirror truncate no shorter", whole, whole)
	}
	if step := c.hidden(); step != "" {
		return step
	}
	return "capture where both directions pass, while the fabric is busy: UDP port 4791 of a leaf's edge port"
}

// hidden returns the next step for the packets that hide RoCEv2, or stand for it, by most of them.
func (c *Census) hidden() string {
	steps := map[string]int{}
	for o, n := range c.Other {
		if step := advice(o); step != "" && n > 0 {
			steps[step] += n
		}
	}
	if len(steps) == 0 {
		return ""
	}
	return slices.MinFunc(slices.Collect(maps.Keys(steps)), func(a, b string) int {
		return cmp.Or(cmp.Compare(steps[b], steps[a]), cmp.Compare(a, b))
	})
}

// advice returns the next step for packets that hide RoCEv2, or stand for it; "" for traffic
// of other protocols.
func advice(o roce.Other) string {
	switch o.Kind {
	case roce.OtherLink:
		if link.Type(o.Value) == link.InfiniBand {
			return "this is InfiniBand itself, without Ethernet: Sluice is for RoCEv2"
		}
		return "this link type is not read: capture Ethernet (tcpdump -y EN10MB), or all devices (tcpdump -i any)"
	case roce.OtherEtherType:
		switch o.Value {
		case 0x8915:
			return "RoCEv1 has no IP header and is not routed: set the adapters to RoCEv2 (cma_roce_mode)"
		case 0x88e5:
			return "MACsec encrypts the packets: capture where they are in the clear"
		case 0x0806, 0x88cc, 0x8808, 0x8809, 0x88f7, 0x888e, 0x8902, 0x8863, 0x9000:
			return ""
		}
		if o.Value < 0x600 {
			return ""
		}
		return fmt.Sprintf("EtherType %#04x hides the packets: capture where the tag is not there, or mirror by ERSPAN or sFlow", o.Value)
	case roce.OtherProtocol:
		switch o.Value {
		case 50:
			return "IPsec encrypts the packets: capture where they are in the clear"
		case 47:
			return "GRE carries the packets: decode, observe and doctor read them"
		}
	case roce.OtherPort:
		switch o.Value {
		case 2055, 4739, 9995:
			return "these are records of flows, without packets: capture a mirror (ERSPAN) or samples (sFlow)"
		case 4789, 8472, 4790, 6081, 6635:
			return fmt.Sprintf("UDP port %d carries tunnels, with other than RoCEv2 inside, or read by decode, observe and doctor alone", o.Value)
		case 6343:
			return "UDP port 6343 has samples of sFlow version 5 where collectors get them: these are another version, or cut; decode and doctor read version 5"
		}
	case roce.OtherSamples:
		return "the agents send counters alone: turn on sampling of packets (config sflow enable; a sample rate for each interface)"
	case roce.OtherFragment:
		return "the fragments that come first are missing: capture all, and avoid fragments of RoCEv2 by the MTU"
	case roce.OtherTunnel:
		return "a tunnel carries a protocol that is not read: capture the packets before they enter it"
	}
	return ""
}
