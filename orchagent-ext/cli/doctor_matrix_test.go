// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/cli/doctor"
	"sluice/orchagent-ext/testbed/traffic"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/capturegen"
	"sluice/yang/rows"
)

// Offsets in the frames of the generator: Ethernet, IPv6 without extension headers, UDP.
const (
	tcAt   = 14 // traffic class, with the label after it
	portAt = 14 + 40
	bthAt  = portAt + 8
	aethAt = bthAt + 12
)

// passing is the packets of a capture, with times in µs.
type passing []capturegen.Packet

// loaded returns the packets of generated sessions.
func loaded(t *testing.T, pairs, qps, packets int, change ...func(c *traffic.Config)) (all passing) {
	t.Helper()
	c := traffic.Config{Pairs: pairs, QPs: qps, Packets: packets, Payload: 64, Seed: 1, CM: false, Start: time.Unix(1_700_000_000, 0)}
	for _, f := range change {
		f(&c)
	}
	err := traffic.Generate(c, func(at time.Time, frame []byte) error {
		all = append(all, capturegen.Packet{Seconds: uint32(at.Unix()), Fraction: uint32(at.Nanosecond() / 1000), Data: bytes.Clone(frame)})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func perQP(c *traffic.Config)     { c.SportPerQP = true }
func datagrams(c *traffic.Config) { c.Datagram = true }

// opcode and queue pair of a frame of the generator.
func opcode(b []byte) roce.Opcode { return roce.Opcode(b[bthAt]) }
func qpOf(b []byte) uint32        { return binary.BigEndian.Uint32(b[bthAt+4:]) & 0xffffff }
func isData(b []byte) bool        { return opcode(b).CarriesData() && qpOf(b) != 1 }

// each changes packets by their number among all.
func (s passing) each(change func(i int, b []byte)) passing {
	for i := range s {
		change(i, s[i].Data)
	}
	return s
}

// keep drops the other packets.
func (s passing) keep(wanted func(i int, b []byte) bool) (all passing) {
	for i, p := range s {
		if wanted(i, p.Data) {
			all = append(all, p)
		}
	}
	return all
}

// replaced puts other octets in place of those of each packet.
func (s passing) replaced(by func(b []byte) []byte) passing {
	for i := range s {
		s[i].Data = by(s[i].Data)
	}
	return s
}

// add appends frames, one a µs after the last packet.
func (s passing) add(frames ...[]byte) passing {
	at := uint32(0)
	if len(s) > 0 {
		at = s[len(s)-1].Fraction
	}
	for i, f := range frames {
		s = append(s, capturegen.Packet{Seconds: 1_700_000_000, Fraction: at + 1 + uint32(i), Data: f})
	}
	return s
}

// file writes the packets.
func (s passing) file(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "x.pcap")
	if err := os.WriteFile(name, capturegen.Pcap{Packets: s}.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// labelWith sets the flow label of data to that of its queue pair.
func labelWith(label func(qp uint32) uint32) func(int, []byte) {
	return func(_ int, b []byte) {
		if isData(b) {
			binary.BigEndian.PutUint32(b[tcAt:], binary.BigEndian.Uint32(b[tcAt:])&^0xfffff|label(qpOf(b)))
		}
	}
}

// over4 returns the packet over IPv4, from 10.0.side.n.
func over4(b []byte) []byte {
	v4 := roce.Ethernet{EtherType: 0x0800}.Append(nil)
	v4 = roce.IPv4Header{TOS: 26<<2 | 2, TTL: 64, Protocol: 17, Src: [4]byte{10, 0, b[14+8+7], b[14+8+15]}, Dst: [4]byte{10, 0, b[14+24+7], b[14+24+15]}}.Append(v4)
	v4 = roce.UDPHeader{SrcPort: binary.BigEndian.Uint16(b[portAt:]), DstPort: roce.UDPPort}.Append(v4)
	v4, err := roce.Finish(append(v4, b[bthAt:len(b)-4]...), 14)
	if err != nil {
		panic(err)
	}
	return v4
}

// mark sets CE.
func mark(b []byte) { b[tcAt+1] |= 0x30 }

// cnpFor returns a CNP that answers a data packet.
func cnpFor(b []byte) []byte {
	v6 := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	v6 = roce.IPv6Header{TrafficClass: 48 << 2, NextHeader: 17, HopLimit: 64, Src: [16]byte(b[14+24:]), Dst: [16]byte(b[14+8:])}.Append(v6)
	v6 = roce.UDPHeader{DstPort: roce.UDPPort}.Append(v6)
	v6 = roce.BTH{Opcode: roce.CNP, PKey: 0xffff, DestQP: 7, BECN: true}.Append(v6)
	v6, err := roce.Finish(append(v6, make([]byte, 16)...), 14)
	if err != nil {
		panic(err)
	}
	return v6
}

// pause returns a frame of PFC for priority 3.
func pause(quanta uint16, from byte) []byte {
	m := notify.PFC{Enable: 1 << 3}
	m.Quanta[3] = quanta
	b, err := notify.AppendFrame(nil, m, &notify.Envelope{SrcMAC: roce.MAC{2, 0, 0, 0, 0, from}}, notify.DefaultCodePoints())
	if err != nil {
		panic(err)
	}
	return b
}

// mirrored returns the packet in ERSPAN type II.
func mirrored(b []byte) []byte {
	gre := slices.Concat([]byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 1}, b)
	ip := slices.Concat([]byte{0x45, 0}, binary.BigEndian.AppendUint16(nil, uint16(20+len(gre))), []byte{0, 0, 0, 0, 64, 47, 0, 0, 10, 9, 9, 1, 10, 9, 9, 2}, gre)
	return append([]byte{2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 8, 0}, ip...)
}

// plain returns a frame of another protocol.
func plain(etherType uint16, payload ...byte) []byte {
	return slices.Concat([]byte{2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, byte(etherType >> 8), byte(etherType)}, payload, make([]byte, 46))
}

// tcp returns frames of TCP.
func tcp(n int) (all [][]byte) {
	for range n {
		all = append(all, plain(0x0800, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0x12, 0xb7, 0x12, 0xb7))
	}
	return all
}

// TestDoctorJudgesEachCapture has a capture of each kind, and all verdicts that doctor gives: the
// levels of its checks in their order, figures, and words.
func TestDoctorJudgesEachCapture(t *testing.T) {
	type numbers map[string]float64 // check.name: value, within 0.005
	page, err := os.ReadFile("../../docs/tool.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		packets func(t *testing.T) passing
		args    string
		levels  string // o, n, a, u of each verdict
		numbers numbers
		has     []string
	}{
		{"one port", func(t *testing.T) passing { return loaded(t, 1, 64, 6400) }, "", "oooaoaaaoooa", numbers{"ports.most_source_ports": 1, "ports.queue_pair_bits": 6, "paths4.now": 4, "paths4.label": 1.19, "paths4.redirect": 4, "paths4.placed": 1, "paths8.now": 8, "paths8.label": 1.5, "paths16.now": 16, "paths16.label": 1.5, "paths16.placed": 1, "paths16.floor": 1, "traffic.data_packets": 6400, "packets.packets": 8000, "data.confidence": 1}, []string{"$ sluice balance", "goes from 8.00 to 1.50 times the mean, with chosen labels to 1.00"}},
		{"one port on SONiC 202505", func(t *testing.T) passing { return loaded(t, 1, 64, 6400) }, "--switch sonic-202505 --paths 8", "oooaonoooa", numbers{"paths8.now": 8, "answer.best": 8}, []string{"sonic-202505 writes no label", "Sluice has no way to lower it on sonic-202505"}},
		{"a port a queue pair", func(t *testing.T) passing { return loaded(t, 1, 64, 6400, perQP) }, "--paths 8 --switch linux", "ooooonooon", numbers{"ports.most_source_ports": 64, "ports.source_port_bits": 6, "paths8.now": 1.62, "paths8.redirect": 1, "answer.best": 1}, []string{"switch on placement of labels", "$ sluice config placement set --admin-state enabled\n"}},
		{"a port a queue pair on SONiC 202411", func(t *testing.T) passing { return loaded(t, 1, 64, 6400, perQP) }, "--paths 8 --switch sonic-202411", "ooooonooon", numbers{"paths8.now": 1.62, "paths8.redirect": 1, "answer.best": 1}, []string{"switch on redirect: the fullest of 8 uplinks goes from 1.62 to 1.00", "$ sudo config sluice placement set --admin-state enabled --moves any\n", "$ sudo config sluice global set --driver orchagent\n"}},
		{"a port a host pair", func(t *testing.T) passing { return loaded(t, 4, 16, 6400) }, "--paths 4", "oooaoaoooa", numbers{"ports.least_source_ports": 1, "ports.most_source_ports": 1, "ports.queue_pair_bits": 4, "traffic.host_pairs": 4, "paths4.now": 2, "paths4.redirect": 1}, []string{"UDP source ports of a host pair: 1, with 0.0 of the 4.0 bits"}},
		{"different ports of host pairs", func(t *testing.T) passing {
			return loaded(t, 2, 16, 3200).each(func(_ int, b []byte) {
				if isData(b) && b[14+24+15] == 1 {
					binary.BigEndian.PutUint16(b[portAt:], uint16(0xc000+qpOf(b)%16))
				}
			})
		}, "--paths 4", "oooaoaoooa", numbers{"ports.least_source_ports": 1, "ports.most_source_ports": 16, "ports.source_port_bits": 2}, []string{"UDP source ports of a host pair: 1 to 16"}},
		{"labelled by Sluice", func(t *testing.T) passing { return relabeled(t, loaded(t, 1, 64, 6400)) }, "--paths 8 --switch linux", "ooooonooon", numbers{"label.labeled_share": 1, "label.computed_share": 1, "label.label_bits": 6, "label.most_labels": 64, "paths8.five_tuple": 8, "paths8.now": 1.5, "paths8.placed": 1}, []string{"done: labels on this port, as Sluice computes them", "labels are done; switch on placement"}},
		{"labelled by the sender", func(t *testing.T) passing {
			return loaded(t, 1, 64, 6400).each(labelWith(func(qp uint32) uint32 { return 0x100 + qp%64*977 }))
		}, "--paths 8", "ooooonooon", numbers{"label.computed_share": 0, "label.label_bits": 6, "paths8.now": 1.5}, []string{"done: labels on this port, of the senders, or chosen", "rewrite=always alone"}},
		{"labelled, on SONiC that cannot hash it", func(t *testing.T) passing { return relabeled(t, loaded(t, 1, 64, 6400)) }, "--paths 8 --switch sonic-202405", "oooannoooa", numbers{"paths8.now": 8, "paths8.five_tuple": 8}, []string{"sonic-202405 cannot hash them"}},
		{"one label for all", func(t *testing.T) passing {
			return loaded(t, 1, 64, 6400).each(labelWith(func(uint32) uint32 { return 0x777 }))
		}, "--paths 8", "oooanaoooa", numbers{"label.label_bits": 0, "paths8.now": 8, "paths8.label": 8, "paths8.placed": 1}, []string{"separate 0.0 of the 6.0 bits"}},
		{"labels on half", func(t *testing.T) passing {
			return loaded(t, 1, 64, 6400).each(labelWith(func(qp uint32) uint32 { return qp % 2 * (0x100 + qp%64*977) }))
		}, "--paths 8", "oooanaoooa", numbers{"label.labeled_share": 0.5, "label.label_bits": 3.5, "paths8.now": 4.62, "paths8.label": 1.75}, []string{"50 % of the IPv6 packets have a flow label"}},
		{"IPv4", func(t *testing.T) passing { return loaded(t, 1, 64, 6400).replaced(over4) }, "--paths 8 --switch linux", "oooanoooa", numbers{"traffic.ipv6_share": 0, "paths8.now": 8, "paths8.redirect": 8, "paths8.redirect_floor": 8}, []string{"no label over IPv4"}},
		{"IPv4 with ports on SONiC 202305", func(t *testing.T) passing { return loaded(t, 1, 64, 6400, perQP).replaced(over4) }, "--paths 8 --switch sonic-202305", "oooonooon", numbers{"paths8.now": 1.38, "paths8.redirect": 1}, []string{"switch on redirect"}},
		{"IPv4 and IPv6", func(t *testing.T) passing {
			s := loaded(t, 2, 32, 6400)
			return s.replaced(func(b []byte) []byte {
				if b[14+8+15] == 1 {
					return over4(b)
				}
				return b
			})
		}, "--paths 8", "oooaonoooa", numbers{"traffic.ipv6_share": 0.5, "traffic.host_pairs": 2}, []string{"write flow labels for IPv6"}},
		{"lossy", func(t *testing.T) passing {
			data := 0
			return loaded(t, 1, 8, 4000).keep(func(_ int, b []byte) bool {
				if isData(b) {
					data++
				}
				return !isData(b) || data%100 != 50
			})
		}, "--paths 4", "oooaoaoaoa", numbers{"loss.lost_packets": 40, "loss.gaps": 40, "loss.resent_packets": 0, "loss.share": 0.0101}, []string{"PSNs that never came: 40; most of 2001:db8:0:1::1 to 2001:db8:0:2::1: 40"}},
		{"NAKs", func(t *testing.T) passing {
			acks := 0
			return loaded(t, 1, 8, 4000).each(func(_ int, b []byte) {
				if opcode(b) == roce.RCAck {
					if acks++; acks%100 == 0 {
						b[aethAt] = 0x60
					}
				}
			})
		}, "--paths 4", "oooaoaoaoa", numbers{"loss.naks": 10, "loss.receiver_not_ready": 0, "loss.lost_packets": 0}, []string{"NAKs (sequence): 10"}},
		{"receivers not ready", func(t *testing.T) passing {
			acks := 0
			return loaded(t, 1, 8, 4000).each(func(_ int, b []byte) {
				if opcode(b) == roce.RCAck {
					if acks++; acks%100 == 0 {
						b[aethAt] = 0x2e
					}
				}
			})
		}, "--paths 4", "oooaoaonoa", numbers{"loss.naks": 0, "loss.receiver_not_ready": 10}, []string{"NAKs (rnr): 10", "too few receive requests"}},
		{"time-outs", timedOut, "--paths 4", "oonooooaoo", numbers{"loss.timeouts": 2, "loss.resent_packets": 4}, []string{"time-outs of senders: 2"}},
		{"CE", func(t *testing.T) passing {
			data := 0
			return loaded(t, 1, 8, 4000).each(func(_ int, b []byte) {
				if isData(b) {
					if data++; data%10 == 0 {
						mark(b)
					}
				}
			})
		}, "--paths 4", "oooaoaaooa", numbers{"congestion.ce_packets": 400, "congestion.ect_packets": 5000, "congestion.ce_share": 0.08}, []string{"most of 2001:db8:0:1::1 to 2001:db8:0:2::1: 400"}},
		{"CNPs", func(t *testing.T) passing {
			s := loaded(t, 1, 8, 4000)
			return s.add(cnpFor(s[0].Data), cnpFor(s[0].Data), cnpFor(s[0].Data))
		}, "--paths 4", "oooaoanooa", numbers{"congestion.cnps": 3}, []string{"3 CNPs, most from 2001:db8:0:2::1 to 2001:db8:0:1::1: 3"}},
		{"PFC", func(t *testing.T) passing {
			return loaded(t, 1, 8, 4000).add(pause(1000, 7), pause(0, 7), pause(1000, 7), pause(1000, 8))
		}, "--paths 4", "oooaoaaooa", numbers{"congestion.pfc_pauses": 3, "congestion.pfc_resumes": 1}, []string{"3 pauses of PFC of priority 3, most from 02:00:00:00:00:07: 2"}},
		{"PFC alone", func(*testing.T) passing { return passing{}.add(pause(1000, 7), pause(0, 7)) }, "", "uau", numbers{"congestion.pfc_pauses": 1, "traffic.data_packets": 0}, []string{"no RoCEv2 data passed"}},
		{"ECN off", func(t *testing.T) passing {
			return loaded(t, 1, 8, 4000).each(func(_ int, b []byte) { b[tcAt+1] &^= 0x30 })
		}, "--paths 4", "oooaoanooa", numbers{"congestion.ect_packets": 0}, []string{"ECN is off at the senders"}},
		{"one direction", func(t *testing.T) passing {
			return loaded(t, 1, 64, 6400).keep(func(_ int, b []byte) bool { return isData(b) })
		}, "--paths 8", "onoaoaoooa", numbers{"direction.host_pairs_both": 0, "direction.host_pairs": 1}, []string{"one direction passed"}},
		{"answers alone", func(t *testing.T) passing {
			return loaded(t, 1, 64, 640).keep(func(_ int, b []byte) bool { return !isData(b) })
		}, "", "uu", numbers{"traffic.rocev2_packets": 160}, []string{"answers alone"}},
		{"sampled 1:1000", func(t *testing.T) passing {
			return loaded(t, 1, 64, 200000).keep(func(i int, _ []byte) bool { return i%997 == 0 })
		}, "--paths 8 --sampled 1000", "oonaoaouoa", numbers{"traffic.sampling_rate": 1000, "data.confidence": 0.5, "loss.gaps": 0, "paths8.placed": 1.23}, []string{"samples, one of 1000 packets", "PSNs are not judged"}},
		{"sampled, unsaid", func(t *testing.T) passing {
			return loaded(t, 1, 4, 200000).keep(func(i int, _ []byte) bool { return i%997 == 0 })
		}, "--paths 8", "oonaoaouoa", numbers{"traffic.sampling_rate": 1}, []string{"this looks sampled, about one of 967", "--sampled 967"}},
		{"sFlow", func(t *testing.T) passing {
			var all passing
			for i, p := range loaded(t, 1, 16, 20000) {
				if i%199 == 0 {
					all = all.add(sflowFrame(200, p.Data))
				}
			}
			return all
		}, "--paths 4", "oonaoaouoa", numbers{"traffic.sampling_rate": 200, "packets.samples": 126, "traffic.data_packets": 101}, []string{"PSNs are not judged"}},
		{"sFlow without packets", func(*testing.T) passing { return passing{}.add(sflowFrame(1000), sflowFrame(1000)) }, "", "uu", numbers{"traffic.packets": 2}, []string{"counters alone"}},
		{"mirrored", func(t *testing.T) passing { return loaded(t, 1, 64, 6400).replaced(mirrored) }, "--paths 8", "oooaoaoooa", numbers{"traffic.data_packets": 6400, "paths8.label": 1.5, "packets.tunnelled_packets": 0}, nil},
		{"cut at 64, IPv6", func(t *testing.T) passing { return cut(loaded(t, 1, 64, 640), 64) }, "", "uu", numbers{"traffic.rocev2_packets": 0}, []string{"800 cut (BTH: 800)", "tcpdump -s 192"}},
		{"cut at 64, IPv4", func(t *testing.T) passing { return cut(loaded(t, 1, 64, 6400).replaced(over4), 64) }, "--paths 8", "oooanoooa", numbers{"traffic.data_packets": 6400, "packets.cut_packets": 0}, nil},
		{"some are cut", func(t *testing.T) passing { return append(loaded(t, 1, 64, 6400), cut(loaded(t, 1, 64, 64), 60)...) }, "--paths 8", "oooaoaoona", numbers{"packets.cut_packets": 80, "packets.rocev2_packets": 8000}, []string{"80 cut"}},
		{"TCP alone", func(*testing.T) passing { return passing{}.add(tcp(9)...) }, "", "uu", numbers{"traffic.packets": 9}, []string{"9 other (TCP: 9)"}},
		{"RoCEv2 beside TCP", func(t *testing.T) passing { return loaded(t, 1, 64, 6400).add(tcp(9)...) }, "--paths 8", "oooaoaoooa", numbers{"packets.other_packets": 9}, []string{"9 other (TCP: 9)"}},
		{"RoCEv1", func(*testing.T) passing { return passing{}.add(plain(0x8915), plain(0x8915)) }, "", "uu", numbers{"traffic.packets": 2}, []string{"cma_roce_mode"}},
		{"50 packets", func(t *testing.T) passing { return loaded(t, 1, 4, 50) }, "--paths 4", "oonaoaooon", numbers{"data.confidence": 0, "data.packets_per_queue_pair": 12.5}, []string{"a hint, of few packets"}},
		{"500 packets", func(t *testing.T) passing { return loaded(t, 1, 16, 500) }, "--paths 4", "oonaoaoooa", numbers{"data.confidence": 0.5}, []string{"fair"}},
		{"datagrams", func(t *testing.T) passing { return loaded(t, 1, 64, 6400, datagrams) }, "--paths 8", "oooaoaoooa", numbers{"direction.host_pairs": 0, "paths8.label": 1.88}, []string{"datagrams alone"}},
		{"one queue pair", func(t *testing.T) passing { return loaded(t, 1, 1, 4000) }, "--paths 8", "oooooooooo", numbers{"paths8.now": 8, "paths8.floor": 8}, []string{"one queue pair has one path"}},
		{"one elephant", func(t *testing.T) passing {
			s := loaded(t, 1, 1, 4000)
			s = append(s, loaded(t, 1, 64, 640, func(c *traffic.Config) { c.Seed = 9 })...)
			return s
		}, "--paths 8 --switch linux", "oooaoaoooa", numbers{"paths8.floor": 6.9, "ports.queue_pair_bits": 1.402}, []string{"no choice of one path is below 6.90"}},
		{"many small", func(t *testing.T) passing {
			return loaded(t, 4, 1000, 4000, func(c *traffic.Config) { c.Datagram = true })
		}, "--paths 8", "oonaoaooon", numbers{"traffic.queue_pairs": 4000, "data.packets_per_queue_pair": 1, "paths8.label": 1.06}, []string{"a hint"}},
		{"an empty file", func(*testing.T) passing { return nil }, "", "uu", numbers{"traffic.packets": 0}, []string{"the file has no packets"}},
		{"one queue pair of many host pairs", func(t *testing.T) passing { return loaded(t, 64, 1, 6400, perQP) }, "--paths 8 --switch linux", "ooooonooon", numbers{"traffic.host_pairs": 64, "paths8.now": 1.38, "paths8.redirect": 1}, []string{"switch on placement"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"doctor", tt.packets(t).file(t)}, strings.Fields(tt.args)...)
			text, _ := good(t, args...)
			out, _ := good(t, append(args, "--json")...)
			levels, got := "", numbers{}
			for line := range strings.Lines(out) {
				var v doctor.Verdict
				if err := json.Unmarshal([]byte(line), &v); err != nil || v.Found == "" || v.Numbers == nil && v.Check != "answer" {
					t.Fatalf("%v: %s", err, line)
				}
				levels += string(v.Level)[:1]
				check := v.Check
				if check == "paths" {
					check += fmt.Sprint(v.Numbers["uplinks"])
				}
				for name, n := range v.Numbers {
					got[check+"."+name] = n
				}
			}
			for name := range got {
				if _, figure, _ := strings.Cut(name, "."); !bytes.Contains(page, []byte("`"+figure+"`")) {
					t.Errorf("docs/tool.md lacks %s", name)
				}
			}
			if levels != tt.levels {
				t.Errorf("levels %s, want %s", levels, tt.levels)
			}
			for name, want := range tt.numbers {
				if n, there := got[name]; !there || math.Abs(n-want) > 0.005 {
					t.Errorf("%s: %.3f (there %v), want %.3f", name, n, there, want)
				}
			}
			for _, has := range tt.has {
				if !strings.Contains(text, has) {
					t.Errorf("lacks %q", has)
				}
			}
			if t.Failed() {
				t.Logf("%v\n%s", got, text)
			}
		})
	}
}

// relabeled returns the packets as relabel writes them.
func relabeled(t *testing.T, s passing) passing {
	t.Helper()
	out := filepath.Join(t.TempDir(), "labelled.pcap")
	good(t, "relabel", s.file(t), out)
	for i, b := range frames(t, out) {
		s[i].Data = bytes.Clone(b)
	}
	return s
}

// cut cuts packets after so many octets.
func cut(s passing, octets int) passing {
	for i := range s {
		if n := len(s[i].Data); n > octets {
			s[i].Data, s[i].Length = s[i].Data[:octets], uint32(n)
		}
	}
	return s
}

// timedOut returns sessions one of which waits twice for an answer that does not come, and sends
// the last two packets again.
func timedOut(t *testing.T) passing {
	s := loaded(t, 1, 1, 400)
	var all passing
	late := uint32(0)
	for i, p := range s {
		p.Fraction += late
		all = append(all, p)
		if i == 200 || i == 300 { // 70 ms
			last := all.keep(func(_ int, b []byte) bool { return isData(b) })
			late += 70_000
			for _, again := range last[len(last)-2:] {
				again.Fraction = p.Fraction - (late - 70_000) + late
				all = append(all, again)
			}
		}
	}
	return all
}

// TestDoctorHasTheFiguresOfBalance: paths of both commands are equal, for each number of uplinks.
func TestDoctorHasTheFiguresOfBalance(t *testing.T) {
	for name, s := range map[string]passing{
		"one port": loaded(t, 1, 64, 6400), "ports": loaded(t, 4, 16, 6400, perQP), "IPv4": loaded(t, 2, 16, 3200, perQP).replaced(over4),
		"sFlow": passing{}.add(sflowFrame(1000, sampledPacket(t, 0x11, 1), sampledPacket(t, 0x12, 50)), sflowFrame(500, sampledPacket(t, 0x11, 700))),
	} {
		file := s.file(t)
		for _, r := range jsonLines(t, "doctor", file, "--paths", "2,4,12", "-o", "json") {
			if r["check"] != "paths" {
				continue
			}
			n := r["numbers"].(map[string]any)
			out, _ := good(t, "balance", file, "--placed", "--json", "--paths", fmt.Sprint(n["uplinks"]))
			var b balance
			if err := json.Unmarshal([]byte(out), &b); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"five_tuple": b.Spreads[0].WorstToMean, "now": b.Spreads[1].WorstToMean, "redirect": b.Redirect.WorstToMean, "redirect_rules": float64(b.Redirect.Rules), "redirect_floor": b.Redirect.Floor,
			}
			if b.Placed.Floor > 0 {
				want["label"], want["placed"], want["floor"] = b.Spreads[2].WorstToMean, b.Spreads[4].WorstToMean, b.Placed.Floor
			}
			for k, v := range want {
				if n[k] != v {
					t.Errorf("%s, %v uplinks: %s is %v, of balance %v", name, n["uplinks"], k, n[k], v)
				}
			}
		}
	}
}

