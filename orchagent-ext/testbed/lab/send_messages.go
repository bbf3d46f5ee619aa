// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/notify"
)

// Defaults of the congested flow: the documentation ranges.
var (
	flowSrc6, flowDst6 = netip.MustParseAddr("2001:db8:a::11"), netip.MustParseAddr("2001:db8:b::22")
	flowSrc4, flowDst4 = netip.MustParseAddr("192.0.2.11"), netip.MustParseAddr("198.51.100.22")
)

// newSendPFCM returns `send pfcm` (draft-yang section 4.1).
func newSendPFCM() *cobra.Command {
	return newSend(notify.KindPFCM, "Ask the upstream neighbor to hold or slow a flow",
		`  sluice-lab send pfcm --dev eth0 --dst fe80::2 --action reduce --reduction 50 --time 1000
  sluice-lab send pfcm --encapsulation hop-by-hop --write pfcm.pcap`,
		func(flags *pflag.FlagSet) func(netip.Addr, netip.Addr) (notify.Message, error) {
			var m notify.PFCM
			flags.Var(kit.Text(&m.Encapsulation, "icmpv6|hop-by-hop|destination-options"), "encapsulation", "form of the message")
			stream := kit.AddHex(flags, "stream-id", 16, 0, "Stream ID; 0: computed as scope hash does, from the four flags below")
			source := kit.AddAddr(flags, "source", "source of the congested flow (default "+flowSrc6.String()+")")
			destination := kit.AddAddr(flags, "destination", "destination of the congested flow (default "+flowDst6.String()+")")
			label := kit.AddHex(flags, "stream-label", 20, 0, "flow label of the congested flow")
			seed := kit.AddHex(flags, "stream-seed", 32, 0, "seed of scope hash")
			queue := kit.AddNumber(flags, "queue", 8, 3, "Queue ID")
			action := kit.AddChoice(flags, "action", "what to do", "pause", "reduce", "cancel")
			reduction := kit.AddNumber(flags, "reduction", 7, 50, "of --action reduce, in percent: 64 to 99 are sent as 63, 100 as pause")
			us := kit.AddQuantity(flags, "time", "microseconds", 16, 500, "how long; 0 cancels")
			return func(netip.Addr, netip.Addr) (notify.Message, error) {
				m.StreamID, m.QueueID, m.Time = uint16(*stream), uint8(*queue), uint16(*us)
				switch *action {
				case "pause":
					m.Action = notify.Pause
				case "reduce":
					m.Action = notify.Reduce(int(*reduction))
				case "cancel":
					m.Action = notify.Cancel
				}
				m.Source, m.Destination = or(*source, flowSrc6), or(*destination, flowDst6)
				if m.StreamID == 0 {
					m.StreamID = flow.HashStreamID(*seed, m.Source.As16(), m.Destination.As16(), *label)
				}
				return m, nil
			}
		})
}

// newSendPPFC returns `send ppfc` (draft-xz section 4).
func newSendPPFC() *cobra.Command {
	return newSend(notify.KindPPFC, "Report a congested flow to its ingress gateway",
		`  sluice-lab send ppfc --dev eth0 --dst 2001:db8::1 --pt stop --duration 1000
  sluice-lab send ppfc --src 192.0.2.1 --dst 203.0.113.9 --transport udp --flow qps --flow-dst-qp 0x11`,
		func(flags *pflag.FlagSet) func(netip.Addr, netip.Addr) (notify.Message, error) {
			var m notify.PPFC
			flags.Var(kit.Text(&m.Transport, "icmp|udp"), "transport", "what carries it")
			flags.Var(kit.Text(&m.PT, "stop|resume|alarm|hold"), "pt", "action type")
			ignored := kit.AddHex(flags, "flags", 6, 0, "the Flags field, which receivers ignore")
			priority := kit.AddNumber(flags, "priority", 8, 26, "the flow's DSCP, or its queue")
			port := kit.AddNumber(flags, "congestion-port", 16, 1, "low 16 bits of the interface index; ICMP form")
			qid := kit.AddNumber(flags, "congestion-qid", 16, 3, "the congested queue; UDP form")
			duration := kit.AddQuantity(flags, "duration", "microseconds", 16, 500, "Pause Duration; 0 resumes")
			source := kit.AddAddr(flags, "source", "source of the congested flow (default "+flowSrc6.String()+" or "+flowSrc4.String()+")")
			destination := kit.AddAddr(flags, "destination", "destination of the congested flow (default "+flowDst6.String()+" or "+flowDst4.String()+")")
			router := kit.AddAddr(flags, "router-id", "Router Identifier; ICMP form; default: --src")
			flags.Var(kit.Text(&m.Flow.Form, "all|ports|qps|word"), "flow", "flow identifier: none, protocol and ports, these and the queue pairs, or the one word of the draft's figure 2")
			protocol := kit.AddNumber(flags, "flow-protocol", 8, 17, "of the flow")
			sport := kit.AddNumber(flags, "flow-sport", 16, 49152, "UDP source port of the flow")
			dport := kit.AddNumber(flags, "flow-dport", 16, 4791, "UDP destination port of the flow")
			srcQP := kit.AddHex(flags, "flow-src-qp", 24, 0, "source queue pair; 0: unknown")
			dstQP := kit.AddHex(flags, "flow-dst-qp", 24, 0x11, "destination queue pair")
			word := kit.AddHex(flags, "flow-word", 32, 0, "the word of --flow word")
			return func(src, _ netip.Addr) (notify.Message, error) {
				m.Flags, m.Priority = uint8(*ignored), uint8(*priority)
				m.CongestionPort, m.CongestionQID, m.PauseDuration = uint16(*port), uint16(*qid), uint16(*duration)
				m.Source, m.Destination, m.RouterID = or(*source, flowSrc6), or(*destination, flowDst6), or(*router, src)
				if src.Is4() {
					m.Source, m.Destination = or(*source, flowSrc4), or(*destination, flowDst4)
				}
				if m.Source.Is4() != src.Is4() {
					return nil, fmt.Errorf("the flow's source %s is not of the family of %s: the message's addresses are of that of the packet that carries it", m.Source, src)
				}
				m.Flow.Protocol, m.Flow.SrcPort, m.Flow.DstPort = uint8(*protocol), uint16(*sport), uint16(*dport)
				m.Flow.SrcQP, m.Flow.DstQP = *srcQP, *dstQP
				m.Flow.Word = *word
				return m, nil
			}
		})
}

