// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/placer"
	"sluice/orchagent-ext/spread/redirect"
	"sluice/orchagent-ext/switch/drift"
	"sluice/orchagent-ext/switch/engine"
)

func rule(port int, to string) engine.Redirection {
	return engine.Redirection{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.1.0.2"), SrcPort: uint16(port), To: engine.NextHop{Address: netip.MustParseAddr("10.255.0.1"), Port: to}}
}

// slow is a switch that records what it was asked for.
type slow struct {
	asked   []string
	refuses string
	fails   error
	losses  drift.Judge
}

func (s *slow) SetReserve(int) {}

func (s *slow) Lacking([]engine.NextHop) (neighbors, ports map[engine.NextHop]bool, err error) {
	return nil, nil, nil
}

func (s *slow) Room() (int, bool) { return 0, false }

func (s *slow) Warnings() []string { return nil }

func (s *slow) Losses() *drift.Judge { return &s.losses }

func (s *slow) Adopt() ([]engine.Redirection, error) {
	return []engine.Redirection{rule(1, "up1"), rule(2, "up1")}, nil
}

func (s *slow) Redirect(all []engine.Redirection) (map[string]error, error) {
	text, refused := "", map[string]error{}
	for i := range all {
		text += fmt.Sprintf("%d>%s ", all[i].SrcPort, all[i].To.Port)
		if all[i].Key() == s.refuses {
			refused[s.refuses] = engine.ErrRefused
		}
	}
	s.asked = append(s.asked, text)
	return refused, s.fails
}

func TestRulesChangeOneByOneRemovalsFirst(t *testing.T) {
	sw, calls := &slow{}, 0
	s := &oneByOne{ask: func(q *Request) answer {
		calls++
		q.answer = make(chan answer, 1)
		q.Serve(sw)
		return <-q.answer
	}}
	if all, err := s.Adopt(); err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	three := rule(3, "up3")
	sw.refuses = three.Key()
	refused, err := s.change([]engine.Redirection{rule(1, "up2"), three, rule(4, "up4")})
	if err != nil || len(refused) != 1 || refused[three.Key()] == nil {
		t.Errorf("refused %v, %v", refused, err)
	}
	want := []string{"1>up1 ", "1>up2 ", "1>up2 3>up3 ", "1>up2 4>up4 "}
	if !slices.Equal(sw.asked, want) || calls != 5 {
		t.Errorf("%d calls asked for %q: want %q", calls, sw.asked, want)
	}
	sw.asked, sw.fails = nil, errors.New("no answer")
	if _, err := s.Redirect(nil); !errors.Is(err, sw.fails) || len(sw.asked) != 1 {
		t.Errorf("after an error: %v, asked for %q", err, sw.asked)
	}
	sw.asked, sw.fails = nil, nil
	if _, err := s.Redirect(nil); err != nil || !slices.Equal(sw.asked, []string{"4>up4 ", ""}) {
		t.Errorf("then %v, asked for %q", err, sw.asked)
	}
}

// TestTaskEndsWhileTheLoopDoesNotCall: the loop stops the task, and makes no call meanwhile.
func TestTaskEndsWhileTheLoopDoesNotCall(t *testing.T) {
	g, _ := task.NewGroup(t.Context(), slog.New(slog.DiscardHandler))
	var r redirects
	want := Rules{On: true, Config: redirect.Config{PerLink: 8}}
	env := &Environment{PortName: func(uint64) string { return "" }, Log: slog.New(slog.DiscardHandler), Now: time.Now}
	r.reconcile(g, want, env, nil)
	r.reconcile(g, Rules{}, env, nil)
	if r.runs() || r.requests() != nil {
		t.Error("a task runs")
	}
	r.reconcile(g, want, env, nil)
	(<-r.requests()).Serve(&slow{})
	<-r.requests() // without an answer
	r.stop()
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLossesOfRulesAreReported: the loop sees those that the task found, and their counts stay when the task ends.
func TestLossesOfRulesAreReported(t *testing.T) {
	g, _ := task.NewGroup(t.Context(), slog.New(slog.DiscardHandler))
	sw := &slow{}
	part := drift.Part{Kind: "acl_rules", Place: "SLUICE_PLACE4"}
	for at := range int64(drift.Losses) {
		sw.losses.Look(time.Unix(at, 0), []drift.Finding{{Part: part, Fault: "gone", Mendable: true}}, true)
		sw.losses.Mended(time.Unix(at, 0), part, nil)
	}
	var r redirects
	env := &Environment{Rules: sw, PortName: func(uint64) string { return "" }, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(100, 0) }}
	r.reconcile(g, Rules{On: true, Config: redirect.Config{PerLink: 8}}, env, nil)
	for r.part.Report() == nil {
		runtime.Gosched()
	}
	if is := r.lost(); len(is.Texts) != 1 || len(is.Warnings) != 1 || is.Found != 3 || is.Put != 3 {
		t.Errorf("%+v", is)
	}
	r.stop()
	if is := r.lost(); is.Texts != nil || is.Warnings != nil || is.Found != 3 || is.Put != 3 {
		t.Errorf("after the end: %+v", is)
	}
	if err := g.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// asked is a network without routes that records the VRFs of the destinations asked for.
type asked map[netip.Addr]string

func (asked) Uncarried([]int) (map[int]bool, error) { return nil, nil }

func (a asked) Groups(vrf string, dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error) {
	for _, dst := range dsts {
		a[dst] = vrf
	}
	return nil, nil
}

// TestNextHopsAreThoseOfTheVRFOfTheFlow: a destination may be another one in a VRF. The driver sai
// has next hops of the default VRF alone, and the VRF of a port of several is unknown.
func TestNextHopsAreThoseOfTheVRFOfTheFlow(t *testing.T) {
	names := map[uint64]string{1: "Ethernet0", 2: "Ethernet4", 3: "Ethernet8"}
	at := func(host byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 1, 0, host}) }
	for name, tt := range map[string]struct {
		rules RuleSwitch
		want  string
	}{
		"driver sai":       {nil, "map[10.1.0.1:]"},
		"driver orchagent": {&slow{}, "map[10.1.0.1: 10.1.0.2:Vrf1]"},
	} {
		fed := make(chan packetio.Sample, 3)
		r := &redirecting{
			settings: &Rules{VRFs: map[string]string{"Ethernet4": "Vrf1", "Ethernet8": config.SeveralVRFs}}, ctx: t.Context(),
			env: &Environment{Rules: tt.rules, PortName: func(n uint64) string { return names[n] }, Log: slog.New(slog.DiscardHandler), Now: time.Now},
		}
		net := asked{}
		r.Redirector = redirect.New(redirect.Config{}, net, direct{noRules{&slow{}}}, r.env.Log)
		for from := range uint64(3) {
			fed <- packetio.Sample{Src: at(9), Dst: at(byte(from) + 1), From: from + 1}
		}
		r.feed.Store(&feed{fed})
		r.poll()
		if got := fmt.Sprint(net); got != tt.want {
			t.Errorf("%s: next hops were read to %s, want %s", name, got, tt.want)
		}
	}
}

