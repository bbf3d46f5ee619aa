// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
)

// readerSettings are the settings of the packet path. With the zero value it is off.
type readerSettings struct {
	labels, exports, redirects bool     // its purposes
	learns                     learning // likewise

	// the switch computes labels, and the CPU receives samples
	computed            bool
	algorithm           flow.Algorithm // of labels
	zeroOnly, zeroSrcQP bool
	capacity            int // flows

	meter        ipfix.MeterConfig // of exports
	idle         time.Duration
	rate         uint32
	biflow       bool
	healthRecord bool // health is exported, too

	// Flows are shown, by the packets that come for whatever purpose.
	shows    bool
	health   packetio.Health
	chance   uint32 // one of so many packets comes, see [engine.Outcome]
	answered bool   // acknowledgements come at another rate
}

// learning has the source queue pairs that flow control needs, and its holds at senders.
type learning struct {
	on      bool
	watches bool // each packet shows which flows are in queues
	// packets that a sample represents, where flows are held at their senders; else 0
	seen uint32
}

// reader returns the settings of the reader: the CPU receives packets only where it
// computes the labels, learns, exports, redirects or shows flows.
func (s *Settings) reader(in Inputs) readerSettings {
	p, c := in.Policy, in.Choices
	if c.Method(engine.NeedExport) == engine.None {
		p.Export = nil // lost samples would make records lack flows at random
	}
	r := readerSettings{
		labels: c.Pins() && p.Label != nil, computed: c.Method(engine.NeedPlacement) == engine.Entries, learns: learning{on: s.Learns && p.Export != nil, watches: c.Method(engine.NeedThreshold) == engine.Sampled},
		exports: p.Export != nil && s.Export != nil, redirects: c.Method(engine.NeedPlacement) == engine.Redirect,
		capacity: int(p.FlowCapacity),
	}
	if r.labels {
		r.algorithm, r.zeroOnly, r.zeroSrcQP = p.Label.Algorithm, p.Label.ZeroOnly, p.Label.ZeroSrcQP
	}
	if r.exports {
		x := s.Export
		r.meter, r.rate, r.idle, r.biflow, r.healthRecord = x.Meter, p.Export.Rate, x.Idle, x.Biflow, x.Exporter.Health
	}
	if r.shows = p.Export != nil || r.redirects || r.computed || in.Chance != 0; r.shows {
		r.chance, r.answered = in.Chance, p.Export != nil && p.Export.Answers != 0
		r.health = packetio.Health{
			Whole: p.Export != nil && p.Export.Rate == 1 && s.Library && c.Method(engine.NeedExport) == engine.Sample,
			Rate:  min(p.CPU.Rate, in.Opened.Rate), Burst: min(p.CPU.Burst, in.Opened.Burst),
		}
	}
	if r.learns.on && c.Method(engine.NeedHold) == engine.Source {
		r.learns.seen = p.Export.Rate
	}
	return r.needed()
}

// withoutExport returns the settings of a reader that exports nothing.
func (r readerSettings) withoutExport() readerSettings {
	r.exports, r.meter, r.rate, r.idle, r.healthRecord, r.biflow = false, ipfix.MeterConfig{}, 0, 0, false, false
	return r.needed()
}

// needed returns the zero value where the settings lack a purpose.
func (r readerSettings) needed() readerSettings {
	if !r.labels && !r.learns.on && !r.exports && !r.redirects && !r.learns.watches && !r.shows {
		return readerSettings{}
	}
	return r
}

// reader is the packet path while it runs.
type reader struct {
	*packetio.Reader
	settings *readerSettings
}

// samplesWaiting is how many samples for placement wait for the loop: those of 0.8 s, at 10,000
// a second.
const samplesWaiting = 8192

// shownIdle is how long a flow is shown after its last packet that came, where none is exported.
const shownIdle = time.Minute

// newReader returns a reader. to may be nil where the settings export nothing.
func newReader(s *readerSettings, to *exporter, env *Environment) *reader {
	c := packetio.Config{
		RoundTrips: s.exports || s.learns.on,
		Labels:     s.labels, Computed: s.computed, Algorithm: s.algorithm, ZeroOnly: s.zeroOnly, ZeroSrcQP: s.zeroSrcQP, Capacity: s.capacity, Idle: s.idle, Now: env.Now,
	}
	if s.redirects {
		c.Samples = samplesWaiting
	}
	if s.learns.on {
		c.Learned, c.Seen = env.Learned, s.learns.seen
	}
	if s.learns.watches {
		c.Watched = env.Watched
	}
	if s.shows {
		c.Health = &s.health
		if !s.exports {
			c.Health.Idle = shownIdle
		}
	}
	if s.exports {
		c.Metering = &packetio.Metering{MeterConfig: s.meter, Rate: s.rate, Biflow: s.biflow, Export: to.Export, Ignored: to.ignored}
		if s.healthRecord {
			c.Metering.Health = to.ExportHealth
		}
	}
	return &reader{packetio.New(env.Source, c), s}
}
