// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"errors"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/holder"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// Holder carries out demands.
type Holder interface {
	Late(now int64, d holder.Demand) bool
	Receive(now int64, d holder.Demand) enforce.Outcome
	CountObeyed(kind notify.Kind)
}

// Border relays messages that have changed holds.
type Border interface {
	Relay(now int64, k enforce.Key, outcome enforce.Outcome, out *kernel.Port, match sai.HoldMatch)
}

// Settings are those of received PFCM. Make them with [NewSettings].
type Settings struct {
	Obey    bool
	Mark    uint32      // that IPsec sets on received messages; 0: any
	Receive kernel.Rate // of all neighbors together

	ports   *kernel.Ports
	buckets map[*kernel.Port]*kernel.Bucket // of the neighbor at each port
}

// NewSettings returns settings with a bucket for the neighbor at each port, which bySource bounds.
func NewSettings(s Settings, ports *kernel.Ports, bySource kernel.Rate) Settings {
	s.ports, s.buckets = ports, map[*kernel.Port]*kernel.Bucket{}
	for _, p := range ports.All() {
		s.buckets[p] = &kernel.Bucket{Rate: bySource}
	}
	return s
}

// Receiver receives PFCM.
type Receiver struct {
	k        *kernel.Kernel
	holder   Holder
	border   Border
	settings Settings
	all      kernel.Bucket
}

// New returns a receiver without settings.
func New(k *kernel.Kernel, h Holder, b Border) *Receiver {
	return &Receiver{k: k, holder: h, border: b, settings: Settings{ports: k.Ports}}
}

// Configure takes settings. The buckets of ports that stay keep their level.
func (r *Receiver) Configure(s Settings) {
	for _, p := range s.ports.All() {
		for _, member := range p.Members {
			if was := r.settings.ports.Of(member); was != nil {
				s.buckets[p].Bucket = r.settings.buckets[was].Bucket
			}
		}
	}
	r.settings, r.all.Rate = s, s.Receive
}

// Receive takes a PFCM that came in, or one that is bad.
func (r *Receiver) Receive(now int64, m *packetio.Message) {
	c := &r.k.Counters
	c.Received++
	if bad, ok := errors.AsType[*notify.Error](m.Err); ok {
		c.Refused[bad.Reason]++
		return
	}
	p := r.k.Ports.ByIndex(m.Port)
	e := &m.Packet.Envelope
	switch {
	case m.Packet.Kind != notify.KindPFCM || p == nil || !p.IsFrom(e.Src):
		c.Sender++
		return
	case !e.Dst.IsMulticast() && e.Dst != p.Self:
		c.Refused[notify.BadDestination]++
		return
	case !r.settings.Obey:
		c.Off++
		return
	}
	d := demandOf(m, p)
	switch {
	case r.holder.Late(now, d):
		c.Late++
	case !r.settings.buckets[p].Allow(now) || !r.all.Allow(now):
		c.Policed++
	default:
		if Unverified(m, r.settings.Mark) {
			c.Unverified++
		}
		r.obey(now, d)
	}
}

// demandOf returns the demand of a PFCM: it is about packets that leave by the port that it came in by,
// with its Stream ID and its addresses. One whose addresses name another flow is refused and counted.
//
//conformance:draft-yang/addresses draft-yang/exclusively
func demandOf(m *packetio.Message, p *kernel.Port) holder.Demand {
	pfcm := &m.Packet.PFCM
	return holder.Demand{
		Demand: enforce.OfPFCM(pfcm), Key: enforce.PFCMKey(pfcm, p.Neighbor, m.Port), At: m.At,
		About: kernel.Addresses{Src: pfcm.Source, Dst: pfcm.Destination},
		Port:  p, Match: sai.HoldMatch{Kind: sai.HoldStream, Value: uint32(pfcm.StreamID), Src: pfcm.Source, Dst: pfcm.Destination},
	}
}

// obey begins or ends a hold.
//
//conformance:draft-yang/components draft-yang/enforce
func (r *Receiver) obey(now int64, d holder.Demand) {
	outcome := r.holder.Receive(now, d)
	r.border.Relay(now, d.Key, outcome, d.Port, d.Match)
	c := &r.k.Counters
	switch outcome {
	case enforce.Full:
		c.Full++
	case enforce.Ignored:
		c.Ignored++
	case enforce.Held:
		c.Held++
		r.holder.CountObeyed(notify.KindPFCM)
	case enforce.Refreshed:
		c.Refreshed++
		r.holder.CountObeyed(notify.KindPFCM)
	default:
		c.Obeyed++
	}
}

// Unverified reports whether a message has an authentication header, while the configuration
// leaves IPsec's mark open: the kernel may have verified it, or lacks the key.
func Unverified(m *packetio.Message, mark uint32) bool { return m.Packet.AH && mark == 0 }
