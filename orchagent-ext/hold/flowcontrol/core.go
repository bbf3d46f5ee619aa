// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"math"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/advisor"
	"sluice/orchagent-ext/hold/border"
	"sluice/orchagent-ext/hold/detector"
	"sluice/orchagent-ext/hold/downstream"
	"sluice/orchagent-ext/hold/gateway"
	"sluice/orchagent-ext/hold/holder"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/hold/source"
	"sluice/orchagent-ext/hold/upstream"
	sai "sluice/sai-shim"
)

// core has the machines, and passes each input to the one that it is for. It is for one thread; times
// are ns of CLOCK_MONOTONIC.
type core struct {
	settings *settings // in force, never nil
	kernel   *kernel.Kernel
	pairs    *kernel.Pairs // learned queue pairs, from the packet path
	bySwitch holder.Enforcer

	holder     *holder.Holder
	border     *border.Border
	upstream   *upstream.Receiver
	downstream *downstream.Notifier
	ingress    *gateway.Ingress
	gateways   *gateway.Notifier
	limiter    *advisor.Limiter
	advisor    *advisor.Advisor
	source     *source.Source
	detector   *detector.Detector
}

// newCore returns the machines without ports. All maps and buffers have their room
// here, since the task is free of allocations.
func newCore(sw Switch, out kernel.Sender, clock func() int64) *core {
	c := &core{settings: newSettings(&Config{}), kernel: kernel.New(out, clock), pairs: kernel.NewPairs(), bySwitch: holder.Switch{Library: sw}}
	c.holder = holder.New(c.kernel, c.bySwitch)
	c.border = border.New(c.kernel, c.holder)
	c.holder.OnRelease(c.border)
	c.upstream = upstream.New(c.kernel, c.holder, c.border)
	c.limiter = advisor.NewLimiter(c.kernel, sw, c.holder)
	c.source = source.New(c.kernel, c.pairs, c.holder, c.limiter)
	c.advisor = advisor.New(c.kernel, c.pairs, sw, c.limiter)
	c.ingress = gateway.NewIngress(c.kernel, c.pairs, c.holder, c.advisor)
	c.gateways = gateway.NewNotifier(c.kernel, c.pairs, c.ingress, detector.Room)
	c.downstream = downstream.New(c.kernel, c.holder, c.border, detector.Room)
	c.detector = detector.New(c.kernel, sw, c.downstream, c.gateways, c.advisor)
	c.advisor.OfQueues(c.detector)
	return c
}

// event takes an event of the switch.
func (c *core) event(now int64, e *sai.FlowEvent) { c.detector.Event(now, e) }

// receiveMessage takes a message that came in.
func (c *core) receiveMessage(now int64, m *packetio.Message) {
	if gateway.IsPPFC(m) {
		c.ingress.Receive(now, m)
	} else {
		c.upstream.Receive(now, m)
	}
}

// learn takes a packet that the CPU had of a flow.
func (c *core) learn(now int64, l *Learned) {
	c.pairs.Add(l)
	c.limiter.Learn(now, l)
	c.source.Learn(now, l)
}

// next returns when step is to be called without an event.
func (c *core) next() int64 {
	at := c.detector.Next(math.MaxInt64)
	at = c.holder.Next(at)
	at = c.source.Next(at)
	at = c.limiter.Next(at)
	return c.border.Next(at)
}

// step carries out the work that is due.
func (c *core) step(now int64) {
	c.detector.Step(now)
	c.holder.Step(now)
	c.source.Step(now)
	c.limiter.Step(now)
	c.border.Step(now)
}

// configure takes a configuration. Holds and requests outside of it end, here and at the
// neighbors: before the machines have their settings, where they are ended by a message.
func (c *core) configure(now int64, s *settings) {
	c.detector.End(now, s.detector())
	by := c.bySwitch
	if s.Source != nil {
		by = c.source
	}
	if (s.Source == nil) != (c.settings.Source == nil) {
		c.holder.Clear(now)
	}
	before := c.kernel.Ports
	c.settings = s
	c.kernel.Ports = s.ports
	c.kernel.Out.Configure(s.format(), s.Send, s.SendClient)
	c.holder.Configure(s.holder(by))
	c.border.Configure(s.Translate)
	c.upstream.Configure(s.upstream)
	c.downstream.Configure(s.Generate)
	c.ingress.Configure(s.Ingress, s.Source == nil)
	c.gateways.Configure(s.PPFC)
	c.limiter.Configure(s.Advice)
	c.advisor.Configure(s.Advice)
	c.source.Configure(s.Source, s.Advice, s.Seed)
	c.detector.Configure(s.detector())

	c.detector.Retry(now, before)
	c.holder.Prune(now)
	c.border.Flush(now)
}

// end ends the requests to neighbors and all holds.
func (c *core) end(now int64) {
	c.configure(now, newSettings(&Config{Codes: c.settings.Codes, Encapsulation: c.settings.Encapsulation, Ports: c.settings.Ports}))
}
