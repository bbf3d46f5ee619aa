// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"context"

	"sluice/orchagent-ext/packetio"
)

// reader is the packet path while it runs, and what it was configured with.
type reader struct {
	*packetio.Reader
	config packetio.Config
	stop   context.CancelFunc
	done   chan struct{}
}

// restart makes the packet path one of config: nil is none.
func (r *reader) restart(ctx context.Context, g tasks, source packetio.Source, config *packetio.Config) *reader {
	if r != nil {
		if config != nil && same(r.config, *config) {
			return r
		}
		r.stopped()
	}
	if config == nil {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	r = &reader{packetio.New(source, *config), *config, stop, make(chan struct{})}
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

// same compares what the operator can change. Another exporter ends the reader
// before it begins itself, so it is not compared.
func same(a, b packetio.Config) bool {
	metering := a.Metering != nil
	if (a.Learned != nil) != (b.Learned != nil) {
		return false
	}
	return a.Labels == b.Labels && a.Algorithm == b.Algorithm && a.ZeroOnly == b.ZeroOnly && a.ZeroSrcQP == b.ZeroSrcQP &&
		a.Capacity == b.Capacity && a.Idle == b.Idle && metering == (b.Metering != nil) &&
		(!metering || a.Metering.MeterConfig == b.Metering.MeterConfig && a.Metering.Biflow == b.Metering.Biflow && a.Metering.Rate == b.Metering.Rate)
}