// newSendRateAdvice returns `send rate-advice` (draft-zz section 6).
func newSendRateAdvice() *cobra.Command {
	return newSend(notify.KindRateAdvice, "Advise a sender of the rate that fits",
		"  sluice-lab send rate-advice --dev eth0 --dst 2001:db8::11 --dest-qp 0x11 --source-qp 0x22 --rate 25000",
		func(flags *pflag.FlagSet) func(netip.Addr, netip.Addr) (notify.Message, error) {
			pkey := kit.AddHex(flags, "pkey", 16, notify.DefaultPKey, "partition key, that of the data packet")
			dest := kit.AddHex(flags, "dest-qp", 24, 0x11, "the sender's queue pair, which the message is delivered to")
			destination := kit.AddHex(flags, "destination-qp", 24, 0, "Destination QP of the body; 0: that of --dest-qp")
			source := kit.AddHex(flags, "source-qp", 24, 0x22, "Source QP of the body: the receiver's queue pair")
			rate := kit.AddQuantity(flags, "rate", "Mbit/s", 32, 25000, "rate that is advised; never 0")
			version := kit.AddNumber(flags, "version", 32, notify.RateAdviceVersion, "Version")
			return func(netip.Addr, netip.Addr) (notify.Message, error) {
				m := notify.RateAdvice{PKey: uint16(*pkey), DestQP: *dest, Rate: *rate, Version: *version, DestinationQP: *destination, SourceQP: *source}
				if m.DestinationQP == 0 {
					m.DestinationQP = m.DestQP
				}
				return m, nil
			}
		})
}

// newSendCNP returns `send cnp` (IBTA annex A17).
func newSendCNP() *cobra.Command {
	return newSend(notify.KindCNP, "Send RoCEv2's congestion notification packet",
		"  sluice-lab send cnp --dev eth0 --dst 2001:db8::11 --dest-qp 0x11",
		func(flags *pflag.FlagSet) func(netip.Addr, netip.Addr) (notify.Message, error) {
			pkey := kit.AddHex(flags, "pkey", 16, notify.DefaultPKey, "partition key, that of the data packet")
			dest := kit.AddHex(flags, "dest-qp", 24, 0x11, "the queue pair of the data's sender")
			return func(netip.Addr, netip.Addr) (notify.Message, error) {
				return notify.CNP{PKey: uint16(*pkey), DestQP: *dest}, nil
			}
		})
}

// newSendPFC returns `send pfc` (IEEE 802.1Q clause 36), whose quanta are 512 bit times
// at the link's speed.
func newSendPFC() *cobra.Command {
	return newSend(notify.KindPFC, "Pause or resume priorities of a link (IEEE 802.1Qbb)",
		`  sluice-lab send pfc --dev eth0 --priority 3 --time 10 --speed 100000
  sluice-lab send pfc --dev eth0 --priority 3,4 --quanta 0`,
		func(flags *pflag.FlagSet) func(netip.Addr, netip.Addr) (notify.Message, error) {
			priorities := flags.UintSlice("priority", []uint{3}, "priorities, 0 to 7")
			quanta := kit.AddNumber(flags, "quanta", 16, notify.MaxQuanta, "pause in units of 512 bit times; 0 resumes")
			us := kit.AddQuantity(flags, "time", "microseconds", 16, 0, "pause, instead of --quanta; needs --speed")
			speed := kit.AddQuantity(flags, "speed", "Mbit/s", 32, 0, "of the link")
			return func(netip.Addr, netip.Addr) (notify.Message, error) {
				q := uint16(*quanta)
				if flags.Changed("time") {
					if *speed == 0 || flags.Changed("quanta") {
						return nil, errors.New("--time takes --speed in Mbit/s, and replaces --quanta")
					}
					q = notify.Quanta(*us, *speed)
				}
				var m notify.PFC
				for _, p := range *priorities {
					if p > 7 {
						return nil, fmt.Errorf("--priority %d: priorities are 0 to 7", p)
					}
					m.Enable |= 1 << p
					m.Quanta[p] = q
				}
				return m, nil
			}
		})
}

// or is a, or its default.
func or(a, fallback netip.Addr) netip.Addr {
	if a.IsValid() {
		return a
	}
	return fallback
}
