// SPDX-License-Identifier: Apache-2.0

package flow

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"testing"

	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/wire/roce"
)

// known is what the table knows of the source QP of a flow.
type known struct {
	qp   uint32
	from Provenance
}

// knows returns what the table knows of packets to a queue pair.
func knows(table *Table, destQP uint32) known {
	for f := range table.All() {
		if f.DestQP == destQP {
			qp, from := table.SrcQP(f)
			return known{qp, from}
		}
	}
	return known{}
}

// feed observes every RoCEv2 packet of a capture.
func feed(t *testing.T, table *Table, name string) {
	t.Helper()
	file, err := os.Open("../../../tests/captures/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var p roce.Packet
	for {
		f, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if p.Parse(f, len(f)) == nil {
			table.Observe(&p, info.Timestamp.UnixNano())
		}
	}
}

//conformance:draft-hu/qp-pair
func TestCapturesTeachTheQueuePairs(t *testing.T) {
	for name, want := range map[string]map[uint32]known{
		"cm-rc-write-read-ipv4.pcap":    {0x11: {0x17, CM}, 0x17: {0x11, CM}},
		"rc-send-ipv4.pcap":             {0x45: {0x48, Ack}, 0x48: {0x45, Ack}},
		"cnp-uc-icrc-vectors-ipv4.pcap": {0x118: {}, 0xd3: {}}, // one packet each proves nothing
	} {
		told := map[uint32]uint32{}
		table := NewTable(Config{Learned: func(src, dst netip.Addr, destQP, srcQP uint32) {
			told[destQP] = srcQP
			if !src.Is4() || !dst.Is4() || src == dst {
				t.Errorf("%s: learned of %s > %s", name, src, dst)
			}
		}})
		feed(t, table, name)
		for destQP, k := range want {
			if told[destQP] != k.qp {
				t.Errorf("%s: told that QP %#x is sent to from QP %#x, want %#x", name, destQP, told[destQP], k.qp)
			}
			if got := knows(table, destQP); got != k {
				t.Errorf("%s: to QP %#x from QP %#x (%q), want %#x (%q)", name, destQP, got.qp, got.from, k.qp, k.from)
			}
		}
	}
}

// conversation drives a table by hand: host 1 asks, host 2 answers.
type conversation struct {
	t     *testing.T
	table *Table
	now   int64
}

func newConversation(t *testing.T) *conversation {
	return &conversation{t: t, table: NewTable(Config{Capacity: 64})}
}

func (c *conversation) packet(src, dst uint16, h roce.BTH, rest []byte) {
	c.now++
	observe(c.t, c.table, frame(c.t, src, dst, h, rest), c.now)
}

// ask sends a request to queue pair qp.
func (c *conversation) ask(qp, psn uint32) {
	c.packet(1, 2, roce.BTH{Opcode: roce.RCSendOnly, DestQP: qp, PSN: psn}, nil)
}

// answer sends an acknowledgement to queue pair qp.
func (c *conversation) answer(qp, psn uint32) {
	c.packet(2, 1, roce.BTH{Opcode: roce.RCAck, DestQP: qp, PSN: psn}, roce.AETH{}.Append(nil))
}

func (c *conversation) want(destQP, srcQP uint32, from Provenance) {
	c.t.Helper()
	if got := knows(c.table, destQP); got != (known{srcQP, from}) {
		c.t.Errorf("to QP %d from QP %d (%q), want %d (%q)", destQP, got.qp, got.from, srcQP, from)
	}
}

func TestThreeAnswersProve(t *testing.T) {
	c := newConversation(t)
	for psn := range uint32(3) {
		c.want(20, 0, None)
		c.ask(20, psn)
		c.answer(10, psn)
	}
	c.want(20, 10, Ack)
	c.want(10, 20, Ack) // a connection joins two queue pairs
}

// One lost packet makes no sample of a connection: answers behind it count in full.
func TestAnswersBehindALostRequestCountInFull(t *testing.T) {
	c := newConversation(t)
	for _, psn := range []uint32{1, 11, 21} { // that before it is lost
		c.want(20, 0, None)
		c.ask(20, psn)
		c.ask(20, psn+1)
		c.ask(20, psn+3)
		c.answer(10, psn+3)
	}
	c.want(20, 10, Ack)
}

func TestAVoteIsWorthARoundTrip(t *testing.T) {
	c := newConversation(t)
	for psn := range uint32(10) {
		c.ask(20, psn)
	}
	for psn := range uint32(10) {
		c.answer(10, psn) // all of them were on their way at once
	}
	c.want(20, 0, None)
	for psn := uint32(10); psn < 12; psn++ {
		c.ask(20, psn)
		c.answer(10, psn)
	}
	c.want(20, 10, Ack)
}

func TestTheSameAnswerTwiceIsOne(t *testing.T) {
	c := newConversation(t)
	c.ask(20, 5)
	for range 5 {
		c.answer(10, 5)
	}
	c.want(20, 0, None)
}

func TestAnswersThatProveNothing(t *testing.T) {
	for name, answer := range map[string]func(c *conversation, psn uint32){
		"ahead of what was sent": func(c *conversation, psn uint32) { c.answer(10, psn+1) },
		"before what was sent":   func(c *conversation, psn uint32) { c.answer(10, psn-200) },
		"far away":               func(c *conversation, psn uint32) { c.answer(10, psn+1<<20) },
		"NAK": func(c *conversation, psn uint32) {
			c.packet(2, 1, roce.BTH{Opcode: roce.RCAck, DestQP: 10, PSN: psn}, roce.AETH{Syndrome: 0x60}.Append(nil))
		},
		"RNR NAK": func(c *conversation, psn uint32) {
			c.packet(2, 1, roce.BTH{Opcode: roce.RCAck, DestQP: 10, PSN: psn}, roce.AETH{Syndrome: 0x20}.Append(nil))
		},
		"CNP": func(c *conversation, psn uint32) {
			c.packet(2, 1, roce.BTH{Opcode: roce.CNP, DestQP: 10, PSN: psn}, make([]byte, 16))
		},
		"last of a read response": func(c *conversation, psn uint32) {
			c.packet(2, 1, roce.BTH{Opcode: roce.RCReadResponseLast, DestQP: 10, PSN: psn}, roce.AETH{}.Append(nil))
		},
		"from another host": func(c *conversation, psn uint32) {
			c.packet(3, 1, roce.BTH{Opcode: roce.RCAck, DestQP: 10, PSN: psn}, roce.AETH{}.Append(nil))
		},
		"to another host": func(c *conversation, psn uint32) {
			c.packet(2, 3, roce.BTH{Opcode: roce.RCAck, DestQP: 10, PSN: psn}, roce.AETH{}.Append(nil))
		},
		"in the wrong direction": func(c *conversation, psn uint32) {
			c.packet(1, 2, roce.BTH{Opcode: roce.RCAck, DestQP: 10, PSN: psn}, roce.AETH{}.Append(nil))
		},
		"each from another queue pair": func(c *conversation, psn uint32) { c.answer(10+psn, psn) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newConversation(t)
			for psn := uint32(1000); psn < 1100; psn++ {
				c.ask(20, psn)
				answer(c, psn)
			}
			c.want(20, 0, None)
		})
	}
}

