// SPDX-License-Identifier: Apache-2.0

package fabric_test

import (
	"context"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

// TestDelayedLinkTakesItsTimeAndKeepsTheOrder sends frames over a link of 10 ms each way,
// faster than one a delay, and back.
func TestDelayedLinkTakesItsTimeAndKeepsTheOrder(t *testing.T) {
	const delay, frames = 10 * time.Millisecond, 2000
	f := fabrictest.New(t)
	a, err := f.Node("a")
	fabrictest.Check(t, err)
	b, err := f.Node("b")
	fabrictest.Check(t, err)
	x, y, d, err := f.DelayedLink(a, "eth0", b, "eth0", delay)
	fabrictest.Check(t, err)
	for _, way := range [][2]*fabric.Interface{{x, y}, {y, x}} {
		from, to := way[0], way[1]
		c, err := to.Capture()
		if err != nil {
			t.Fatal(err)
		}
		sender, err := from.Sender()
		if err != nil {
			t.Fatal(err)
		}
		frame := slices.Concat(to.MAC, from.MAC, []byte{0x88, 0xb5}, make([]byte, 1000))
		sent := make([]time.Time, frames)
		for i := range frames {
			binary.BigEndian.PutUint32(frame[14:], uint32(i))
			sent[i] = time.Now()
			if err := sender.Send(frame); err != nil {
				t.Fatal(err)
			}
			time.Sleep(20 * time.Microsecond) // the pace, nothing is waited for
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err = c.Wait(ctx, frames)
		cancel()
		if err != nil {
			t.Fatalf("%v; dropped %d", err, d.Dropped.Load())
		}
		arrived, err := c.Stop()
		if err != nil {
			t.Fatal(err)
		}
		var took []time.Duration
		for i, got := range arrived {
			if n := binary.BigEndian.Uint32(got.Data[14:]); n != uint32(i) {
				t.Fatalf("frame %d came at place %d", n, i)
			}
			took = append(took, got.Time.Sub(sent[i]))
		}
		if first := slices.Min(took); first < delay {
			t.Errorf("a frame took %v, less than %v", first, delay)
		}
		slices.Sort(took)
		t.Logf("%d frames took p50 %v, p99 %v, at most %v", frames, took[frames/2], took[frames*99/100], took[frames-1])
		if err := sender.Close(); err != nil {
			t.Error(err)
		}
	}
}
