// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// configured is a watch of a switch whose queues are healthy: what leaves them is counted.
type configured struct {
	t       testing.TB
	flows   *Flows
	clocks  clocks
	packets uint64 // that left each queue
	still   bool   // counters stand still
	samples uint64
}

func newConfigured(t testing.TB) *configured {
	t.Helper()
	c := &configured{t: t, clocks: clocks{}}
	var err error
	c.flows, err = New(func(_ context.Context, queues []sai.ObjectID) []Depth {
		if !c.still {
			c.packets++
		}
		all := make([]Depth, len(queues))
		for i := range all {
			all[i] = Depth{Reading: sampled.Reading{Packets: c.packets}}
		}
		return all
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.flows.Close() })
	return c
}

// watch watches queue 0 and queue 1, or one of them, or none.
func (c *configured) watch(queues ...uint8) {
	if len(queues) == 0 {
		c.flows.Configure(nil)
		return
	}
	is := &Config{Queues: map[sai.ObjectID]flowcontrol.Queue{}, Rate: rate, Ports: map[sai.ObjectID]*engine.Classes{port: classes()}}
	for _, q := range queues {
		is.Queues[first+sai.ObjectID(q)] = flowcontrol.Queue{Port: port, Number: q}
	}
	c.flows.Configure(is)
}

// round has samples come to both queues, and reads them once.
func (c *configured) round(samples int) {
	for range samples {
		c.samples++
		c.flows.Sample(packet(1, 0))
		c.flows.Sample(packet(2, 1))
	}
	for len(c.flows.samples) > 0 {
		<-c.flows.samples
	}
	c.flows.reader.round(c.t.Context(), c.flows.settings.Load(), c.clocks)
	for len(c.flows.reader.readings) > 0 {
		<-c.flows.reader.readings
	}
}

// healthy fails where a reason is another one than counters that stand still, or has more samples than came.
func (c *configured) healthy(when string) {
	why := c.flows.Unproven()
	var readings int
	var samples uint64
	_, after, found := strings.Cut(why, "stood still for ")
	if _, err := fmt.Sscanf(after, "%d readings, while %d samples", &readings, &samples); why != "" && (!found || err != nil) {
		c.t.Fatalf("%s: %s", when, why)
	}
	if samples > c.samples {
		c.t.Fatalf("%s: %d samples came, and: %s", when, c.samples, why)
	}
}

// TestQueueThatIsWatchedAgainIsHealthy: of thresholds on two queues one is deleted, and set again. Its
// samples are counted from 0 again.
func TestQueueThatIsWatchedAgainIsHealthy(t *testing.T) {
	for _, meanwhile := range []bool{false, true} {
		c := newConfigured(t)
		c.watch(0, 1)
		for range 20 {
			c.round(100)
		}
		c.watch(0)
		if meanwhile {
			c.round(1)
		}
		c.watch(0, 1)
		c.still = true // an idle queue
		for range 20 {
			c.round(0)
		}
		c.still = false
		if c.healthy("watched again"); c.flows.Unproven() != "" {
			t.Errorf("a reading between is %v: %s", meanwhile, c.flows.Unproven())
		}
	}
}

// FuzzConfigure changes the queues that are watched between readings, in any order: no reason
// counts more samples than came.
func FuzzConfigure(f *testing.F) {
	f.Add([]byte{3, 0x64, 0x64, 1, 3, 0x80, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40, 0x40})
	f.Add([]byte{3, 0x7c, 0x7c, 0, 0x40, 1, 0x48, 2, 0x48, 3, 0x60})
	f.Fuzz(func(t *testing.T, steps []byte) {
		c := newConfigured(t)
		for i, step := range steps[:min(len(steps), 200)] {
			if step&0x80 != 0 {
				c.still = !c.still
				continue
			}
			if step&0x40 == 0 {
				c.watch([][]uint8{nil, {0}, {1}, {0, 1}}[step&3]...)
				continue
			}
			c.round(int(step & 0x3f))
			c.healthy(fmt.Sprint("step ", i))
		}
	})
}
