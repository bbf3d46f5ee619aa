// SPDX-License-Identifier: Apache-2.0

package redirect_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/orchagent-ext/spread/redirect"
)

// bed is a network with a group of next hops, and a switch that records its rules.
type bed struct {
	t       *testing.T
	members map[netip.Addr][]nexthops.Member
	inVRF   []nexthops.Member // to any destination in a VRF other than the default
	netErr  error
	reads   int
	rules   map[string]string // by flow: the target
	full    bool
	swErr   error
	left    []redirect.Entry // by an earlier process
	r       *redirect.Redirector
	now     time.Time

	flows   int  // that the load has
	lose    int  // of so many samples all but one are lost; 0: none
	twice   bool // each flow is two queue pairs
	samples int  // so far
	pending bool // the switch is at work

	asked      int // times that carriers were
	carrierErr error
	uncarried  map[int]bool // indexes of links without a carrier, which the kernel has yet to report
}

var destination = netip.MustParseAddr("10.1.0.2")

func newBed(t *testing.T) *bed {
	t.Helper()
	return newBedOf(t, redirect.Config{Moves: redirect.MovesAny})
}

func newBedOf(t *testing.T, c redirect.Config) *bed {
	t.Helper()
	b := &bed{t: t, flows: 4, members: map[netip.Addr][]nexthops.Member{destination: uplinks(2)}, rules: map[string]string{}, now: time.Unix(1000, 0)}
	b.r = redirect.New(c, b, b, slog.New(slog.DiscardHandler))
	return b
}

func uplinks(n int) (all []nexthops.Member) {
	for i := range n {
		all = append(all, nexthops.Member{Member: ecmp.Member{Weight: 1}, Link: fmt.Sprint("up", i), Index: i + 1, Gateway: netip.AddrFrom4([4]byte{10, 255, 0, byte(i)})})
	}
	return all
}

func (b *bed) Groups(vrf string, dsts []netip.Addr) (map[netip.Addr]nexthops.Result, error) {
	b.reads++
	if b.netErr != nil {
		return nil, b.netErr
	}
	all := map[netip.Addr]nexthops.Result{}
	for _, dst := range dsts {
		m := slices.Clone(b.members[dst])
		if vrf != "" {
			m = slices.Clone(b.inVRF)
		}
		if m != nil {
			for i := range m {
				m[i].NoCarrier = b.uncarried[m[i].Index]
			}
			all[dst] = nexthops.Result{Group: &nexthops.Group{Members: m}}
		} else {
			all[dst] = nexthops.Result{Err: errors.New("no route")}
		}
	}
	return all, nil
}

func (b *bed) Uncarried(indexes []int) (map[int]bool, error) {
	b.asked++
	down := map[int]bool{}
	for _, i := range indexes {
		if b.uncarried[i] {
			down[i] = true
		}
	}
	return down, b.carrierErr
}

func (b *bed) Redirect(all []redirect.Entry) (redirect.Answer, error) {
	if b.swErr != nil {
		return redirect.Answer{}, b.swErr
	}
	answer, is := redirect.Answer{Refused: map[redirect.Flow]redirect.Refusal{}}, map[string]string{}
	for i := range all {
		if b.full {
			answer.Refused[all[i].Flow] = redirect.Refusal{Err: errors.New("table full"), Full: true}
			continue
		}
		is[fmt.Sprint(all[i].SrcPort)] = target(all[i].To.Port, all[i].To.Address)
	}
	b.rules = is
	if b.pending {
		answer.Progress = redirect.AtWork
	}
	return answer, nil
}

// target is a next hop as rules of a bed have it.
func target(link string, gateway netip.Addr) string { return link + "@" + gateway.String() }

func (b *bed) Adopt() ([]redirect.Entry, error) { return b.left, b.swErr }

// run sends the flows, which hash to the first uplink, for a time.
func (b *bed) run(d time.Duration) {
	b.t.Helper()
	for end := b.now.Add(d); b.now.Before(end); b.now = b.now.Add(5 * time.Millisecond) {
		for port := range b.flows {
			b.samples++
			if b.lose > 0 && b.samples%b.lose != 0 {
				continue
			}
			link := "up0"
			if to, ruled := b.rules[fmt.Sprint(port)]; ruled {
				link, _, _ = strings.Cut(to, "@")
			}
			flow := redirect.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: destination, SrcPort: uint16(port)}
			b.r.Sample(flow, 1, link, 1000, b.now)
			if b.twice {
				b.r.Sample(flow, 1, link, 1000, b.now)
			}
		}
		if err := b.r.Poll(b.now); err != nil && b.swErr == nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bed) placed() {
	b.t.Helper()
	if b.run(2 * time.Second); len(b.rules) != 2 {
		b.t.Fatalf("four flows share one of two uplinks; the rules are %v: want two", b.rules)
	}
}

