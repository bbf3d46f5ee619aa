// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/host/etcd"
	"sluice/orchagent-ext/spread/plan"
	"sluice/orchagent-ext/switch/engine"
)

// board is what leaves share, without etcd between them.
type board struct {
	rows      map[string][]byte
	aside     map[string]error
	leader    string
	published uint64
	about     string
	parts     map[string][]byte
	away      bool
	dies      bool // the leader dies before all parts are written: nothing of them is in force
	number    uint64
}

// side is the board as one leaf has it.
type side struct {
	*board
	leaf string
}

func (s side) Run(ctx context.Context) error { <-ctx.Done(); return nil }

func (s side) Put(row []byte) { s.rows[s.leaf] = row }

func (s side) Publish(number uint64, about string, parts map[string][]byte) {
	if s.leader == s.leaf && number > s.published && !s.dies {
		s.published, s.about, s.parts = number, about, parts
	}
}

func (s side) View() etcd.View {
	if s.away {
		return etcd.View{Err: etcd.ErrNotShared}
	}
	s.number++
	return etcd.View{
		Number: s.number, Rows: maps.Clone(s.rows), Aside: s.aside, Leader: s.leader, Leads: s.leader == s.leaf,
		Published: s.published, About: s.about, Part: s.parts[s.leaf],
	}
}

// clos is leaves with an uplink to each of some spines.
type clos struct {
	*testing.T
	board  *board
	leaves []*closLeaf
	now    int64 // s
}

type closLeaf struct {
	*bed
	name  string
	share *Share
}

func closName(i int) string { return fmt.Sprint("leaf", i) }

func behind(leaf int) netip.Prefix {
	return netip.MustParsePrefix(fmt.Sprintf("2001:db8:%x::/48", 0x100+leaf))
}

// newClos makes leaves that send each other flows of equal size.
func newClos(t *testing.T, leaves, spines, flows int) *clos {
	c := &clos{T: t, board: &board{rows: map[string][]byte{}, leader: "leaf0"}}
	for i := range leaves {
		config := kernel()
		config.Leaf = closName(i)
		b := newBed(t, config)
		b.received, b.spines = map[string]uint64{}, map[string]string{}
		b.prefixes = map[netip.Prefix][]string{behind(i): {"Vlan10"}, netip.MustParsePrefix("2001:db8:ffff::/127"): {"Ethernet0"}}
		for j := range leaves {
			if j != i {
				b.prefixes[behind(j)] = []string{"Ethernet0", "Ethernet4"}
			}
		}
		delete(b.groups, dst)
		group := members(slices.Repeat([]int{1}, spines)...)
		for s, m := range group.Members {
			b.spines[m.Link] = fmt.Sprint("spine", s)
		}
		for j := range leaves {
			if j != i {
				b.groups[behind(j).Addr().Next()] = group
			}
		}
		l := &closLeaf{bed: b, name: config.Leaf, share: NewShare(side{c.board, config.Leaf}, slog.New(slog.DiscardHandler))}
		c.leaves = append(c.leaves, l)
		order := rand.New(rand.NewPCG(1, uint64(i))).Perm(leaves - 1) // of destinations
		for n := range flows {
			l.flow(i, (i+1+order[n%(leaves-1)])%leaves, n)
		}
	}
	return c
}

// flow adds one to another leaf.
func (l *closLeaf) flow(from, to, n int) {
	f := engine.FlowEntry{Src: behind(from).Addr().Next(), Dst: behind(to).Addr().Next(), DestQP: uint32(0x100 + n), SrcPort: 49152}
	f.Label = flow.DraftLiteral.Label(0, f.DestQP, f.Src.As16(), f.Dst.As16())
	l.add(f, 1.2e6)
}

// run lets some seconds pass.
func (c *clos) run(seconds int) {
	c.Helper()
	for range seconds {
		before := make([]map[engine.FlowEntry]uint64, len(c.leaves))
		for i, l := range c.leaves {
			before[i] = maps.Clone(l.octets)
		}
		for _, l := range c.leaves {
			l.run(time.Second)
		}
		for i, l := range c.leaves {
			for k, f := range l.flows {
				for to, other := range c.leaves {
					if to != i && behind(to).Contains(f.Dst) {
						other.received[l.link(f)] += l.octets[k] - before[i][k]
					}
				}
			}
		}
		c.now++
		for _, l := range c.leaves {
			row, _ := l.p.Row()
			if err := l.share.Tell(&row); err != nil {
				c.Fatal(err)
			}
			l.share.turn(c.now * 1e9)
			l.p.SetFabric(l.share.State().Fabric)
		}
	}
}

