// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"testing"

	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/switch/engine"
)

// TestEntriesAreRedirectionsOfTheEngine: all fields go both ways.
func TestEntriesAreRedirectionsOfTheEngine(t *testing.T) {
	want := []engine.Redirection{rule(1, "up1"), rule(2, "up2")}
	want[1].VRF = "Vrf1"
	entries := entriesOf(want)
	if got := redirectionsOf(entries); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if f := entries[1].Flow; f.VRF != "Vrf1" || f.SrcPort != 2 || entries[1].To.Port != "up2" {
		t.Errorf("entry %+v", entries[1])
	}
}

// TestAnswersOfTheEngineByKind: refusals are by flow, with what they mean for the next decision.
func TestAnswersOfTheEngineByKind(t *testing.T) {
	failed := errors.New("no answer")
	entries := entriesOf([]engine.Redirection{rule(1, "up1"), rule(2, "up1"), rule(3, "up1"), rule(4, "up1")})
	refused := map[string]error{}
	for i, why := range []error{fmt.Errorf("%w: table full", engine.ErrRefused), fmt.Errorf("%w: up1", engine.ErrNoNextHop), failed} {
		r := redirectionOf(&entries[i])
		refused[r.Key()] = why
	}
	for _, tt := range []struct {
		err, want error
		progress  redirect.Progress
	}{
		{nil, nil, redirect.Done},
		{fmt.Errorf("orchagent: %w", engine.ErrPending), nil, redirect.AtWork},
		{fmt.Errorf("orchagent: %w", engine.ErrWaits), nil, redirect.Waiting},
		{failed, failed, redirect.Done},
	} {
		a, err := answerOf(entries, refused, tt.err)
		if err != tt.want || a.Progress != tt.progress || len(a.Refused) != 3 {
			t.Errorf("%v: %+v, %v", tt.err, a, err)
		}
		for i, want := range []redirect.Refusal{{Full: true}, {NoNextHop: true}, {}, {}} {
			is := a.Refused[entries[i].Flow]
			if is.Full != want.Full || is.NoNextHop != want.NoNextHop || (is.Err == nil) != (i == 3) {
				t.Errorf("entry %d: %+v, want %+v", i, is, want)
			}
		}
	}
}

// TestDirectSwitchAsksForItsNextHops: next hops that are lost, and those by ports that are down.
func TestDirectSwitchAsksForItsNextHops(t *testing.T) {
	lost := engine.NextHop{Address: netip.MustParseAddr("10.255.0.1"), Port: "up1"}
	down := engine.NextHop{Address: netip.MustParseAddr("10.255.0.2"), Port: "up2"}
	d := direct{lackingHops{lost: lost, down: down}}
	neighbors, ports, err := d.Lacking([]redirect.NextHop{redirect.NextHop(lost), redirect.NextHop(down)})
	if err != nil || len(neighbors) != 1 || !neighbors[redirect.NextHop(lost)] || len(ports) != 1 || !ports[redirect.NextHop(down)] {
		t.Errorf("lost %v, down %v, %v", neighbors, ports, err)
	}
}

// lackingHops is a switch without the neighbor of one next hop, and with the port of another down.
type lackingHops struct {
	RuleSwitch
	lost, down engine.NextHop
}

func (l lackingHops) Lacking(hops []engine.NextHop) (neighbors, ports map[engine.NextHop]bool, err error) {
	if len(hops) != 2 || hops[0] != l.lost || hops[1] != l.down {
		return nil, nil, fmt.Errorf("asked for %v", hops)
	}
	return map[engine.NextHop]bool{l.lost: true}, map[engine.NextHop]bool{l.down: true}, nil
}