// allHeld are holds of all flows.
type allHeld struct{}

func (allHeld) Held() func(redirect.Flow) bool { return func(redirect.Flow) bool { return true } }

func TestRedirectorMovesNoHeldFlow(t *testing.T) {
	b := newBed(t)
	b.r.Holds = allHeld{}
	if b.run(2 * time.Second); len(b.rules) != 0 {
		t.Errorf("all flows are held, and the rules are %v", b.rules)
	}
	b.r.Holds = nil
	b.placed()
}

func TestRedirectorPlacesFlowsThatCollide(t *testing.T) {
	b := newBed(t)
	b.placed()
	r := b.r.Report(b.now)
	if len(r.Groups) != 1 || r.Rules != 2 || r.Groups[0].Worst > 1.05 || r.Err != nil {
		t.Errorf("report is %+v", r)
	}
}

func TestRedirectorRemovesRulesOfALinkThatGoesDownAtOnce(t *testing.T) {
	b := newBed(t)
	b.placed()
	down := uplinks(2)
	down[1].Dead = true
	b.members[destination] = down
	b.r.Stale()
	if err := b.r.Poll(b.now); err != nil || len(b.rules) != 0 {
		t.Errorf("rules to a dead link stay: %v, %v", b.rules, err)
	}
}

func TestRedirectorTreatsAMissingNeighborAsALinkThatIsDown(t *testing.T) {
	b := newBed(t)
	b.placed()
	unresolved := uplinks(2)
	unresolved[1].Unresolved = true
	b.members[destination] = unresolved
	b.r.Stale()
	if b.run(time.Second); len(b.rules) != 0 {
		t.Errorf("rules to a next hop without a neighbor: %v", b.rules)
	}
	b.members[destination] = uplinks(2)
	b.r.Stale()
	if b.run(2 * time.Second); len(b.rules) != 2 {
		t.Errorf("the neighbor is back, and the rules are %v", b.rules)
	}
}

func TestRedirectorRemovesRulesWhereTheRouteChanges(t *testing.T) {
	replaced := uplinks(2)
	replaced[0].Gateway = netip.MustParseAddr("10.254.0.1")
	onLink := uplinks(2)
	onLink[0].Gateway = netip.Addr{}
	for name, members := range map[string][]nexthops.Member{
		"withdrawn": nil, "one next hop": uplinks(1), "another gateway": replaced, "on the link": onLink,
	} {
		b := newBed(t)
		b.placed()
		b.members[destination] = members
		b.r.Stale()
		if err := b.r.Poll(b.now); err != nil || len(b.rules) != 0 {
			t.Errorf("%s: rules of the route before stay: %v, %v", name, b.rules, err)
		}
	}
}

func TestRedirectorKeepsRulesWhileTheNetworkCannotBeRead(t *testing.T) {
	b := newBed(t)
	b.placed()
	b.netErr = errors.New("netlink fails")
	b.r.Stale()
	before := b.reads
	b.run(time.Second)
	if r := b.r.Report(b.now); r.Err == nil || len(b.rules) != 2 {
		t.Errorf("the report has no error, or rules have gone: %v, %v", r.Err, b.rules)
	}
	if b.reads-before > 3 {
		t.Errorf("next hops that cannot be read were read %d times in a second", b.reads-before)
	}
}

func TestRedirectorLeavesFlowsByHashWhereTheTableIsFull(t *testing.T) {
	b := newBed(t)
	b.full = true
	b.run(2 * time.Second)
	if r := b.r.Report(b.now); r.Refused == nil || r.Groups[0].Refused == 0 || r.Groups[0].Rules != 0 {
		t.Errorf("report is %+v", r)
	}
	b.full = false
	if b.run(15 * time.Second); len(b.rules) != 2 {
		t.Errorf("there is room again, and the rules are %v", b.rules)
	}
}

func TestRedirectorTriesAFailingSwitchAgain(t *testing.T) {
	b := newBed(t)
	b.swErr = errors.New("the switch fails")
	b.run(2 * time.Second)
	b.swErr = nil
	if b.run(2 * time.Second); len(b.rules) != 2 {
		t.Errorf("the switch works again, and the rules are %v", b.rules)
	}
}

func TestRedirectorIgnoresDestinationsOutsideGroups(t *testing.T) {
	b := newBed(t)
	other := netip.MustParseAddr("192.0.2.1")
	for range 100 {
		b.r.Sample(redirect.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: other, SrcPort: 1}, 1, "up0", 1000, b.now)
		b.now = b.now.Add(10 * time.Millisecond)
		if err := b.r.Poll(b.now); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.rules) != 0 || len(b.r.Report(b.now).Groups) != 0 {
		t.Errorf("a flow without a group has a rule: %v", b.rules)
	}
}

