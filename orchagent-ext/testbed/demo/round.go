// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sluice/orchagent-ext/cli/evenness"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
)

const (
	// outstanding is how many packets may be on their way: fewer than the kernel's queue
	// (net.core.netdev_max_backlog), so that each arrives. Bounds of a round of packets.
	outstanding = 256
	burst       = 64 // packets between two looks at the receiver

	// missing is how long to wait for a packet before it counts as lost.
	missing = 2 * time.Second
)

// A bench is the network with the traffic for it.
type bench struct {
	*fabric.LeafSpine
	generated, captured [][]byte
	files               int // that captured is of
}

// round sends all traffic once. The spread is that of the generated sessions, in
// packets that the leaf's uplinks counted; the verdict is on all packets.
func (b *bench) round(ctx context.Context, label func(*roce.Packet) uint32) (evenness.Spread, verdict, error) {
	total, err := b.send(ctx, b.captured, label)
	if err != nil {
		return evenness.Spread{}, total, err
	}
	before, err := b.sent()
	if err != nil {
		return evenness.Spread{}, total, err
	}
	v, err := b.send(ctx, b.generated, label)
	if err != nil {
		return evenness.Spread{}, total, err
	}
	total.add(v)
	loads, err := b.sent()
	if err != nil {
		return evenness.Spread{}, total, err
	}
	for i := range loads {
		loads[i] -= before[i]
	}
	return evenness.Of(loads), total, nil
}

// sent reads how many packets each uplink of the leaf has sent.
func (b *bench) sent() (packets []uint64, err error) {
	for _, u := range b.Uplinks {
		c, err := u.Counters()
		if err != nil {
			return nil, err
		}
		packets = append(packets, c.TxPackets)
	}
	return packets, nil
}

// send sends frames from host A and judges those that arrive at host B.
func (b *bench) send(ctx context.Context, frames [][]byte, label func(*roce.Packet) uint32) (verdict, error) {
	c, err := b.B.Capture()
	if err != nil {
		return verdict{}, err
	}
	sendErr := b.pace(ctx, c, frames)
	arrived, err := c.Stop()
	if err := errors.Join(sendErr, err); err != nil {
		return verdict{}, err
	}
	return judge(frames, label, arrived)
}

// pace sends frames as fast as they arrive, and waits for the last.
func (b *bench) pace(ctx context.Context, c *fabric.Capture, frames [][]byte) error {
	sender, err := b.A.Sender()
	if err != nil {
		return err
	}
	defer sender.Close()
	lost := 0
	await := func(n int) error {
		patience, cancel := context.WithTimeout(ctx, missing)
		defer cancel()
		err := c.Wait(patience, n-lost)
		if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			// judge counts them; the others must not wait for them
			lost, err = n-c.Len(), nil
		}
		return err
	}
	for i, frame := range frames {
		if i%burst == 0 {
			if err := await(i - outstanding); err != nil {
				return fmt.Errorf("behind packet %d of %d: %w", i, len(frames), err)
			}
		}
		if err := sender.Send(frame); err != nil {
			return err
		}
	}
	return await(len(frames))
}