// noRules is a switch without rules of an earlier process.
type noRules struct{ *slow }

func (noRules) Adopt() ([]engine.Redirection, error) { return nil, nil }

func (noRules) Redirect([]engine.Redirection) (map[string]error, error) { return nil, nil }

// lossy is a network of two links, of which one may lose its carrier.
type lossy struct{ lost atomic.Bool }

func (l *lossy) Uncarried([]int) (map[int]bool, error) { return map[int]bool{2: l.lost.Load()}, nil }

func (l *lossy) Groups(_ string, dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error) {
	hop := func(n int) nexthops.Member {
		return nexthops.Member{Member: ecmp.Member{Weight: 1}, Link: fmt.Sprint("up", n), Index: n, Gateway: netip.AddrFrom4([4]byte{10, 255, 0, byte(n)}), NoCarrier: n == 2 && l.lost.Load()}
	}
	all := map[netip.Addr]nexthops.Result{}
	for _, dst := range dsts {
		all[dst] = nexthops.Result{Group: &nexthops.Group{Members: []nexthops.Member{hop(1), hop(2)}}}
	}
	return all, nil
}

// free are holds of no flow.
type free struct{}

func (free) Held() placer.Held { return func(engine.FlowEntry) bool { return false } }

// unknown are holds of a flow control that gives no answer.
type unknown struct{}

