// SPDX-License-Identifier: Apache-2.0

package traffic

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"sluice/orchagent-ext/wire/roce"
)

// Config describes the traffic that [Generate] makes.
type Config struct {
	Pairs    int  // host pairs
	QPs      int  // queue pairs of each host pair
	Packets  int  // data packets in all, beside acknowledgements and CM
	Payload  int  // octets of payload a packet, a multiple of 4
	Datagram bool // UD instead of RC

	// SportPerQP: UDP source port from the QPs, as Linux and mlx5 do, instead of one for all
	SportPerQP bool
	RandomPSN  bool // each QP starts at a random PSN, instead of 0 as NCCL's do
	CM         bool // RC: connections are made and ended by RDMA-CM

	Seed  uint64
	Start time.Time
}

// Limits of a [Config]: host pairs have an address suffix of 16 bits, and the
// QPNs of a host 24.
const (
	maxPairs   = 1<<16 - 1
	maxQPs     = 1 << 20
	maxPayload = 4096 // the largest path MTU of RoCE
)

// Validate returns the first error of the configuration, or nil.
func (c Config) Validate() error {
	switch {
	case c.Pairs < 1 || c.Pairs > maxPairs:
		return fmt.Errorf("%d host pairs: 1 to %d are possible", c.Pairs, maxPairs)
	case c.QPs < 1 || c.QPs > maxQPs:
		return fmt.Errorf("%d queue pairs: 1 to %d are possible", c.QPs, maxQPs)
	case c.Packets < 1:
		return fmt.Errorf("%d packets: at least 1 is needed", c.Packets)
	case c.Payload < 0 || c.Payload > maxPayload || c.Payload%4 != 0:
		return fmt.Errorf("payload of %d octets: a multiple of 4 up to %d is possible", c.Payload, maxPayload)
	case c.CM && c.Datagram:
		return fmt.Errorf("RDMA-CM connects RC queue pairs, not UD ones")
	}
	return nil
}

// Parameters of generated traffic. One source port for all flows makes them equal to a
// hash of the 5-tuple, so that labels alone spread them.
const (
	constantSport = 0xc000
	cmSport       = 0xc001
	messageLength = 4 // packets of an RDMA write
	// ackDelay: data packets of other queue pairs before an acknowledgment comes
	ackDelay     = 8
	spacing      = time.Microsecond
	pkey         = 0xffff
	qkey         = 0x11111111
	trafficClass = 26<<2 | 2 // DSCP 26, ECT(0)
	hopLimit     = 64
)

// qp is one end-to-end session: a queue pair of host A and one of host B.
type qp struct {
	pair         int
	a, b         uint32 // QPN
	psn          uint32
	start        uint32 // first PSN
	msn          uint32
	sport, rport uint16 // of A's packets, of B's packets
}

// generator holds the state of one Generate call.
type generator struct {
	Config
	emit func(time.Time, []byte) error
	now  time.Time
	qps  []qp
	sent int // data packets
	acks []ack
	buf  []byte
}

// ack is an acknowledgement that is due.
type ack struct {
	due int // when so many data packets were sent
	qp  *qp
	psn uint32
}

// Generate makes traffic and hands it to emit, frame by frame with its time.
// The frame is reused: emit must not keep it.
//
// Of each host pair, host A is 2001:db8:0:1::n and host B 2001:db8:0:2::n. QPNs
// are sequential from a random start, as adapters allocate them. A sends RDMA
// writes of 4 packets, the queue pairs taking turns in a new random order each
// round; B acknowledges the last packet of each. UD sends single datagrams.
func Generate(c Config, emit func(at time.Time, frame []byte) error) error {
	if err := c.Validate(); err != nil {
		return err
	}
	g := &generator{Config: c, emit: emit, now: c.Start}
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	g.connect(rng)
	if c.CM {
		if err := g.setUp(); err != nil {
			return err
		}
	}
	order := rng.Perm(len(g.qps))
	for g.sent < c.Packets {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, i := range order {
			if g.sent == c.Packets {
				break
			}
			if err := g.message(&g.qps[i]); err != nil {
				return err
			}
		}
	}
	if err := g.acknowledge(0); err != nil {
		return err
	}
	if c.CM {
		return g.tearDown()
	}
	return nil
}