// uneven is the max ÷ mean of any leaf's uplinks and downlinks, by what leaves and comes.
func (c *clos) uneven() (up, down float64) {
	c.Helper()
	worst := func(loads map[string]float64, links int) (w float64) {
		sum := 0.0
		for _, n := range loads {
			sum += n
			w = max(w, n)
		}
		return w / (sum / float64(links))
	}
	downs := make([]map[string]float64, len(c.leaves))
	for i := range downs {
		downs[i] = map[string]float64{}
	}
	links := 0
	for _, l := range c.leaves {
		ups := map[string]float64{}
		for k, f := range l.flows {
			ups[l.link(f)] += l.rates[k]
			for to := range c.leaves {
				if behind(to).Contains(f.Dst) {
					downs[to][l.link(f)] += l.rates[k]
				}
			}
		}
		links = len(l.spines)
		up = max(up, worst(ups, links))
	}
	for _, loads := range downs {
		down = max(down, worst(loads, links))
	}
	return up, down
}

func (c *clos) labels() (all [][]uint32) {
	for _, l := range c.leaves {
		all = append(all, l.labels())
	}
	return all
}

// even checks all links of the fabric.
func (c *clos) even(what string) {
	c.Helper()
	if up, down := c.uneven(); up > 1.05 || down > 1.05 {
		c.Errorf("%s: uplinks %.3f, downlinks %.3f", what, up, down)
	}
}

// Leaves alone fill their uplinks and meet on downlinks; a plan fills both, and then no
// flow moves. Without etcd the scope is local, and no label changes.
func TestPlanFillsUplinksAndDownlinks(t *testing.T) {
	c := newClos(t, 9, 2, 8)
	c.run(3)
	up, alone := c.uneven()
	c.run(12)
	if _, down := c.uneven(); alone <= 1.05 || down > 1.05 {
		t.Errorf("downlinks %.3f by each leaf alone, uplinks %.3f; by a plan %.3f", alone, up, down)
	}
	c.even("planned")
	for _, l := range c.leaves {
		if r := l.report(); r.Plan != 1 || r.Ignored != 0 {
			t.Errorf("%s: plan %d, %d quotas ignored", l.name, r.Plan, r.Ignored)
		}
	}
	labels := c.labels()
	c.run(20)
	if now := c.labels(); !slices.EqualFunc(labels, now, slices.Equal) || c.board.published != 1 {
		t.Errorf("labels changed after that; plan %d is in force", c.board.published)
	}

	c.board.away = true
	c.run(5)
	for _, l := range c.leaves {
		if r := l.report(); r.Plan != 0 || !errors.Is(l.share.State().Err, etcd.ErrNotShared) {
			t.Errorf("%s: plan %d without etcd, %v", l.name, r.Plan, l.share.State().Err)
		}
	}
	c.board.away = false
	c.run(2)
	if now := c.labels(); !slices.EqualFunc(labels, now, slices.Equal) {
		t.Error("labels changed while etcd was away")
	}
	if r := c.leaves[3].report(); r.Plan != 1 {
		t.Errorf("plan %d after etcd came back", r.Plan)
	}

	// A leaf that starts again follows the plan that is in force, with its labels.
	l := c.leaves[2]
	config := kernel()
	config.Leaf = l.name
	l.start(config)
	l.share = NewShare(side{c.board, l.name}, slog.New(slog.DiscardHandler))
	c.run(6)
	if r := l.report(); r.Plan != 1 || !slices.EqualFunc(labels, c.labels(), slices.Equal) {
		t.Errorf("after a restart: plan %d, labels as before: %v", r.Plan, slices.EqualFunc(labels, c.labels(), slices.Equal))
	}
}

// A planner that dies between two quotas leaves every leaf with the plan before; its
// successor makes a whole one.
func TestPlannerThatDiesLeavesNoLeafHalfApplied(t *testing.T) {
	c := newClos(t, 3, 2, 24)
	c.run(15)
	labels := c.labels()
	c.board.dies = true
	for i, l := range c.leaves[:2] { // other loads, for which another plan is due
		for n := 24; n < 40; n++ {
			l.flow(i, 2, n)
		}
	}
	c.board.about = "other leaves"
	c.run(15)
	for i, l := range c.leaves {
		if r := l.report(); r.Plan != 1 || !slices.Equal(l.labels()[:24], labels[i]) {
			t.Errorf("%s: plan %d", l.name, r.Plan)
		}
	}
	c.board.leader, c.board.dies = "leaf1", false
	c.run(15)
	for _, l := range c.leaves {
		if r := l.report(); r.Plan != 2 || l.share.State().Planner != "leaf1" {
			t.Errorf("%s: plan %d of %s", l.name, r.Plan, l.share.State().Planner)
		}
	}
	c.even("the successor's plan")
}

