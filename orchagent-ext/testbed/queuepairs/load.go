// SPDX-License-Identifier: Apache-2.0

package queuepairs

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

const (
	// FirstQP is the destination queue pair of the first flow; the others have those after it.
	FirstQP = 0x6000

	payload = 256  // octets of each packet
	slots   = 8192 // packets of a turn of the load, by the weights of flows
)

// Frame returns a packet from host A of a shape to its host B: by IPv6 or IPv4, from a UDP
// source port, to a queue pair.
func Frame(a *fabric.Interface, v6 bool, port int, qp uint32) ([]byte, error) {
	e := roce.Ethernet{Dst: roce.MAC(a.Peer().MAC), Src: roce.MAC(a.MAC), EtherType: roce.EtherTypeIPv6}
	if !v6 {
		e.EtherType = roce.EtherTypeIPv4
	}
	b := e.Append(nil)
	ip := len(b)
	if v6 {
		b = roce.IPv6Header{NextHeader: 17, HopLimit: 64, Src: fabric.HostA.Addr().As16(), Dst: fabric.HostB.Addr().As16()}.Append(b)
	} else {
		b = roce.IPv4Header{Protocol: 17, TTL: 64, Src: fabric.HostA4.Addr().As4(), Dst: fabric.HostB4.Addr().As4()}.Append(b)
	}
	b = roce.UDPHeader{SrcPort: uint16(port), DstPort: roce.UDPPort}.Append(b)
	b = roce.BTH{Opcode: roce.RCWriteMiddle, PKey: 0xffff, DestQP: qp}.Append(b)
	return roce.Finish(append(b, make([]byte, payload)...), ip)
}

// Weights returns the shares of n flows by rank; their sum is 1.
func Weights(n int, of func(rank int) float64) []float64 {
	all, sum := make([]float64, n), 0.0
	for i := range all {
		all[i] = of(i)
		sum += all[i]
	}
	for i := range all {
		all[i] /= sum
	}
	return all
}

// Load sends until its end, in a goroutine of its own. A new one sends nothing.
type Load struct {
	rate   int // packets a second, of all flows
	sender *fabric.Sender
	frames [][]byte
	psn    []uint32
	slots  atomic.Pointer[[]int] // the flow of each packet, in turn, or nil
	pause  atomic.Bool
	sent   atomic.Uint64
	idle   atomic.Bool // idle
	stop   chan struct{}
	done   chan error
}

// Start opens a load of one flow for each source port, with a rate in packets a second, from
// host A of a shape. End it in the end.
func Start(a *fabric.Interface, v6 bool, rate int, ports []int) (*Load, error) {
	l := &Load{rate: rate, psn: make([]uint32, len(ports)), stop: make(chan struct{}), done: make(chan error, 1)}
	for i, port := range ports {
		frame, err := Frame(a, v6, port, uint32(FirstQP+i))
		if err != nil {
			return nil, err
		}
		l.frames = append(l.frames, frame)
	}
	var err error
	if l.sender, err = a.Sender(); err != nil {
		return nil, err
	}
	go func() { l.done <- l.run() }()
	return l, nil
}

// Send makes the load one of these shares; nil: none. It returns when the packets before are
// sent.
func (l *Load) Send(weights []float64) {
	if weights == nil {
		l.slots.Store(nil)
		for !l.idle.Load() {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(20 * time.Millisecond) // for the last ones to arrive
		return
	}
	turn := make([]int, 0, slots+len(weights))
	for i, w := range weights {
		for range int(w*slots + 0.5) {
			turn = append(turn, i)
		}
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a load is no secret
	random.Shuffle(len(turn), func(a, b int) { turn[a], turn[b] = turn[b], turn[a] })
	l.slots.Store(&turn)
}

// Pause sets whether each flow pauses 1.5 of each 3 seconds, at a time of its own.
func (l *Load) Pause(on bool) { l.pause.Store(on) }

// Sent returns how many packets were sent.
func (l *Load) Sent() uint64 { return l.sent.Load() }

// run sends, in small bursts at an even pace.
func (l *Load) run() error {
	const each = 500 * time.Microsecond
	began, at, turn := time.Now(), time.Now(), 0
	for {
		select {
		case <-l.stop:
			return nil
		default:
		}
		slots := l.slots.Load()
		l.idle.Store(slots == nil)
		if slots == nil {
			time.Sleep(each)
			at = time.Now()
			continue
		}
		now := time.Now()
		// more than that is not made up for
		due := min(int(now.Sub(at).Seconds()*float64(l.rate)), 200)
		if due < 1 {
			time.Sleep(each)
			continue
		}
		at = now
		phase := now.Sub(began).Seconds() / 3
		for range due {
			i := (*slots)[turn%len(*slots)]
			turn++
			if l.pause.Load() && fraction(phase+float64(i)*0.618) < 0.5 {
				continue
			}
			l.psn[i]++
			setPSN(l.frames[i], l.psn[i])
			if err := l.sender.Send(l.frames[i]); err != nil {
				return err
			}
			l.sent.Add(1)
		}
	}
}

// fraction returns v less its whole part; v is positive.
func fraction(v float64) float64 { return v - float64(int(v)) }

// bthAt is where the BTH of a frame begins.
func bthAt(frame []byte) int {
	if frame[12] == 0x86 {
		return 14 + 40 + 8
	}
	return 14 + 20 + 8
}

// setPSN writes the 24 bits of the packet's number. The ICRC keeps its old value; the
// receivers ignore it.
func setPSN(frame []byte, n uint32) {
	at := bthAt(frame) + 9
	frame[at], frame[at+1], frame[at+2] = byte(n>>16), byte(n>>8), byte(n)
}

// Failed returns why the load has ended by itself; nil while it runs.
func (l *Load) Failed() error {
	select {
	case err := <-l.done:
		l.done <- err
		return fmt.Errorf("the load ended: %w", err)
	default:
		return nil
	}
}

// End stops the sender and returns the first error of sending.
func (l *Load) End() error {
	close(l.stop)
	return errors.Join(<-l.done, l.sender.Close())
}
