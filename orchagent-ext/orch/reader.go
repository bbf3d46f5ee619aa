// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"
	"time"

	"sluice/orchagent-ext/asic"
	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/ipfix"
	"sluice/orchagent-ext/packetio"
	"sluice/yang/model"
)

// readerSettings are what the packet path works by. It is restarted where they differ.
// The zero value is no packet path.
type readerSettings struct {
	labels, learns, exports bool // what it is for

	computed            bool           // labels are computed by the switch, for which the CPU sees samples
	algorithm           flow.Algorithm // of labels
	zeroOnly, zeroSrcQP bool
	capacity            int // flows

	meter  ipfix.MeterConfig // of exports
	idle   time.Duration
	rate   uint32
	biflow bool
	health packetio.Health // of exports
	fares  bool            // health is exported, too
}

// readerSettingsOf are those that a method takes: the CPU sees packets only where it
// computes the labels, learns, or exports flows, which exporting says.
func readerSettingsOf(s *config.Snapshot, p asic.Policy, c asic.Choices, exporting bool, opened asic.CPU) readerSettings {
	r := readerSettings{
		labels: c.Pins() && p.Label != nil, computed: c.Method(asic.NeedPlacement) == asic.Entries, learns: learns(s) && p.Export != nil, exports: exporting, capacity: int(p.FlowCapacity),
	}
	if !r.labels && !r.learns && !r.exports {
		return readerSettings{}
	}
	if r.labels {
		r.algorithm, r.zeroOnly, r.zeroSrcQP = p.Label.Algorithm, p.Label.ZeroOnly, p.Label.ZeroSrcQP
	}
	if r.exports {
		r.meter, r.rate, r.idle = meterConfig(s), *s.IPFIX.SamplingRate, time.Duration(*s.IPFIX.IdleTimeoutS)*time.Second
		r.health, r.fares = healthOf(s, c, opened), exportsHealth(s)
		r.biflow = s.IPFIX.Mode == model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global_Mode_biflow
	}
	return r
}

// reader is the packet path while it runs, and what it works by.
type reader struct {
	*packetio.Reader
	settings readerSettings
	stop     context.CancelFunc
	done     chan struct{}
}

// restart makes the packet path one of the settings. Another exporter ends the reader
// before it begins itself.
func (r *reader) restart(ctx context.Context, g tasks, sw *opened, s readerSettings, to *exporting, now func() time.Time) *reader {
	if r != nil {
		if r.settings == s {
			return r
		}
		r.stopped()
	}
	if s == (readerSettings{}) {
		return nil
	}
	c := packetio.Config{
		Labels: s.labels, Computed: s.computed, Algorithm: s.algorithm, ZeroOnly: s.zeroOnly, ZeroSrcQP: s.zeroSrcQP, Capacity: s.capacity, Idle: s.idle, Now: now,
	}
	if s.learns {
		c.Learned = sw.learned
	}
	if s.exports {
		c.Health = &s.health
		c.Metering = &packetio.Metering{MeterConfig: s.meter, Rate: s.rate, Biflow: s.biflow, Export: to.Export, Ignored: to.ignored}
		if s.fares {
			c.Metering.Health = to.ExportHealth
		}
	}
	ctx, stop := context.WithCancel(ctx)
	r = &reader{packetio.New(sw, c), s, stop, make(chan struct{})}
	g.Go(func() error {
		defer close(r.done)
		return r.Run(ctx)
	})
	return r
}

// stopped ends the packet path, which exports what its flows have counted.
func (r *reader) stopped() *reader {
	if r != nil {
		r.stop()
		<-r.done
	}
	return nil
}
