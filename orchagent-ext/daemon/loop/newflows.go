// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/placement"
	"sluice/orchagent-ext/switch/engine"
)

// logPause is the least time between two lines of the log about flows that lack an entry.
const logPause = time.Minute

// addFlows gives the flow, and those that wait behind it, their entries, as far as
// they are admitted.
func (o *orch) addFlows(first packetio.NewFlow, more <-chan packetio.NewFlow) error {
	news := []packetio.NewFlow{first}
	for len(news) < newsBatch && len(more) > 0 {
		news = append(news, <-more)
	}
	if !o.sw.outcome.Pins() {
		return nil
	}
	o.placement.Prepare(news, o.Now())
	err := o.sw.addFlows(news, &o.placement, o.Now())
	o.logRefused()
	return err
}

// addFlows tells the engine which flows get an entry, and which lose theirs.
func (s *opened) addFlows(news []packetio.NewFlow, p *placement.Placement, now time.Time) error {
	var admitted, evicted []engine.FlowEntry
	port := ""
	for _, n := range news {
		f := engine.FlowEntry{Src: n.Src, Dst: n.Dst, DestQP: n.DestQP, Label: n.Label, SrcPort: n.SrcPort}
		ingress, egress := s.PortName(n.From), s.PortName(n.To)
		if s.flows.seen[unlabelled(f)] == nil {
			victim, admit := s.flows.offer(ingress, n.Times, s.countFlow, now)
			if !admit {
				continue
			}
			if victim != nil {
				evicted = append(evicted, victim.flow)
				s.flows.remove(victim.flow)
			}
			f = p.Place(f, now)
			s.flows.add(f, ingress, now)
			admitted, port = append(admitted, f), ingress
		} else if err := s.seenAgain(f, egress, p); err != nil {
			return err
		}
		s.flows.move(f, ingress, egress)
	}
	if err := s.engine.RemoveFlows(evicted); err != nil {
		s.forget(admitted)
		return err
	}
	refused, err := s.engine.AddFlows(admitted)
	if err != nil {
		s.forget(admitted)
		return err
	}
	if refused > 0 {
		s.forget(admitted[len(admitted)-refused:])
		s.flows.full(refused, port, now)
	}
	return nil
}

// forget forgets the flows among some whose entries failed.
func (s *opened) forget(flows []engine.FlowEntry) {
	for _, f := range flows {
		if !s.engine.Has(f) {
			s.flows.remove(f)
		}
	}
}

func (s *opened) countFlow(f engine.FlowEntry) (packets, octets uint64, err error) {
	r := s.engine.FlowCounter(f)
	if r == nil {
		return 0, 0, engine.ErrGone
	}
	return s.Count(r)
}

// fit makes the flows as many as are configured, and forgets those whose entries a
// change of the policy has taken.
func (s *opened) fit(capacity uint32, now time.Time) error {
	for f := range s.flows.seen {
		if !s.engine.Has(f) {
			s.flows.remove(f)
		}
	}
	s.flows.capacity = int(capacity)
	return s.engine.RemoveFlows(s.flows.excess(now))
}

// logRefused logs that flows lack an entry, once in logPause.
func (o *orch) logRefused() {
	now := o.Now()
	if w := o.sw.flows.warning(now); w != "" && now.Sub(o.sw.flows.loggedAt) > logPause {
		o.sw.flows.loggedAt = now
		o.Log.Warn(w, "refused", o.sw.flows.refusedCapacity+o.sw.flows.refusedSwitch, "evicted", o.sw.flows.evicted)
	}
}

// seenAgain notes the source port and the egress port by which the CPU saw a flow that has an
// entry.
func (s *opened) seenAgain(f engine.FlowEntry, egress string, p *placement.Placement) error {
	is := s.flows.seen[unlabelled(f)]
	if is.flow.SrcPort == f.SrcPort || f.SrcPort == 0 {
		p.Observe(f, egress)
		return nil
	}
	is.flow.SrcPort = f.SrcPort
	p.SrcPort(is.flow)
	return s.engine.SetSrcPort(is.flow)
}
