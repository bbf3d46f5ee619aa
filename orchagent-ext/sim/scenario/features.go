// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"fmt"
	"time"

	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/sim/network"
	"sluice/orchagent-ext/wire/notify"
)

// Hold is the feature pfcm: SLUICE_THRESHOLD, and the delay and room of a switch.
type Hold struct {
	HighKB     float64 `yaml:"high_kb"`     // of a flow in a queue; 64
	LowKB      float64 `yaml:"low_kb"`      // 32
	DurationUS float64 `yaml:"duration_us"` // 40000
	// from the mark to the hold upstream; 250, the software switch
	ReactionUS float64 `yaml:"reaction_us"`
	RoomKB     float64 `yaml:"room_kb"` // of a held flow in a switch; 1000
	// exact: switches hold flows; source: the one that serves the sender slows it by CNPs, as ASICs of today
	Method    string `yaml:"method"`
	HostsObey bool   `yaml:"hosts_obey"` // adapters obey PFCM, too
}

// Advise is the feature advice: SLUICE_RATE_ADVICE.
type Advise struct {
	HighKB     float64 `yaml:"high_kb"`            // 64
	TargetKB   float64 `yaml:"target_kb"`          // of a queue; 250
	DelayUS    float64 `yaml:"delay_us"`           // of packets in it; 20
	IntervalUS float64 `yaml:"interval_us"`        // 1000
	Lifetime   int     `yaml:"lifetime_intervals"` // 4
	ReactionUS float64 `yaml:"reaction_us"`        // 250
}

// kb is a number of kilobytes in octets, or its default.
func kb(v, def float64) uint64 { return uint64(cmp.Or(v, def) * 1000) }

// us is a number of µs, or its default.
func us(v, def float64) time.Duration { return time.Duration(cmp.Or(v, def) * 1000) }

// hold is the configuration of the feature pfcm.
func (s *Scenario) hold() network.Hold {
	h := &s.Hold
	return network.Hold{
		Threshold: congestion.Threshold{High: kb(h.HighKB, 64), Low: kb(h.LowKB, 32), Action: notify.Reduce(100), Duration: us(h.DurationUS, 40000)},
		Reaction:  int64(us(h.ReactionUS, 250)) * network.Nanosecond, Room: int64(kb(h.RoomKB, 1000)),
		Source: h.Method == "source", Hosts: h.HostsObey,
	}
}

// advise is the configuration of the feature advice. No rate below a thousandth of a host's
// link is advised.
func (s *Scenario) advise() network.Advise {
	a := &s.Advise
	return network.Advise{
		Threshold: congestion.Threshold{High: kb(a.HighKB, 64), Low: kb(a.HighKB, 64) / 2, Action: notify.Reduce(100), Duration: 40 * time.Millisecond},
		Target:    congestion.Target{Bytes: kb(a.TargetKB, 250), Delay: us(a.DelayUS, 20), Min: uint32(s.Fabric.HostGbit)},
		Pace:      congestion.Pace{Interval: us(a.IntervalUS, 1000), Lifetime: cmp.Or(a.Lifetime, 4)},
		Reaction:  int64(us(a.ReactionUS, 250)) * network.Nanosecond,
	}
}

// check returns an error for a bad setting of either.
func (s *Scenario) check() error {
	h, a := s.hold(), s.advise()
	switch {
	case s.Hold.Method != "" && s.Hold.Method != "exact" && s.Hold.Method != "source":
		return fmt.Errorf("hold: method %q: exact or source", s.Hold.Method)
	case h.Threshold.Low >= h.Threshold.High:
		return fmt.Errorf("hold: low_kb %g is not below high_kb %g", float64(h.Threshold.Low)/1000, float64(h.Threshold.High)/1000)
	case h.Threshold.Duration < time.Microsecond || h.Threshold.Duration > 65535*time.Microsecond:
		return fmt.Errorf("hold: duration_us %g: 1 to 65535 are possible", s.Hold.DurationUS)
	case h.Reaction < 0 || h.Room < 0 || a.Reaction < 0:
		return fmt.Errorf("hold, advise: reaction_us and room_kb cannot be below 0")
	case a.Pace.Interval < time.Microsecond || a.Pace.Lifetime < 1 || s.Advise.TargetKB < 0 || s.Advise.DelayUS < 0 || s.Advise.HighKB < 0:
		return fmt.Errorf("advise: interval_us, lifetime_intervals, target_kb, delay_us and high_kb are above 0")
	}
	return nil
}

// Reaction is the time from a mark to the hold upstream, beside the way.
func (s *Scenario) Reaction() time.Duration { return us(s.Hold.ReactionUS, 250) }
