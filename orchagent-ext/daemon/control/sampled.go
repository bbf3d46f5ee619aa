// SPDX-License-Identifier: Apache-2.0

package control

import (
	"cmp"
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

// classes is how many DSCP share a queue: the software switch takes the three bits of the class
// selector (RFC 2474 section 4.2.2).
const classes = 8

// watchConfig returns the queues whose depth is read; nil: flows are not estimated.
func (s Settings) watchConfig(queues map[sai.ObjectID]flowcontrol.Queue) *watch.Config {
	if !s.estimates() || s.Sampling == 0 {
		return nil
	}
	c := &watch.Config{Queues: queues, Room: map[sai.ObjectID]uint64{}, Rate: s.Sampling}
	for dscp := range c.Class {
		c.Class[dscp] = uint8(dscp / classes)
	}
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

// readable leaves the queues whose depth is read: those that rows with sampling_rate name, the
// first ones by port and number. more is how many others rows name.
func (s Settings) readable(queues map[sai.ObjectID]flowcontrol.Queue) (more int) {
	ids := slices.SortedFunc(maps.Keys(queues), func(a, b sai.ObjectID) int {
		x, y := queues[a], queues[b]
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Number, y.Number))
	})
	n := 0
	for _, id := range ids {
		t := s.threshold(queues[id].Name)
		named := t != nil && t.SamplingRate != nil
		if named && n < watch.MostQueues {
			n++
			continue
		}
		if named {
			more++
		}
		delete(queues, id)
	}
	return more
}

// limit leaves the queues that can be read, and PFCM off where estimates come too late for it. It
// returns warnings.
func (s Settings) limit(c *flowcontrol.Config, queues map[sai.ObjectID]flowcontrol.Queue) (warnings []string) {
	if more := s.readable(queues); more > 0 {
		warnings = append(warnings, fmt.Sprintf("the depth of %d queues is read, and %d more have a threshold with sampling_rate: name fewer", watch.MostQueues, more))
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
