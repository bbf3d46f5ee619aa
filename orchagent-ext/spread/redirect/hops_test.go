// SPDX-License-Identifier: Apache-2.0

package redirect_test

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/spread/redirect"
)

// lacking is a bed whose switch knows which next hops it lacks, by their links, and its room.
type lacking struct {
	*bed
	neighbors, ports map[string]bool
	room             int // rules that it takes in all; 0: it does not know
	refuses          string
}

func (l *lacking) Lacking(hops []redirect.NextHop) (neighbors, ports map[redirect.NextHop]bool, err error) {
	neighbors, ports = map[redirect.NextHop]bool{}, map[redirect.NextHop]bool{}
	for _, to := range hops {
		neighbors[to], ports[to] = l.neighbors[to.Port], l.ports[to.Port]
	}
	return neighbors, ports, nil
}

func (l *lacking) Room() (int, bool) { return l.room - len(l.rules), l.room > 0 }

func (l *lacking) Warnings() []string { return []string{"a warning"} }

func (l *lacking) Redirect(all []redirect.Entry) (redirect.Answer, error) {
	refused := map[redirect.Flow]redirect.Refusal{}
	kept := slices.DeleteFunc(slices.Clone(all), func(r redirect.Entry) bool {
		if r.To.Port == l.refuses {
			refused[r.Flow] = redirect.Refusal{Err: fmt.Errorf("no next hop by %s", r.To.Port), NoNextHop: true}
			return true
		}
		return false
	})
	answer, err := l.bed.Redirect(kept)
	maps.Copy(answer.Refused, refused)
	return answer, err
}

func newLacking(t *testing.T, links, flows int) *lacking {
	t.Helper()
	l := &lacking{bed: newBed(t), neighbors: map[string]bool{}, ports: map[string]bool{}}
	l.members[destination] = uplinks(links)
	l.flows = flows
	l.r = redirect.New(redirect.Config{Moves: redirect.MovesAny}, l, l, slog.New(slog.DiscardHandler))
	return l
}

// to counts the rules to a link.
func (l *lacking) to(link string) (n int) {
	for _, to := range l.rules {
		if strings.HasPrefix(to, link+"@") {
			n++
		}
	}
	return n
}

// TestLostNeighborTakesNoFlow: its rules go within a second though the kernel keeps the route, and
// come back once it has been there for a while; sooner where it is lost the first time.
func TestLostNeighborTakesNoFlow(t *testing.T) {
	l := newLacking(t, 2, 4)
	l.placed()
	back := time.Duration(0)
	for loss := range 3 {
		l.neighbors["up1"] = true
		if l.run(time.Second); len(l.rules) != 0 {
			t.Fatalf("loss %d: a second later rules are %v", loss, l.rules)
		}
		l.neighbors["up1"] = false
		began := l.now
		for len(l.rules) == 0 && l.now.Sub(began) < time.Minute {
			l.run(100 * time.Millisecond)
		}
		took := l.now.Sub(began)
		if len(l.rules) == 0 || took < back || took < time.Second<<loss {
			t.Errorf("loss %d: %d rules %v after the neighbor is back: want them after %v or more", loss, len(l.rules), took, time.Second<<loss)
		}
		back = took
	}
}

// TestPortThatIsDownInSONiCTakesNoFlow: its netdev may keep its carrier.
func TestPortThatIsDownInSONiCTakesNoFlow(t *testing.T) {
	l := newLacking(t, 2, 4)
	l.placed()
	l.ports["up1"] = true
	if l.run(200 * time.Millisecond); len(l.rules) != 0 {
		t.Errorf("rules to a port that is down: %v", l.rules)
	}
	l.ports["up1"] = false
	if l.run(2 * time.Second); len(l.rules) != 2 {
		t.Errorf("the port is up again, and the rules are %v", l.rules)
	}
}

// TestMemberWithoutNeighborLeavesTheOthersToTheirFlows: the emptiest member, which lacks a neighbor, is
// no reason for other flows to wait. Whether the switch says so before, or refuses a rule.
func TestMemberWithoutNeighborLeavesTheOthersToTheirFlows(t *testing.T) {
	for _, says := range []bool{true, false} {
		l := newLacking(t, 8, 21)
		l.neighbors["up7"] = says
		l.refuses = "up7"
		l.run(4 * time.Second)
		if n := len(l.rules); l.to("up7") > 0 || n < 18 {
			t.Errorf("the switch says it before: %v: %d rules: %v; want the 18 that leave the first link", says, n, l.rules)
		}
		if refused := l.r.Report(l.now).Groups[0].Refused; refused > 0 {
			t.Errorf("%d flows were refused: want the member", refused)
		}
	}
}

// TestRoomOfTheSwitchBoundsRules: no rule is asked for that it has no room for, and free is that.
func TestRoomOfTheSwitchBoundsRules(t *testing.T) {
	l := newLacking(t, 4, 16)
	l.room = 5
	l.run(3 * time.Second)
	r := l.r.Report(l.now)
	if g := r.Groups[0]; len(l.rules) != 5 || g.Free != 0 || g.Refused != 0 || g.Obstacles.Refused == 0 {
		t.Errorf("%d rules, %+v: want 5, and no more", len(l.rules), g)
	}
	if len(r.Warnings) != 1 {
		t.Errorf("warnings %q", r.Warnings)
	}
}
