// SPDX-License-Identifier: Apache-2.0

package picture

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// row makes a row of a name and pairs of field and value.
func row(name string, pairs ...string) rows.Row {
	table, key, _ := strings.Cut(name, "|")
	r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		r.Fields[pairs[i]] = pairs[i+1]
	}
	return r
}

// at returns a frame of one switch, leaf1, at so many seconds after noon.
func at(seconds float64, all ...rows.Row) *frame.Frame {
	t := noon.Add(time.Duration(seconds * float64(time.Second)))
	return &frame.Frame{At: t, Switches: []frame.Switch{{Name: "leaf1", At: t, Rows: all}}}
}

// known is a value that is known.
func known[T any](v T) *T { return &v }

// port is a port of role fabric that has sent so many octets.
func port(name string, octets int) rows.Row {
	return row("SLUICE_PORT_STATS|"+name, "role", "fabric", "oper_status", "up", "tx_bytes", fmt.Sprint(octets), "rx_bytes", "0")
}

func TestRatesAreOverTheTimeBetweenReadings(t *testing.T) {
	read := func(seconds float64) rows.Row {
		return row("SLUICE_STATS|global", "read_time", noon.Add(time.Duration(seconds*float64(time.Second))).Format(time.RFC3339Nano))
	}
	for _, tt := range []struct {
		name      string
		f, before *frame.Frame
		want      *float64
	}{
		{"the clock of sluiced", at(1, read(2), port("Ethernet0", 3e6)), at(0, read(0), port("Ethernet0", 1e6)), known(8.0)},
		{"the clock of the switch", at(4, port("Ethernet0", 3e6)), at(0, port("Ethernet0", 1e6)), known(4.0)},
		{"no frame before", at(1, port("Ethernet0", 3e6)), nil, nil},
		{"a counter that went back", at(1, port("Ethernet0", 1e6)), at(0, port("Ethernet0", 3e6)), nil},
		{"a port that is new", at(1, port("Ethernet0", 1e6)), at(0), nil},
		{"no time between", at(1, read(0), port("Ethernet0", 3e6)), at(0, read(0), port("Ethernet0", 1e6)), nil},
		{"time that went back", at(1, read(0), port("Ethernet0", 3e6)), at(0, read(1), port("Ethernet0", 1e6)), nil},
		{"a number that is none", at(1, row("SLUICE_PORT_STATS|Ethernet0", "role", "fabric", "tx_bytes", "-1e9")), at(0, port("Ethernet0", 1e6)), nil},
	} {
		p := Of(tt.f, tt.before)
		if len(p.Uplinks) != 1 {
			t.Fatalf("%s: %+v", tt.name, p.Uplinks)
		}
		if diff := cmp.Diff(tt.want, p.Uplinks[0].Mbps); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
	silent := at(0, port("Ethernet0", 1e6))
	silent.Switches[0].Missing = "deadline exceeded"
	if p := Of(at(1, port("Ethernet0", 3e6)), silent); p.Uplinks[0].Mbps != nil {
		t.Error("a rate since a frame in which the switch did not answer")
	}
}

// TestRatesStayUntilSluicedCountsAgain: one who reads as often as sluiced counts meets a count twice
// now and then.
func TestRatesStayUntilSluicedCountsAgain(t *testing.T) {
	frameAt := func(seconds, read float64, octets int) *frame.Frame {
		return at(seconds, row("SLUICE_STATS|global", "read_time", noon.Add(time.Duration(read*float64(time.Second))).Format(time.RFC3339Nano)), port("Ethernet0", octets))
	}
	silent := at(0)
	silent.Switches[0].Missing = "deadline exceeded"
	first, before := frameAt(0.2, 0, 0), frameAt(1.2, 1, 1e6)
	for _, tt := range []struct {
		name       string
		f, earlier *frame.Frame
		asks       bool
		want       *float64
	}{
		{"counted again", frameAt(2.2, 2, 3e6), first, false, known(16.0)},
		{"not yet", frameAt(2.2, 1, 1e6), first, true, known(8.0)},
		{"not yet, after 5 s", frameAt(6, 1, 1e6), first, true, known(8.0)},
		{"stale", frameAt(6.1, 1, 1e6), first, false, nil},
		{"no frame earlier", frameAt(2.2, 1, 1e6), nil, true, nil},
		{"silent earlier", frameAt(2.2, 1, 1e6), silent, true, nil},
		{"another switch", &frame.Frame{At: noon, Switches: []frame.Switch{{Name: "leaf2", Rows: []rows.Row{port("Ethernet0", 5)}}}}, first, false, nil},
		{"no time of the count", at(2.2, port("Ethernet0", 1e6)), first, false, known(0.0)},
	} {
		asked := false
		since := Since(tt.f, before, func() *frame.Frame { asked = true; return tt.earlier })
		if diff := cmp.Diff(tt.want, Of(tt.f, since).Uplinks[0].Mbps); diff != "" || asked != tt.asks {
			t.Errorf("%s: asked for the earlier one: %v; %s", tt.name, asked, diff)
		}
		if since.At != before.At || before.Switches[0].Rows[1].Fields["tx_bytes"] != "1000000" {
			t.Errorf("%s: the frame before has changed", tt.name)
		}
	}
	if Since(first, nil, nil) != nil {
		t.Error("a frame before the first")
	}
}

// TestSwitchesHaveTheirOwnUplinks: one, none, and two.
func TestSwitchesHaveTheirOwnUplinks(t *testing.T) {
	f := at(0, port("Ethernet0", 1))
	for name, ports := range map[string][]rows.Row{"leaf2": nil, "leaf3": {port("Ethernet0", 1), port("Ethernet4", 1)}} {
		f.Switches = append(f.Switches, frame.Switch{Name: name, Rows: ports})
	}
	got := map[string]int{}
	for _, s := range Of(f, nil).Switches {
		got[s.Name] = s.Uplinks
	}
	if diff := cmp.Diff(map[string]int{f.Switches[0].Name: 1, "leaf2": 0, "leaf3": 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestUplinksAreComparedWithTheMeanOfThoseThatAreUp(t *testing.T) {
	down := row("SLUICE_PORT_STATS|Ethernet8", "role", "fabric", "oper_status", "down", "tx_bytes", "0", "rx_bytes", "0")
	host := row("SLUICE_PORT_STATS|Ethernet12", "role", "edge", "oper_status", "up", "tx_bytes", "9000000")
	queue := func(drops string) rows.Row {
		return row("SLUICE_QUEUE_STATS|Ethernet0|3", "queued_bytes", "700", "watermark_bytes", "9000", "dropped", drops)
	}
	flow := func(ce string) rows.Row {
		return row("SLUICE_FLOW|f", "src", "::1", "dst", "::2", "dest_qp", "18", "egress_port", "Ethernet0", "ce_packets", ce, "sampling_rate", "10", "seen_packets", "9")
	}
	others := []rows.Row{
		down, host, row("SLUICE_PLACEMENT_MEMBER|fd00::/64|Ethernet0", "weight", "1"), row("SLUICE_HOLD|h", "port", "Ethernet0", "from", "fe80::2"),
		row("SLUICE_NEXT_HOP|fd00::/64|0", "port", "Ethernet0", "gateway", "fe80::2", "neighbor", "spine1", "neighbor_port", "Ethernet40"),
		row("SLUICE_QUEUE_STATS|Ethernet0|4", "queued_bytes", "900", "watermark_bytes", "1", "dropped", "5"),
	}
	p := Of(at(2, append([]rows.Row{port("Ethernet0", 4e6), port("Ethernet4", 2e6), queue("30"), flow("7")}, others...)...),
		at(0, append([]rows.Row{port("Ethernet0", 1e6), port("Ethernet4", 1e6), queue("10"), flow("3")}, others...)...))
	want := []Uplink{
		{
			Switch: "leaf1", Port: "Ethernet0", Neighbor: "spine1", NeighborPort: "Ethernet40", Group: "fd00::/64", Up: known(true), Mbps: known(12.0), BackMbps: known(0.0),
			OverMean: known(1.5), CE: known(20.0), Drops: known(10.0), Queued: known(uint64(900)), Watermark: known(uint64(9000)), Flows: 1, Held: 1,
		},
		{Switch: "leaf1", Port: "Ethernet4", Up: known(true), Mbps: known(4.0), BackMbps: known(0.0), OverMean: known(0.5)},
		{Switch: "leaf1", Port: "Ethernet8", Up: known(false), Mbps: known(0.0), BackMbps: known(0.0), OverMean: known(0.0)},
	}
	if diff := cmp.Diff(want, p.Uplinks); diff != "" {
		t.Error(diff)
	}
	if s := p.Switches[0]; s.Uplinks != 3 || s.WorstOver == nil || *s.WorstOver != 1.5 || !s.Leaf {
		t.Errorf("%+v", s)
	}
	if q := p.Queues; len(q) != 2 || q[0].Queue != "3" || *q[0].Drops != 10 {
		t.Errorf("%+v", q)
	}
}

func TestSwitchesThatAreNotWellComeFirst(t *testing.T) {
	alive := noon.Add(-8 * time.Second).Format(time.RFC3339)
	state := func(state, alive string) []rows.Row {
		return []rows.Row{row("SLUICE_STATE|global", "state", state, "alive", alive, "warnings", "a; b")}
	}
	f := &frame.Frame{At: noon, Switches: []frame.Switch{
		{Name: "leaf2", Rows: state("running", noon.Format(time.RFC3339))}, {Name: "leaf10", Address: "10.0.0.9:50070", Missing: "deadline exceeded after 1.5 s"},
		{Name: "leaf3", Rows: state("running", alive)}, {Name: "leaf4"}, {Name: "leaf5", Rows: state("degraded", noon.Format(time.RFC3339))}, {Name: "leaf2"},
	}}
	var got []string
	for _, s := range Of(f, nil).Switches {
		got = append(got, fmt.Sprintf("%s %s %s %v %q", s.Name, s.State, s.Missing, s.Stale, s.Warnings))
	}
	want := []string{
		`leaf2  another switch has the same name false []`, `leaf10  deadline exceeded after 1.5 s false []`, `leaf3 running  true ["a" "b"]`, `leaf4 not-running  false []`,
		`leaf5 degraded  false ["a" "b"]`, `leaf2 running  false ["a" "b"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// fabric is two leaves and a spine between, with a flow that comes in at leaf1 and fills a queue
// of leaf2: leaf2 asks spine1, which holds it and asks leaf1.
func fabric() *frame.Frame {
	flow := func(pairs ...string) rows.Row {
		return row("SLUICE_FLOW|fd00::1,fd00::2,000012", append([]string{"src", "fd00::1", "dst", "fd00::2", "dest_qp", "18", "flow_label", "7"}, pairs...)...)
	}
	hold := func(port, from string) rows.Row {
		return row("SLUICE_HOLD|"+from+",1,3", "src", "fd00::1", "dst", "fd00::2", "dest_qp", "18", "stream_id", "5", "message", "pfcm", "from", from, "port", port, "queue", "3",
			"state", "held", "action", "pause", "since", noon.Add(-2*time.Second).Format(time.RFC3339Nano), "waiting_bytes", "400")
	}
	hop := func(port, gateway, name, far string) rows.Row {
		return row("SLUICE_NEXT_HOP|fd00::/64|"+port, "port", port, "gateway", gateway, "neighbor", name, "neighbor_port", far)
	}
	fabricPort := func(name string) rows.Row {
		return row("SLUICE_PORT_STATS|"+name, "role", "fabric", "oper_status", "up")
	}
	return &frame.Frame{At: noon, Switches: []frame.Switch{
		{Name: "leaf2", At: noon, Rows: []rows.Row{
			flow("ingress_port", "Ethernet0", "egress_port", "Ethernet8", "queue", "3", "queue_bytes", "90000", "state", "congested", "notified_neighbor", "fe80::b2", "rate_mbps", "400"),
			hop("Ethernet0", "fe80::b2", "spine1", "Ethernet4"), fabricPort("Ethernet0"), row("SLUICE_PORT_STATS|Ethernet8", "role", "edge"),
			row("SLUICE_QUEUE_STATS|Ethernet8|3", "queued_bytes", "100000", "watermark_bytes", "200000", "packets", "9", "dropped", "0"),
		}},
		{Name: "spine1", At: noon, Rows: []rows.Row{
			flow("ingress_port", "Ethernet0", "egress_port", "Ethernet4", "state", "held", "notified_neighbor", "fe80::a1", "rate_mbps", "600"), hold("Ethernet4", "fe80::c2"),
			hop("Ethernet4", "fe80::c2", "leaf2", "Ethernet0"), hop("Ethernet0", "fe80::a1", "leaf1", "Ethernet0"), fabricPort("Ethernet0"), fabricPort("Ethernet4"),
		}},
		{Name: "leaf1", At: noon, Rows: []rows.Row{
			flow("ingress_port", "Ethernet4", "egress_port", "Ethernet0", "state", "held", "advised_mbps", "100", "not_following", "true", "seen_packets", "50", "ect_packets", "50", "ce_packets", "5", "naks_rnr", "2", "psn_lost", "3"),
			hold("Ethernet0", "fe80::b1"), hop("Ethernet0", "fe80::b1", "spine1", "Ethernet0"), fabricPort("Ethernet0"), row("SLUICE_PORT_STATS|Ethernet4", "role", "edge"),
		}},
	}}
}

func TestHoldsAreATreeOfWhoAskedWhom(t *testing.T) {
	p := Of(fabric(), nil)
	if len(p.Holds) != 1 || p.Of.Holds != 2 {
		t.Fatalf("%d trees, %d holds", len(p.Holds), p.Of.Holds)
	}
	root := p.Holds[0]
	if root.Switch != "leaf2" || root.Message != "" || root.State != "congested" || *root.Waiting != 90000 || len(root.Below) != 1 {
		t.Fatalf("%+v", root)
	}
	spine := root.Below[0]
	if spine.Switch != "spine1" || spine.Message != "pfcm" || spine.Joined != byNeighbor || spine.FromSwitch != "leaf2" || spine.Notified != "fe80::a1" || *spine.Seconds != 2 || len(spine.Below) != 1 {
		t.Fatalf("%+v", spine)
	}
	if leaf := spine.Below[0]; leaf.Switch != "leaf1" || leaf.Joined != byNeighbor || leaf.FromSwitch != "spine1" || leaf.Below != nil {
		t.Fatalf("%+v", leaf)
	}
}

func TestHoldsWithoutNeighborsAreJoinedByTheirFlow(t *testing.T) {
	f := fabric()
	for i := range f.Switches {
		f.Switches[i].Rows = slices.DeleteFunc(f.Switches[i].Rows, func(r rows.Row) bool { return r.Table == "SLUICE_NEXT_HOP" })
	}
	// two switches asked for the flow, so that of leaf1 alone the asker is one of them
	p := Of(f, nil)
	if p.Of.Holds != 2 || len(p.Holds) != 2 {
		t.Fatalf("%d trees, %d holds", len(p.Holds), p.Of.Holds)
	}
	f.Switches = f.Switches[:2]
	p = Of(f, nil)
	if len(p.Holds) != 1 || p.Holds[0].Switch != "leaf2" || len(p.Holds[0].Below) != 1 || p.Holds[0].Below[0].Joined != byFlow {
		t.Fatalf("%+v", p.Holds[0])
	}
}

// TestHoldsThatDoNotNameTheirFlow: rows without addresses are not taken for each other's.
func TestHoldsThatDoNotNameTheirFlow(t *testing.T) {
	p := Of(at(0, row("SLUICE_FLOW|x", "notified_neighbor", "fe80::1", "state", "congested"), row("SLUICE_FLOW|y", "state", "congested"),
		row("SLUICE_HOLD|h", "stream_id", "5", "port", "Ethernet0", "from", "fe80::2", "message", "pfcm")), nil)
	var got []string
	for _, h := range p.Holds {
		got = append(got, fmt.Sprintf("%q %q %q", h.Flow, h.Message, h.Notified))
	}
	if diff := cmp.Diff([]string{`"" "pfcm" ""`, `"x" "" "fe80::1"`}, got); diff != "" || p.Of.Trees != 2 || p.Of.Holds != 1 {
		t.Errorf("%+v: %s", p.Of, diff)
	}
}

func TestHoldsInACircleEndSomewhere(t *testing.T) {
	f := fabric()
	// leaf1 and leaf2 as each other's neighbors, both of which hold and asked
	for i := range f.Switches {
		far := map[string]string{"leaf1": "leaf2", "leaf2": "leaf1", "spine1": "spine1"}[f.Switches[i].Name]
		f.Switches[i].Rows = []rows.Row{
			row("SLUICE_FLOW|f", "src", "::1", "dst", "::2", "dest_qp", "1", "notified_neighbor", "fe80::1", "state", "held"),
			row("SLUICE_HOLD|h", "src", "::1", "dst", "::2", "dest_qp", "1", "port", "Ethernet0", "from", "fe80::1", "message", "pfcm"),
			row("SLUICE_NEXT_HOP|x|0", "port", "Ethernet0", "neighbor", far),
		}
	}
	if p := Of(f, nil); p.Of.Holds != 3 {
		t.Errorf("%d holds in trees, there are 3", p.Of.Holds)
	}
}

func TestFlowsAreJoinedInTheOrderOfTheirPath(t *testing.T) {
	p := Of(fabric(), nil)
	if len(p.Flows) != 1 {
		t.Fatalf("%+v", p.Flows)
	}
	f := p.Flows[0]
	var path []string
	for _, h := range f.Hops {
		path = append(path, h.Switch+" "+h.In+" "+h.Out)
	}
	if diff := cmp.Diff([]string{"leaf1 Ethernet4 Ethernet0", "spine1 Ethernet0 Ethernet4", "leaf2 Ethernet0 Ethernet8"}, path); diff != "" {
		t.Error(diff)
	}
	if f.State != "held" || *f.Mbps != 600 || *f.Queued != 90000 || *f.Advised != 100 || !f.NotFollowing || *f.DestQP != 18 {
		t.Errorf("%+v", f)
	}
	want := []Health{{Switch: "leaf1", Pair: f.Pair, Seen: known(uint64(50)), Marked: known(10.0), NAKs: known(uint64(2)), Lost: known(uint64(3))}}
	if diff := cmp.Diff(want, p.Health); diff != "" {
		t.Error(diff)
	}
	if a := p.Advice; len(a) != 1 || a[0].Switch != "leaf1" || *a[0].Advised != 100 {
		t.Errorf("%+v", a)
	}
	if q := p.Queues; len(q) != 1 || len(q[0].Elephants) != 1 || *q[0].Elephants[0].Queued != 90000 {
		t.Errorf("%+v", q)
	}
}

func TestLinksAreThereOnce(t *testing.T) {
	p := Of(fabric(), nil)
	var got []string
	for _, l := range p.Links {
		got = append(got, fmt.Sprint(l.From, l.To, l.Held))
	}
	want := []string{"{leaf1 Ethernet0} {spine1 Ethernet0} 1", "{leaf2 Ethernet0} {spine1 Ethernet4} 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMovesHaveTheLabelBefore(t *testing.T) {
	flow := func(label, path string, moved ...string) rows.Row {
		return row("SLUICE_FLOW|f", append([]string{"src", "::1", "dst", "::2", "dest_qp", "1", "flow_label", label, "path", path}, moved...)...)
	}
	group := func(moves string) rows.Row {
		return row("SLUICE_PLACEMENT_GROUP|fd00::/64", "state", "active", "worst_over_mean", "1.250", "hash_worst_over_mean", "2.000", "moves", moves, "flows", "9")
	}
	p := Of(at(1, flow("8", "Ethernet4", "moved_at", "2026-11-27T12:00:00Z"), group("5")), at(0, flow("7", "Ethernet0"), group("3")))
	if m := p.Moves; len(m) != 1 || *m[0].Label != 8 || *m[0].LabelBefore != 7 || m[0].Path != "Ethernet4" || m[0].PathBefore != "Ethernet0" {
		t.Errorf("%+v", m)
	}
	if g := p.Groups; len(g) != 1 || *g[0].Worst != 1.25 || *g[0].ByHash != 2 || *g[0].Moves != 5 || *g[0].Moved != 2 {
		t.Errorf("%+v", g)
	}
}

func TestShownFindsByAddressQueuePairAndSwitch(t *testing.T) {
	p := Of(fabric(), nil)
	for find, want := range map[string]int{"": 1, "fd00::1": 1, "FD00": 1, "18": 1, "0x12": 1, "19": 0, "spine": 1, "ethernet8": 1, "fd00::3": 0, "<b>": 0} {
		if got := p.Shown(Wanted{Find: find, Most: 10}); len(got.Flows) != want || len(got.Links) != 2 || got.Of.Flows != 1 {
			t.Errorf("%q: %d flows", find, len(got.Flows))
		}
	}
	id := p.Flows[0].Flow
	for _, w := range []Wanted{{Find: "none", Flow: id, Most: 1}, {Find: "none", Switch: "spine1", Most: 1}, {Find: "none", Switch: "spine1", Port: "Ethernet4", Most: 1}} {
		if got := p.Shown(w); len(got.Flows) != 1 {
			t.Errorf("%+v: %d flows", w, len(got.Flows))
		}
	}
	if got := p.Shown(Wanted{Switch: "spine1", Port: "Ethernet8", Find: "none", Most: 1}); len(got.Flows) != 0 {
		t.Error("a flow of another port")
	}
	if got := p.Shown(Wanted{}); len(got.Flows) != 0 || len(got.Holds) != 0 || got.Queues == nil {
		t.Error("lists are not cut")
	}
}

// TestTextsOfAPictureArePrintableAndShort: rows of all tables with text that terminals obey, and
// with long text, in every field and key.
func TestTextsOfAPictureArePrintableAndShort(t *testing.T) {
	for _, hostile := range []string{"x\u009b31m\u202ey\u200b\x1b[2J\x7f\u2028", "<img src=x onerror=alert(1)>", strings.Repeat("long|", 2000)} {
		f := &frame.Frame{At: noon}
		for _, name := range []string{hostile, hostile + "2"} {
			s := frame.Switch{Name: name, Address: hostile, At: noon}
			for database, tables := range frame.Tables {
				for _, table := range tables {
					d, ok := rows.Describe(table)
					if !ok || d.Database != database {
						continue
					}
					fields := map[string]string{}
					for _, l := range d.Leaves {
						fields[l.Column] = hostile
						if l.Counter || l.Number {
							fields[l.Column] = "7"
						}
					}
					fields["role"], fields["oper_status"] = "fabric", "up"
					s.Rows = append(s.Rows, rows.Row{Table: table, Key: strings.Join(slices.Repeat([]string{hostile}, max(1, len(d.Keys))), "|"), Fields: fields}, rows.Row{Table: table, Key: hostile})
				}
			}
			f.Switches = append(f.Switches, s)
		}
		f.Switches = append(f.Switches, frame.Switch{Name: hostile + "3", Missing: hostile})
		encoded, err := json.Marshal(Of(f, f).Shown(Wanted{Most: 100}))
		if err != nil {
			t.Fatal(err)
		}
		var value any
		if err := json.Unmarshal(encoded, &value); err != nil {
			t.Fatal(err)
		}
		texts := 0
		var walk func(v any)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				for _, of := range v {
					walk(of)
				}
			case []any:
				for _, of := range v {
					walk(of)
				}
			case string:
				texts++
				if len(v) > longest+32 || strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) }) {
					t.Errorf("%q", v)
				}
			}
		}
		if walk(value); texts < 50 {
			t.Errorf("%d texts", texts)
		}
	}
}