// Rows of others that are of no use are set aside with their reason, and quotas for leaves
// and spines that are not there are ignored and counted; all else goes on.
func TestWhatOthersWriteDoesNoHarm(t *testing.T) {
	c := newClos(t, 3, 2, 24)
	c.board.rows["bad"] = []byte(`{"leaf":"bad","demand":[{"leaf":"leaf0","class":200,"flows":1}]}`)
	c.board.rows["large"] = make([]byte, plan.MaxRowOctets+1)
	c.board.aside = map[string]error{"…": errors.New("7 more rows: at most 1024 are possible")}
	c.run(15)
	c.even("beside bad rows")
	s := c.leaves[1].share.State()
	var reasons []string
	for _, a := range s.Aside {
		reasons = append(reasons, a.Key+": "+a.Reason.Error())
	}
	if text := strings.Join(reasons, "; "); s.Leaves != 3 || len(s.Aside) != 3 || !strings.Contains(text, "bad: class 200: 0 to 127 are possible") {
		t.Errorf("%d leaves; set aside: %s", s.Leaves, text)
	}
	labels := c.labels()
	for i, part := range []string{
		`{"plan":5,"quotas":[{"leaf":"leaf9","class":40,"flows":{"spine0":9}},{"leaf":"leaf1","class":40,"flows":{"spine7":9}}]}`,
		`{"plan":4,"quotas":[]}`, "{", strings.Repeat(" ", plan.MaxRowOctets+1),
	} {
		c.board.published, c.board.about = uint64(5+i), plan.Shape(c.leaves[0].share.rows)
		c.board.parts = map[string][]byte{"leaf0": []byte(part)}
		c.run(2)
		r := c.leaves[0].report()
		if want := map[bool]uint64{true: 5, false: 0}[i == 0]; r.Plan != want || r.Ignored != 2 {
			t.Errorf("%.30s: plan %d, %d quotas ignored", part, r.Plan, r.Ignored)
		}
	}
	if !slices.EqualFunc(labels, c.labels(), slices.Equal) {
		t.Error("labels changed")
	}
}

// A leaf that loses a link evens out by itself at once, and by another plan soon; the link
// that is up again has the plan of before until then.
func TestPlanFollowsLinks(t *testing.T) {
	c := newClos(t, 3, 4, 48)
	c.run(15)
	c.even("planned")
	l := c.leaves[0]
	group := members(1, 1, 0, 1)
	for to := range l.groups {
		l.groups[to] = group
	}
	l.p.Stale(l.now)
	c.run(3)
	if r := l.report(); r.Plan != 0 || r.WorstOverMean > 1.10 {
		t.Errorf("a link is down: plan %d, uplinks %.3f", r.Plan, r.WorstOverMean)
	}
	c.run(12)
	if r := l.report(); r.Plan < 2 || r.WorstOverMean > 1.10 || r.Members[2].Flows != 0 {
		t.Errorf("another plan: %d, uplinks %.3f, %d flows on the link that is down", r.Plan, r.WorstOverMean, r.Members[2].Flows)
	}
}

// A flow that is not placed loads its links, and no plan changes that: the planner sees it,
// says so, and publishes no plan that moves nothing.
func TestFlowsThatAreNotPlacedNeedNoPlan(t *testing.T) {
	c := newClos(t, 3, 2, 24)
	unplaced := engine.FlowEntry{Src: behind(0).Addr().Next(), Dst: behind(1).Addr().Next(), DestQP: 0x999, Label: 0x12345} // its source port is not known
	c.leaves[0].add(unplaced, 2e7)
	c.run(90)
	if _, down := c.uneven(); down < 1.2 || c.board.published != 1 {
		t.Errorf("downlinks %.3f, plan %d: want the unplaced flow to be seen, and the first plan in force", down, c.board.published)
	}
	if why := c.leaves[0].share.State().Why; !strings.Contains(why, "not by flows that a plan could move") {
		t.Errorf("the planner says %q", why)
	}
	for _, l := range c.leaves {
		if r := l.report(); r.Plan != 1 {
			t.Errorf("%s: plan %d", l.name, r.Plan)
		}
	}
}

// What a row lacks is said: a plan cannot count on it.
func TestRowSaysWhatItLacks(t *testing.T) {
	c := newClos(t, 2, 2, 8)
	c.run(2)
	l := c.leaves[0]
	if row, reason := l.p.Row(); reason != "" || len(row.Prefixes) != 1 || len(row.Spines) != 2 || row.Sent["spine0"] <= 0 || row.Received["spine0"] <= 0 || len(row.Demand) != 1 {
		t.Errorf("%+v, %q", row, reason)
	}
	// The last uplink is in no group: what is behind another leaf is not behind this one.
	delete(l.groups, behind(1).Addr().Next())
	l.prefixes[behind(1)] = []string{"Ethernet4"}
	l.p.Stale(l.now)
	c.run(2)
	if row, _ := l.p.Row(); len(row.Prefixes) != 1 || row.Prefixes[0] != behind(0).String() {
		t.Errorf("behind the leaf are %v", row.Prefixes)
	}
	l.groups[behind(1).Addr().Next()] = members(1, 1)
	l.p.Stale(l.now)
	c.run(1)
	l.spines["Ethernet4"] = ""
	if row, reason := l.p.Row(); !strings.Contains(reason, "DEVICE_NEIGHBOR|Ethernet4") || len(row.Spines) != 1 {
		t.Errorf("%+v, %q", row, reason)
	}
}