func (unknown) Held() placer.Held { return nil }

// TestRulesOfADeadLinkGoWhileTheLoopIsBusy: the loop waits up to 5 s for orchagent, and serves no
// request meanwhile.
func TestRulesOfADeadLinkGoWhileTheLoopIsBusy(t *testing.T) {
	net, sw := &lossy{}, &slow{}
	now := time.Unix(1000, 0)
	r := &redirecting{
		settings: &Rules{}, ctx: t.Context(), requests: make(chan *Request),
		env: &Environment{
			PortName: func(n uint64) string { return fmt.Sprint("up", n) }, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
			Holds: free{},
		},
	}
	r.moves.Store(uint32(redirect.MovesAny))
	r.Redirector = redirect.New(redirect.Config{Moves: redirect.MovesAny}, net, direct{sw}, r.env.Log)
	r.Holds = pairs{r.env.Holds}
	fed := make(chan packetio.Sample, 4)
	r.feed.Store(&feed{fed})
	pass := func(spans int) {
		for range spans {
			for port := range uint16(4) {
				fed <- packetio.Sample{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.1.0.2"), SrcPort: port, From: 9, To: 1, Octets: 1000}
			}
			now = now.Add(20 * time.Millisecond)
			r.poll()
		}
	}
	if pass(100); len(sw.asked) == 0 || !strings.Contains(sw.asked[len(sw.asked)-1], "up2") {
		t.Fatalf("four flows by one of two links: the switch is asked for %q", sw.asked)
	}
	net.lost.Store(true)
	if pass(1); strings.Contains(sw.asked[len(sw.asked)-1], "up2") {
		t.Errorf("a link goes down: the switch is asked for %q", sw.asked[len(sw.asked)-1])
	}
	net.lost.Store(false)
	r.Holds = pairs{unknown{}}
	r.Stale()
	if pass(100); strings.Contains(sw.asked[len(sw.asked)-1], "up2") {
		t.Errorf("while it is unknown which flows are held, the switch is asked for %q", sw.asked[len(sw.asked)-1])
	}
}

// TestSlowSwitchIsWarnedOf: the times of one entry are those of logs of switches.
func TestSlowSwitchIsWarnedOf(t *testing.T) {
	for _, tt := range []struct {
		perLink int
		each    time.Duration
		lost    string // for so long; "": no warning
	}{
		{8, 15 * time.Millisecond, ""},
		{8, 25 * time.Millisecond, ""},
		{8, 90 * time.Millisecond, "720ms"},
		{2, 90 * time.Millisecond, ""},
		{3, 90 * time.Millisecond, "270ms"},
	} {
		if w := slowSwitch(tt.perLink, tt.each); (w != "") != (tt.lost != "") || !strings.Contains(w, tt.lost) {
			t.Errorf("%d entries of %v: %q, want %q", tt.perLink, tt.each, w, tt.lost)
		}
	}
}

// TestRedirectsReadNextHopsAgainWhereTheSwitchHasOthers: the loop says so, once each time.
func TestRedirectsReadNextHopsAgainWhereTheSwitchHasOthers(t *testing.T) {
	r := &redirecting{settings: &Rules{}, ctx: t.Context(), env: &Environment{Log: slog.New(slog.DiscardHandler), Now: time.Now}}
	net := asked{}
	r.Redirector = redirect.New(redirect.Config{}, net, direct{&slow{}}, r.env.Log)
	r.poll() // adopts rules, and reads the next hops of their destinations
	clear(net)
	r.poll()
	if len(net) > 0 {
		t.Fatalf("next hops are read again without news: %v", net)
	}
	r.stale.Store(true)
	r.poll()
	if len(net) != 1 || r.stale.Load() {
		t.Errorf("asked for %v: want the destination of the rules", net)
	}
}