func TestDoctorFailsOnALevel(t *testing.T) {
	act, note, fine := loaded(t, 1, 64, 6400).file(t), loaded(t, 1, 64, 6400, perQP).file(t), loaded(t, 1, 1, 4000).file(t)
	empty := passing{}.file(t)
	for _, tt := range []struct {
		args string
		want int
	}{
		{act, 0}, {act + " --fail-on never", 0}, {act + " --fail-on act", 4}, {act + " --fail-on note", 4}, {act + " --fail-on act --json", 4},
		{note + " --paths 8 --fail-on act", 0}, {note + " --paths 8 --fail-on note", 4}, {fine + " --fail-on note", 0},
		{empty + " --fail-on note", 4}, {empty + " --fail-on act", 0}, {act + " --fail-on ok", 1},
	} {
		if out, errs, code := sluice(nil, append([]string{"doctor"}, strings.Fields(tt.args)...)...); code != tt.want || code != 1 && (errs != "" || out == "") {
			t.Errorf("%s: exit code %d, want %d: %s", tt.args, code, tt.want, errs)
		}
	}
}

// TestDoctorsCommandsAreRight: each command of an answer is one that Sluice carries out.
func TestDoctorsCommandsAreRight(t *testing.T) {
	files := []string{
		loaded(t, 1, 64, 6400).file(t), loaded(t, 1, 64, 6400, perQP).file(t), loaded(t, 1, 64, 6400, perQP).replaced(over4).file(t),
		loaded(t, 1, 64, 6400).each(labelWith(func(uint32) uint32 { return 0x777 })).file(t),
	}
	seen := map[string]bool{}
	for i := range doctor.Switches {
		for _, file := range files {
			for _, r := range jsonLines(t, "doctor", file, "--json", "--switch", doctor.Switches[i].Name) {
				commands, _ := r["commands"].([]any)
				for _, c := range commands {
					seen[c.(string)] = true
				}
			}
		}
	}
	databasesOf(t, rows.Row{Table: "PORT", Key: "eth1", Fields: map[string]string{"lanes": "1"}}, rows.Row{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "2"}})
	sflow := 0
	for c := range seen {
		if c == "sudo config feature state sflow enabled" || c == "sudo config sflow enable" { // of SONiC
			sflow++
			continue
		}
		words := strings.Fields(strings.Replace(c, "sudo config sluice", "sluice config", 1))
		if _, errs, code := sluice(nil, words[1:]...); code != 0 || words[0] != "sluice" {
			t.Errorf("%s: exit code %d, %s", c, code, errs)
		}
	}
	if len(seen) < 8 || sflow != 2 {
		t.Errorf("%d commands, %d of sFlow: %v", len(seen), sflow, seen)
	}
}

func TestDoctorsFlagsAreChecked(t *testing.T) {
	file := loaded(t, 1, 1, 40).file(t)
	for args, want := range map[string]string{
		"--paths 0": "1 to 1024 are possible", "--paths 2000": "1 to 1024", "--paths 1,2,3,4,5,6,7,8,9": "1 to 8 numbers", "--sampled 0": "--sampled 0",
		"--switch sonic-201911": "sonic-202305", "--fail-on bad": "act",
	} {
		if _, errs, code := sluice(nil, append([]string{"doctor", file}, strings.Fields(args)...)...); code != 1 || !strings.Contains(errs, want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q, want %q", args, code, errs, want)
		}
	}
}