func TestAnswersOfEveryKind(t *testing.T) {
	for _, tt := range []struct {
		request, answer roce.Opcode
		proves          bool
	}{
		{roce.RCSendOnly, roce.RCAck, true},
		{roce.RCFetchAdd, roce.RCAtomicAck, true},
		{roce.RCReadRequest, roce.RCReadResponseFirst, true},
		{roce.RCFlush, roce.RCReadResponseOnly, true},
		{roce.XRCSendOnly, roce.XRCAck, true},
		{roce.RCSendOnly, roce.RCReadResponseOnly, false},
		{roce.RCReadRequest, roce.RCAck, false},
		{roce.RCCompareSwap, roce.RCAck, false},
	} {
		c := newConversation(t)
		for psn := range uint32(3) {
			c.packet(1, 2, roce.BTH{Opcode: tt.request, DestQP: 20, PSN: psn}, make([]byte, 32))
			c.packet(2, 1, roce.BTH{Opcode: tt.answer, DestQP: 10, PSN: psn}, append(roce.AETH{}.Append(nil), make([]byte, 8)...))
		}
		want := known{}
		if tt.proves {
			want = known{10, Ack}
		}
		if got := knows(c.table, 20); got != want {
			t.Errorf("%v answered by %v: %+v, want %+v", tt.request, tt.answer, got, want)
		}
	}
}