// connect makes the queue pairs of all host pairs, with sequential numbers from a random
// start, as adapters allot them.
func (g *generator) connect(rng *rand.Rand) {
	for pair := range g.Pairs {
		// QPNs 0 and 1 are reserved.
		a, b := 2+rng.Uint32N(1<<24-maxQPs-2), 2+rng.Uint32N(1<<24-maxQPs-2)
		for i := range uint32(g.QPs) {
			q := qp{pair: pair, a: a + i, b: b + i, sport: constantSport, rport: constantSport}
			if g.RandomPSN {
				q.start = rng.Uint32N(1 << 24)
			}
			q.psn = q.start
			if g.SportPerQP {
				q.sport, q.rport = roce.LinuxSourcePort(q.a, q.b), roce.LinuxSourcePort(q.b, q.a)
			}
			g.qps = append(g.qps, q)
		}
	}
}

// message sends one RDMA write, or one datagram.
func (g *generator) message(q *qp) error {
	length := min(messageLength, g.Packets-g.sent)
	if g.Datagram {
		length = 1
	}
	q.msn++
	for i := range length {
		last := i == length-1
		body := g.begin(q, true, q.sport)
		h := roce.BTH{Opcode: writeOpcode(i, length), PKey: pkey, DestQP: q.b, PSN: q.psn, AckReq: last}
		if g.Datagram {
			h.Opcode, h.AckReq = roce.UDSendOnly, false
			body = roce.DETH{QKey: qkey, SrcQP: q.a}.Append(h.Append(body))
		} else if body = h.Append(body); i == 0 {
			body = roce.RETH{VA: 1 << 32, RKey: q.b, Length: uint32(length * g.Payload)}.Append(body)
		}
		if err := g.finish(g.payload(body, q)); err != nil {
			return err
		}
		g.sent++
		if last && !g.Datagram {
			g.acks = append(g.acks, ack{g.sent + ackDelay, q, q.psn})
		}
		q.psn = (q.psn + 1) & 0xffffff
		if err := g.acknowledge(g.sent); err != nil {
			return err
		}
	}
	return nil
}

// writeOpcode returns the opcode of packet i of an RDMA write of so many packets.
func writeOpcode(i, length int) roce.Opcode {
	switch {
	case length == 1:
		return roce.RCWriteOnly
	case i == 0:
		return roce.RCWriteFirst
	case i == length-1:
		return roce.RCWriteLast
	}
	return roce.RCWriteMiddle
}

// payload appends octets that differ from packet to packet.
func (g *generator) payload(b []byte, q *qp) []byte {
	for i := 0; i < g.Payload; i += 4 {
		b = binary.BigEndian.AppendUint32(b, q.a<<8^q.psn+uint32(i))
	}
	return b
}

// acknowledge sends the acknowledgements that are due when sent data packets
// have gone out; with 0, all that are left.
func (g *generator) acknowledge(sent int) error {
	for len(g.acks) > 0 && (sent == 0 || g.acks[0].due <= sent) {
		a := g.acks[0]
		g.acks = g.acks[1:]
		b := g.begin(a.qp, false, a.qp.rport)
		b = roce.BTH{Opcode: roce.RCAck, PKey: pkey, DestQP: a.qp.a, PSN: a.psn}.Append(b)
		b = roce.AETH{Syndrome: 0x1f, MSN: a.qp.msn & 0xffffff}.Append(b)
		if err := g.finish(b); err != nil {
			return err
		}
	}
	return nil
}

// begin starts a frame from A to B, or back, up to the UDP header.
func (g *generator) begin(q *qp, forward bool, sport uint16) []byte {
	src, dst := hostAddr(1, q.pair), hostAddr(2, q.pair)
	eth := roce.Ethernet{Dst: roce.MAC{2, 0, 0, 2, byte(q.pair >> 8), byte(q.pair)}, Src: roce.MAC{2, 0, 0, 1, byte(q.pair >> 8), byte(q.pair)}, EtherType: roce.EtherTypeIPv6}
	if !forward {
		src, dst, eth.Src, eth.Dst = dst, src, eth.Dst, eth.Src
	}
	b := eth.Append(g.buf[:0])
	b = roce.IPv6Header{TrafficClass: trafficClass, NextHeader: 17, HopLimit: hopLimit, Src: src, Dst: dst}.Append(b)
	return roce.UDPHeader{SrcPort: sport, DstPort: roce.UDPPort}.Append(b)
}

// ethernetLen is the length of an Ethernet header without tags.
const ethernetLen = 14

// finish completes a packet, passes it to emit, and advances the clock.
func (g *generator) finish(b []byte) error {
	b, err := roce.Finish(b, ethernetLen)
	if err != nil {
		return err
	}
	g.buf = b
	err = g.emit(g.now, b)
	g.now = g.now.Add(spacing)
	return err
}

// hostAddr is 2001:db8:0:side::(pair + 1).
func hostAddr(side byte, pair int) [16]byte {
	return [16]byte{0x20, 0x01, 0x0d, 0xb8, 7: side, 14: byte((pair + 1) >> 8), 15: byte(pair + 1)}
}