// TestRedirectorKeepsFlowsInTheirVRF: the same 5-tuples come in by ports of two VRFs, whose routes
// to that destination have other next hops.
func TestRedirectorKeepsFlowsInTheirVRF(t *testing.T) {
	b := newBed(t)
	b.inVRF = uplinks(4)[2:]
	rules := map[string][]redirect.Entry{}
	sw := recorder{bed: b, rules: rules}
	b.r = redirect.New(redirect.Config{Moves: redirect.MovesAny}, b, sw, slog.New(slog.DiscardHandler))
	for range 200 {
		for port := range uint16(4) {
			flow := redirect.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: destination, SrcPort: port}
			b.r.Sample(flow, 1, "up0", 1000, b.now)
			flow.VRF = "Vrf1"
			b.r.Sample(flow, 2, "up2", 1000, b.now)
		}
		b.now = b.now.Add(10 * time.Millisecond)
		if err := b.r.Poll(b.now); err != nil {
			t.Fatal(err)
		}
	}
	for vrf, to := range map[string]string{"": "up1", "Vrf1": "up3"} {
		if len(rules[vrf]) != 2 {
			t.Errorf("VRF %q has the rules %v: want two", vrf, rules[vrf])
		}
		for _, r := range rules[vrf] {
			if r.To.Port != to {
				t.Errorf("a flow of VRF %q goes to %s: want %s", vrf, r.To.Port, to)
			}
		}
	}
	// The next process takes them over, each with its VRF; the route of one VRF has gone.
	b.left, b.inVRF = append(slices.Clone(rules[""]), rules["Vrf1"]...), nil
	b.r = redirect.New(redirect.Config{Moves: redirect.MovesAny}, b, sw, slog.New(slog.DiscardHandler))
	if err := b.r.Poll(b.now); err != nil || len(rules[""]) != 2 || len(rules["Vrf1"]) != 0 {
		t.Errorf("adopted %v, %v: want those of the default VRF", rules, err)
	}
}

// recorder is a switch that records rules by VRF.
type recorder struct {
	*bed
	rules map[string][]redirect.Entry
}

func (r recorder) Redirect(all []redirect.Entry) (redirect.Answer, error) {
	clear(r.rules)
	for i := range all {
		r.rules[all[i].VRF] = append(r.rules[all[i].VRF], all[i])
	}
	return redirect.Answer{}, nil
}

// leave has an earlier process leave rules: source port 0 to up0, 1 to up1 and so on.
func (b *bed) leave(n int) {
	for i := range n {
		hop := uplinks(n)[i]
		b.left = append(b.left, redirect.Entry{Flow: redirect.Flow{Src: netip.MustParseAddr("10.0.0.1"), Dst: destination, SrcPort: uint16(i)}, To: redirect.NextHop{Address: hop.Gateway, Port: hop.Link}})
		b.rules[fmt.Sprint(i)] = target(hop.Link, hop.Gateway)
	}
}

func TestRedirectorAdoptsRulesOfAnEarlierProcess(t *testing.T) {
	b := newBed(t)
	b.leave(2)
	b.netErr = errors.New("netlink fails")
	if err := b.r.Poll(b.now); err != nil || len(b.rules) != 2 {
		t.Fatalf("rules went before the network was known: %v, %v", b.rules, err)
	}
	b.netErr = nil
	b.now = b.now.Add(time.Second)
	if err := b.r.Poll(b.now); err != nil || len(b.rules) != 2 {
		t.Errorf("rules to live next hops went: %v, %v", b.rules, err)
	}
	if r := b.r.Report(b.now); r.Rules != 2 || r.Groups[0].Rules != 2 {
		t.Errorf("report is %+v", r)
	}
}

func TestRedirectorRemovesRulesOfAnEarlierProcessThatLeadNowhere(t *testing.T) {
	dead, other := uplinks(2), uplinks(2)
	dead[1].Dead = true
	other[1].Gateway = netip.MustParseAddr("10.254.0.1")
	for name, members := range map[string][]nexthops.Member{"dead link": dead, "another gateway": other} {
		b := newBed(t)
		b.leave(2)
		b.members[destination] = members
		if err := b.r.Poll(b.now); err != nil || len(b.rules) != 1 || !strings.HasPrefix(b.rules["0"], "up0@") {
			t.Errorf("%s: the rules are %v, %v: want the one to up0", name, b.rules, err)
		}
	}
	b := newBed(t)
	b.leave(2)
	b.members[destination] = nil
	if err := b.r.Poll(b.now); err != nil || len(b.rules) != 0 {
		t.Errorf("the route is gone, and the rules are %v, %v", b.rules, err)
	}
}
