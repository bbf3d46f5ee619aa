// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"testing"
	"time"
)

const phases = UnloadedSettling + 1

func TestPhaseFollowsCONFIGDB(t *testing.T) {
	for name, tt := range map[string]struct {
		events []Event
		want   Phase
	}{
		"first start":                    {[]Event{FirstRows, Complete}, Steady},
		"start with unknown rows":        {[]Event{FirstRowsBlind}, StartingBlind},
		"and then complete":              {[]Event{FirstRowsBlind, Complete}, Steady},
		"ports lost":                     {[]Event{FirstRows, Complete, PortsLost}, Unloaded},
		"ports lost twice":               {[]Event{FirstRows, Complete, PortsLost, PortsLost}, Unloaded},
		"no end before ports are back":   {[]Event{FirstRows, Complete, PortsLost, Complete}, Unloaded},
		"ports back":                     {[]Event{FirstRows, Complete, PortsLost, PortsBack}, Settling},
		"settled":                        {[]Event{FirstRows, Complete, PortsLost, PortsBack, Complete}, Steady},
		"lost while it starts":           {[]Event{FirstRows, PortsLost, PortsBack}, Starting},
		"lost while it starts blind":     {[]Event{FirstRowsBlind, PortsLost, Complete, PortsBack}, StartingBlind},
		"lost while it settles":          {[]Event{FirstRows, Complete, PortsLost, PortsBack, PortsLost}, UnloadedSettling},
		"ports that were there all time": {[]Event{FirstRows, PortsBack, Complete, PortsBack}, Steady},
		"before the first rows":          {[]Event{PortsLost, PortsBack, Complete}, Unread},
	} {
		var p Phase
		for _, e := range tt.events {
			p = p.After(e)
		}
		if p != tt.want {
			t.Errorf("%s: phase %d, want %d", name, p, tt.want)
		}
	}
}

// Ports that come back lead to the phase before, or to Settling from Steady: rows are
// missing until SONiC has written all tables.
func TestEachPhaseReturnsAfterALossOfPorts(t *testing.T) {
	for p := range phases {
		lost := p.After(PortsLost)
		if lost.Unloaded() != (p != Unread) {
			t.Errorf("phase %d without ports: %d", p, lost)
		}
		if p.Unloaded() || p == Unread {
			continue
		}
		want := p
		if p == Steady {
			want = Settling
		}
		if back := lost.After(PortsBack); back != want {
			t.Errorf("phase %d with ports again: %d, want %d", p, back, want)
		}
		if p != Steady && lost.incomplete() != p.incomplete() {
			t.Errorf("phase %d: rows may come %v, without ports %v", p, p.incomplete(), lost.incomplete())
		}
	}
}

func TestDelayEndsWhenNoRowCanBeMissing(t *testing.T) {
	for _, tt := range []struct {
		phase            Phase
		complete, loaded bool
		wait             bool
	}{
		{Starting, false, false, true}, {Starting, true, false, false}, {Starting, false, true, false},
		{StartingBlind, true, false, true}, {StartingBlind, false, true, false},
		{Settling, false, true, true}, {Settling, true, false, false},
		{Steady, false, false, false},
	} {
		want := time.Duration(0)
		if tt.wait {
			want = SettleTime
		}
		if got := tt.phase.delay(tt.complete, func() bool { return tt.loaded }); got != want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
