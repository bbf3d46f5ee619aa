// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// PFC as switches do it today, as the scenario's point of comparison: where the octets
// that wait at a switch's egress ports pass a mark, it pauses the priority towards
// everyone that it receives from, until they are below another.
const (
	xoff     = 2 * highMark
	xon      = 2 * lowMark
	pfcEvery = time.Millisecond
)

// pausePriority sends PFC frames out of the ports `to` while more than xoff octets wait at
// the ports `at`, until ctx ends. It returns how many frames it sent.
//
// paused reports whether this switch pauses those that it receives from; downstream,
// where it is not nil, whether it is paused itself: the packets that it receives then
// fill its buffers within milliseconds.
func pausePriority(ctx context.Context, at, to []*fabric.Interface, paused, downstream *atomic.Bool) (frames int, err error) {
	var senders []*fabric.Sender
	defer func() {
		for _, s := range senders {
			_ = s.Close()
		}
	}()
	var stop, resume [][]byte
	for _, port := range to {
		s, err := port.Sender()
		if err != nil {
			return 0, err
		}
		senders = append(senders, s)
		for list, quanta := range map[*[][]byte]uint16{&stop: notify.MaxQuanta, &resume: 0} {
			m := &notify.PFC{Enable: 1 << holdPriority}
			m.Quanta[holdPriority] = quanta
			e := notify.DefaultEnvelope(m.Kind())
			e.SrcMAC, e.DstMAC = roce.MAC(port.MAC), notify.PFCAddress
			frame, err := notify.AppendFrame(nil, m, &e, notify.DefaultCodePoints())
			if err != nil {
				return 0, fmt.Errorf("make a PFC frame: %w", err)
			}
			*list = append(*list, frame)
		}
	}
	send := func(list [][]byte) error {
		for i, s := range senders {
			if err := s.Send(list[i]); err != nil {
				return err
			}
			frames++
		}
		return nil
	}
	again := time.Time{}
	for {
		waiting := uint64(0)
		for _, port := range at {
			q, err := port.Queue()
			if err != nil {
				return frames, err
			}
			waiting = max(waiting, q.Octets)
		}
		now, stopped := time.Now(), downstream != nil && downstream.Load()
		switch {
		case paused.Load() && waiting < xon && !stopped:
			paused.Store(false)
			err = send(resume)
		case (waiting > xoff || stopped) && !paused.Load(), paused.Load() && now.After(again):
			// Repeated when half of the longest pause that a frame can carry has passed, at the
			// speed of the ports.
			paused.Store(true)
			again = now.Add(notify.QuantaDuration(notify.MaxQuanta, portMbps) / 2)
			err = send(stop)
		}
		if err != nil {
			return frames, err
		}
		if !clock.Sleep(ctx, pfcEvery) {
			if paused.Load() {
				err = send(resume)
			}
			return frames, err
		}
	}
}
