// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/hold/watch"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// estimates reports whether flows that fill queues are estimated.
func (w wanted) estimates() bool {
	return w.Choices.Method(engine.NeedThreshold) == engine.Sampled
}

// watchConfig returns the queues whose depth is read, where packets of ports wait in them; nil:
// flows are not estimated.
func (w wanted) watchConfig(queues map[sai.ObjectID]flowcontrol.Queue, ports map[sai.ObjectID]*engine.Classes) *watch.Config {
	if !w.estimates() || w.Sampling == 0 {
		return nil
	}
	c := &watch.Config{Queues: queues, Room: map[sai.ObjectID]uint64{}, Ports: ports, Rate: w.Sampling}
	for id, q := range queues {
		if room := w.Thresholds[q.Name].Buffer; room != 0 {
			c.Room[id] = room
		}
	}
	return c
}

// classesOf returns the maps of ports by their objects.
func classesOf(ports []string, sw Ports) (map[sai.ObjectID]*engine.Classes, error) {
	known, err := sw.Classes(ports)
	all := make(map[sai.ObjectID]*engine.Classes, len(known))
	for name, c := range known {
		if id := sw.PortID(name); id != sai.Null {
			all[id] = c
		}
	}
	if err != nil {
		err = fmt.Errorf("read which queue packets wait in: %w", err)
	}
	return all, err
}

// limit leaves the queues that can be read, and PFCM off where estimates come too late for it. It
// returns warnings.
func (w wanted) limit(c *flowcontrol.Config, queues map[sai.ObjectID]flowcontrol.Queue) (warnings []string) {
	maps.DeleteFunc(queues, func(_ sai.ObjectID, q flowcontrol.Queue) bool {
		return !slices.Contains(w.Read, fmt.Sprintf("%s:%d", q.Name, q.Number))
	})
	if w.Unread > 0 {
		warnings = append(warnings, fmt.Sprintf("the depth of %d queues is read, and %d more have a threshold with sampling_rate: name fewer", sampled.MostQueues, w.Unread))
	}
	if why := w.unfit(queues); c.Generate && why != "" {
		c.Generate = false
		warnings = append(warnings, "PFCM is not sent, since flows are named too late by the method sampled: "+why)
	}
	return warnings
}

// named is within which time a flow is named that fills a queue, at p99.
const named = 150 * time.Millisecond

// unfit returns why a queue is too small for holds that come as late as estimates do; "": none is.
// A queue grows by the speed of its port where twice of that comes.
func (w wanted) unfit(queues map[sai.ObjectID]flowcontrol.Queue) string {
	for _, q := range queues {
		t := w.Thresholds[q.Name]
		if t.Buffer == 0 || t.SpeedMbps == 0 {
			return fmt.Sprintf("queue %d of %s: buffer_bytes of its threshold, or the speed of the port, is not known", q.Number, q.Name)
		}
		if why := sampled.Fits(t.SpeedMbps, named, t.Buffer); why != "" {
			return fmt.Sprintf("queue %d of %s: %s", q.Number, q.Name, why)
		}
	}
	return ""
}