func TestPSNsThatCouldBeOfTwoConnections(t *testing.T) {
	c := newConversation(t)
	for psn := range uint32(50) {
		if psn%8 != 0 {
			c.ask(20, psn) // loses packets here, so that those up to the other's may be lost
		}
		c.ask(21, psn+900)
		c.answer(10, psn)
		c.answer(11, psn+900)
	}
	c.want(20, 0, None)
	c.want(21, 0, None)
	for psn := uint32(50); psn < 60; psn++ { // far away by now
		c.ask(20, psn)
		c.ask(21, psn+5000)
		c.answer(10, psn)
	}
	for psn := uint32(60); psn < 500; psn++ {
		c.ask(20, psn)
		c.answer(10, psn)
	}
	c.want(20, 10, Ack)
}

func TestContradictionEndsLearning(t *testing.T) {
	c := newConversation(t)
	for psn := range uint32(3) {
		c.ask(20, psn)
		c.answer(10, psn)
	}
	c.want(20, 10, Ack)
	c.ask(20, 3)
	c.answer(11, 3) // of a connection whose requests take another way
	c.want(20, 0, None)
	c.want(10, 0, None)
	for psn := uint32(4); psn < 100; psn++ {
		c.ask(20, psn)
		c.answer(10, psn)
	}
	c.want(20, 0, None)
	if s := c.table.Stats(); s.Withdrawn != 2 {
		t.Errorf("withdrawn %d, want both directions", s.Withdrawn)
	}
}

func TestPSNsWrap(t *testing.T) {
	c := newConversation(t)
	for i := range uint32(3000) {
		psn := (0xfffa00 + i) & 0xffffff
		c.ask(20, psn)
		if i > 2900 {
			c.answer(10, psn)
		}
	}
	c.want(20, 10, Ack)
}

// connect exchanges REQ and REP between host 1 and host 2.
func (c *conversation) connect(id, qp1, qp2 uint32) {
	c.cm(1, 2, roce.CM{Attribute: roce.CMReq, LocalCommID: id, LocalQPN: qp1})
	c.cm(2, 1, roce.CM{Attribute: roce.CMRep, LocalCommID: id + 1000, RemoteCommID: id, LocalQPN: qp2})
}

func (c *conversation) cm(src, dst uint16, m roce.CM) {
	c.packet(src, dst, roce.BTH{Opcode: roce.UDSendOnly, DestQP: 1}, m.Append(nil))
}

func TestConnectionManagement(t *testing.T) {
	c := newConversation(t)
	c.connect(1, 10, 20)
	c.ask(20, 0)
	c.answer(10, 0)
	c.want(20, 10, CM)
	c.want(10, 20, CM)
	// What CM said has priority over answers.
	for psn := uint32(1); psn < 10; psn++ {
		c.ask(20, psn)
		c.answer(11, psn)
	}
	c.want(20, 10, CM)
	c.want(11, 0, None)

	c.cm(1, 2, roce.CM{Attribute: roce.CMDreq, LocalCommID: 1, RemoteCommID: 1001, RemoteQPN: 20})
	c.answer(10, 9)
	c.want(20, 10, CM) // closed, and still shown
	c.want(10, 20, CM)
	c.ask(20, 500) // used again, by an unknown peer
	c.want(20, 0, None)
	c.connect(2, 12, 20)
	c.ask(20, 600)
	c.want(20, 12, CM)
}

func TestConnectionManagementThatDoesNotFit(t *testing.T) {
	c := newConversation(t)
	c.cm(2, 1, roce.CM{Attribute: roce.CMRep, RemoteCommID: 1, LocalQPN: 20}) // no REQ
	c.cm(1, 2, roce.CM{Attribute: roce.CMReq, LocalCommID: 2, LocalQPN: 10})
	c.cm(3, 1, roce.CM{Attribute: roce.CMRep, RemoteCommID: 2, LocalQPN: 21}) // of another host
	c.cm(2, 1, roce.CM{Attribute: roce.CMRep, RemoteCommID: 3, LocalQPN: 22}) // to another id
	c.now += requestLifetimeNs
	c.cm(2, 1, roce.CM{Attribute: roce.CMRep, RemoteCommID: 2, LocalQPN: 23}) // too late
	c.cm(1, 2, roce.CM{Attribute: roce.CMDreq, RemoteQPN: 99})                // of no known queue pair
	for qp := uint32(20); qp < 24; qp++ {
		c.ask(qp, 0)
		c.want(qp, 0, None)
	}
	if s := c.table.Stats(); s.CMWithoutReq != 3 || s.CMExpired != 1 {
		t.Errorf("%+v", s)
	}
}

