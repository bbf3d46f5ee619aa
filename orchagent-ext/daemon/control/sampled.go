// SPDX-License-Identifier: Apache-2.0

package control

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/sampled"
	"sluice/orchagent-ext/hold/watch"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// estimates reports whether flows that fill queues are estimated.
func (s Settings) estimates() bool {
	return s.Choices.Method(engine.NeedThreshold) == engine.Sampled
}

// watchConfig returns the queues whose depth is read, where packets of ports wait in them; nil:
// flows are not estimated.
func (s Settings) watchConfig(queues map[sai.ObjectID]flowcontrol.Queue, ports map[sai.ObjectID]*engine.Classes) *watch.Config {
	if !s.estimates() || s.Sampling == 0 {
		return nil
	}
	c := &watch.Config{Queues: queues, Room: map[sai.ObjectID]uint64{}, Ports: ports, Rate: s.Sampling}
	for id, q := range queues {
		if t := s.threshold(q.Name); t != nil && t.BufferBytes != nil {
			c.Room[id] = *t.BufferBytes
		}
	}
	return c
}

// threshold returns the row of a port; nil: it has none.
func (s Settings) threshold(port string) *config.Threshold {
	return s.Snapshot.Thresholds[policy.Value(s.Snapshot.Resolve()[port].Threshold)]
}

// classesOf returns the maps of ports by their objects.
func classesOf(s *config.Snapshot, sw Ports) (map[sai.ObjectID]*engine.Classes, error) {
	var names []string
	for _, p := range policy.Ports(s) {
		names = append(names, p.Name)
	}
	known, err := sw.Classes(names)
	all := make(map[sai.ObjectID]*engine.Classes, len(known))
	for name, c := range known {
		if id := sw.PortID(name); id != sai.Null {
			all[id] = c
		}
	}
	if err != nil {
		err = fmt.Errorf("which queue packets wait in is not known: %w", err)
	}
	return all, err
}

// limit leaves the queues that can be read, and PFCM off where estimates come too late for it. It
// returns warnings.
func (s Settings) limit(c *flowcontrol.Config, queues map[sai.ObjectID]flowcontrol.Queue) (warnings []string) {
	read, more := policy.WatchedQueues(s.Snapshot)
	maps.DeleteFunc(queues, func(_ sai.ObjectID, q flowcontrol.Queue) bool {
		return !slices.Contains(read, fmt.Sprintf("%s:%d", q.Name, q.Number))
	})
	if more > 0 {
		warnings = append(warnings, fmt.Sprintf("the depth of %d queues is read, and %d more have a threshold with sampling_rate: name fewer", sampled.MostQueues, more))
	}
	if why := s.unfit(queues); c.Generate && why != "" {
		c.Generate = false
		warnings = append(warnings, "PFCM is not sent, since flows are named too late by the method sampled: "+why)
	}
	return warnings
}

// named is within which time a flow is named that fills a queue, at p99.
const named = 150 * time.Millisecond

// unfit returns why a queue is too small for holds that come as late as estimates do; "": none is.
// A queue grows by the speed of its port where twice of that comes.
func (s Settings) unfit(queues map[sai.ObjectID]flowcontrol.Queue) string {
	for _, q := range queues {
		t, speed := s.threshold(q.Name), s.Snapshot.SwitchPorts[q.Name].SpeedMbps
		if t == nil || t.BufferBytes == nil || speed == 0 {
			return fmt.Sprintf("queue %d of %s: buffer_bytes of its threshold, or the speed of the port, is not known", q.Number, q.Name)
		}
		if why := sampled.Fits(speed, named, *t.BufferBytes); why != "" {
			return fmt.Sprintf("queue %d of %s: %s", q.Number, q.Name, why)
		}
	}
	return ""
}