// TestHostsConnectManyQueuePairsAtOnce: a job's connections are requested together, a round trip
// before the first reply. Before, two of 32 shared a place in 4 runs of 10, and one was lost.
func TestHostsConnectManyQueuePairsAtOnce(t *testing.T) {
	for range 20 { // each with another secret
		c := &conversation{t: t, table: NewTable(Config{Capacity: 4096})}
		const connections = 1000
		for i := range uint32(connections) {
			c.cm(1, 2, roce.CM{Attribute: roce.CMReq, LocalCommID: 1 + i, LocalQPN: 10_000 + i})
		}
		for i := range uint32(connections) {
			c.cm(2, 1, roce.CM{Attribute: roce.CMRep, LocalCommID: 5000 + i, RemoteCommID: 1 + i, LocalQPN: 20_000 + i})
		}
		if s := c.table.Stats(); s.CMWithoutReq != 0 || s.LearnedCM != 2*connections {
			t.Errorf("%d replies without request; %d directions learned, want %d", s.CMWithoutReq, s.LearnedCM, 2*connections)
		}
	}
}

// TestRequestIsSentAgain: it takes the place of the first one, and the reply to it counts once.
func TestRequestIsSentAgain(t *testing.T) {
	c := newConversation(t)
	for range 2 * requestWays {
		c.cm(1, 2, roce.CM{Attribute: roce.CMReq, LocalCommID: 1, LocalQPN: 10})
	}
	c.connect(1, 11, 20)
	c.ask(20, 0)
	c.want(20, 11, CM)
}

// TestOneOfManyIsLearnedFromItsAnswers: 31 connections that RDMA-CM announced and one that it did
// not, in lockstep from PSN 0.
func TestOneOfManyIsLearnedFromItsAnswers(t *testing.T) {
	c := newConversation(t)
	for i := range uint32(31) {
		c.connect(1+i, 100+i, 200+i)
	}
	for psn := range uint32(100) {
		for i := range uint32(32) {
			c.ask(200+i, psn)
		}
		for i := range uint32(32) {
			c.answer(100+i, psn)
		}
	}
	c.want(231, 131, Ack)
}

func TestConnectionsOutliveTheirFlows(t *testing.T) {
	c := newConversation(t)
	c.connect(1, 10, 20)
	c.ask(20, 0)
	c.table.Expire(1e12, 1, 1000)
	c.ask(20, 1)
	c.want(20, 10, CM)
}

// TestFloodOfConnections: a host that floods the switch with CM messages gets no
// more memory than was set aside.
func TestFloodOfConnections(t *testing.T) {
	c := newConversation(t)
	for i := range uint32(5000) {
		c.connect(i, 2*i+2, 2*i+3)
		if i%7 == 0 {
			c.ask(2*i+3, 0)
		}
	}
	if used := int(c.table.learner.used) - len(c.table.learner.free); used > 64+minKept+1 {
		t.Errorf("%d pairs", used)
	}
}

func FuzzObserve(f *testing.F) {
	var c roce.CM
	for _, h := range []roce.BTH{{Opcode: roce.RCSendOnly, DestQP: 5}, {Opcode: roce.RCAck, DestQP: 6}, {Opcode: roce.UDSendOnly, DestQP: 1}} {
		f.Add(frame(f, 1, 2, h, c.Append(nil)), frame(f, 2, 1, h, roce.AETH{}.Append(nil)))
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		table := NewTable(Config{Capacity: 4})
		var p roce.Packet
		for now := range int64(40) {
			b := one
			if now%2 == 1 {
				b = two
			}
			if err := p.Parse(b, len(b)); err != nil {
				continue
			}
			f := table.Observe(&p, now)
			if f.Key != KeyOf(&p) || table.Len() > 4 {
				t.Fatalf("%v, %d flows", f.Key, table.Len())
			}
			if label := table.Label(f, DraftLiteral); label == 0 || label > 0xfffff {
				t.Fatalf("label %#x", label)
			}
			for _, b := range [][]byte{one, two} { // other PSNs and queue pairs
				if len(b) > 0 {
					b[int(now)*7%len(b)]++
				}
			}
			if now%9 == 0 {
				table.Expire(now, 5, 10)
			}
		}
	})
}
