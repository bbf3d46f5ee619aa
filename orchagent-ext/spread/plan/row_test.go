// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/placement"
)

// What other leaves wrote is set aside with its reason if it cannot be used; the rest is.
func TestReadSetsBadRowsAside(t *testing.T) {
	good := Row{Leaf: "leaf0", Spines: map[string]float64{"spine0": 1}, Demand: []Demand{{"leaf1", 40, 3}}, Received: map[string]float64{"spine0": 1e9}, Sent: map[string]float64{"spine0": 1e8}, Prefixes: []string{"2001:db8:1::/48"}, Placed: map[string]map[string]float64{"leaf1": {"spine0": 1e6}}}
	many := Row{Leaf: "many"}
	for i := range MaxDemands + 1 {
		many.Demand = append(many.Demand, Demand{fmt.Sprint(i), 0, 1})
	}
	spines := Row{Leaf: "spines", Spines: map[string]float64{}}
	for i := range MaxSpines + 1 {
		spines.Spines[fmt.Sprint(i)] = 1
	}
	rows := map[string][]byte{
		"leaf0": text(t, good),
		"many":  text(t, many), "spines": text(t, spines),
		"large":    bytes.Repeat([]byte(" "), MaxRowOctets+1),
		"empty":    {},
		"list":     []byte("[]"),
		"two":      []byte(`{"leaf":"two"} {}`),
		"other":    text(t, good),
		"noname":   []byte(`{"leaf":""}`),
		"longname": text(t, Row{Leaf: strings.Repeat("x", 256)}),
		"negative": []byte(`{"leaf":"negative","spines":{"a":-1}}`),
		"huge":     []byte(`{"leaf":"huge","received":{"a":1e300}}`),
		"overflow": []byte(`{"leaf":"overflow","spines":{"a":1e999}}`),
		"class":    []byte(`{"leaf":"class","demand":[{"leaf":"a","class":128,"flows":1}]}`),
		"below":    []byte(`{"leaf":"below","demand":[{"leaf":"a","class":-1,"flows":1}]}`),
		"flows":    []byte(`{"leaf":"flows","demand":[{"leaf":"a","class":1,"flows":1048577}]}`),
		"sum":      []byte(`{"leaf":"sum","demand":[{"leaf":"a","class":1,"flows":1048576},{"leaf":"b","class":1,"flows":1}]}`),
		"minus":    []byte(`{"leaf":"minus","demand":[{"leaf":"a","class":1,"flows":-1}]}`),
		"twice":    []byte(`{"leaf":"twice","demand":[{"leaf":"a","class":1,"flows":1},{"leaf":"a","class":1,"flows":2}]}`),
		"nowhere":  []byte(`{"leaf":"nowhere","demand":[{"leaf":"","class":1,"flows":1}]}`),
		"nospine":  []byte(`{"leaf":"nospine","spines":{"":1}}`),
		"sent":     []byte(`{"leaf":"sent","sent":{"a":-1}}`),
		"default":  []byte(`{"leaf":"default","prefixes":["::/0"]}`),
		"ipv4":     []byte(`{"leaf":"ipv4","prefixes":["192.0.2.0/24"]}`),
		"host":     []byte(`{"leaf":"host","prefixes":["2001:db8::1/64"]}`),
		"address":  []byte(`{"leaf":"address","prefixes":["2001:db8::1"]}`),
		"prefixes": text(t, Row{Leaf: "prefixes", Prefixes: make([]string, MaxPrefixes+1)}),
		"placed":   []byte(`{"leaf":"placed","placed":{"a":{"s":-1}}}`),
		"unnamed":  []byte(`{"leaf":"unnamed","placed":{"":{"s":1}}}`),
		"numbers":  text(t, Row{Leaf: "numbers", Placed: placedTo(MaxPlaced/2+1, 2)}),
	}
	got, aside := Read(rows)
	if diff := cmp.Diff([]Row{good}, got); diff != "" {
		t.Error(diff)
	}
	if len(aside) != len(rows)-1 {
		t.Errorf("%d rows set aside, of %d", len(aside), len(rows)-1)
	}
	want := map[string]string{
		"many": "demands: at most 8192", "spines": "at most 256", "large": "at most 524288", "two": "more text",
		"other": `leaf "leaf0"`, "negative": "0 to 1e+15", "class": "0 to 127", "sum": "more than 1048576 flows", "twice": "twice",
		"sent": "0 to 1e+15", "default": "longer than 0", "ipv4": "a prefix of IPv6", "host": "other bits are 0", "prefixes": "at most 4096",
		"placed": "0 to 1e+15", "unnamed": "name of a destination leaf", "numbers": "at most 4096",
	}
	for _, a := range aside {
		if a.Reason == nil || !strings.Contains(a.Reason.Error(), want[a.Key]) {
			t.Errorf("%s: %v, want %q", a.Key, a.Reason, want[a.Key])
		}
	}
}

// placedTo is what goes to so many leaves by so many spines.
func placedTo(leaves, spines int) map[string]map[string]float64 {
	placed := map[string]map[string]float64{}
	for l := range leaves {
		placed[leafName(l)] = map[string]float64{}
		for s := range spines {
			placed[leafName(l)][spineName(s)] = 1e6
		}
	}
	return placed
}

// What is placed is told whole, or not at all: a part would say that the rest is not there.
func TestTrimTellsWhatIsPlacedWhole(t *testing.T) {
	r := Row{Leaf: "a", Placed: placedTo(MaxPlaced/2, 2)}
	r.Trim()
	if err := r.check(); err != nil || r.placed() != MaxPlaced {
		t.Errorf("%v, %d numbers", err, r.placed())
	}
	r.Placed["more"] = map[string]float64{"s": 1}
	r.Trim()
	if err := r.check(); err != nil || r.placed() != 0 {
		t.Errorf("%v, %d numbers of more than a row may have", err, r.placed())
	}
}

func TestReadBoundsTheLeaves(t *testing.T) {
	rows := map[string][]byte{}
	for i := range MaxLeaves + 2 {
		rows[leafName(i)] = text(t, Row{Leaf: leafName(i)})
	}
	if good, aside := Read(rows); len(good) != MaxLeaves || len(aside) != 2 {
		t.Errorf("%d rows, %d set aside", len(good), len(aside))
	}
}

// The way of quotas: demand of a table, planned, as JSON, into the table again; the flows
// follow, and the load is as planned. Two members lead to one spine.
func TestQuotasReachTheTable(t *testing.T) {
	g, err := ecmp.Equal(3)
	if err != nil {
		t.Fatal(err)
	}
	model, err := ecmp.OfKernel(ecmp.Kernel{Seed: 1, Policy: ecmp.PolicyL3}, g)
	if err != nil {
		t.Fatal(err)
	}
	table := placement.New(placement.Config{Leaves: 2, Moves: placement.MovesAny, RestNS: 1})
	if _, err := table.SetGroup(model, []placement.Member{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}, {Name: "c", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	for i := range 24 {
		dst := netip.MustParseAddr("2001:db8::").As16()
		binary.BigEndian.PutUint16(dst[14:], uint16(i+1))
		f := placement.Flow{Src: netip.MustParseAddr("2001:db8:1::1"), Dst: netip.AddrFrom16(dst), DestQP: 1, SrcPort: 49152}
		table.Adopt(f, i%2, 1, uint32(i+1))
		table.Sample(f, 0, 0)
		table.Sample(f, 1e6, 1e9)
	}
	names := []string{"leaf1", "leaf2"}
	demand, placed := DemandOf(table, names, []string{"s1", "s2", "s1"})
	class := placement.Class(1e6)
	if diff := cmp.Diff([]Demand{{"leaf1", class, 12}, {"leaf2", class, 12}}, demand); diff != "" {
		t.Fatal(diff)
	}
	for _, leaf := range names {
		if sum := placed[leaf]["s1"] + placed[leaf]["s2"]; len(placed[leaf]) != 2 || math.Abs(sum/(12*placement.ClassRate(class))-1) > 1e-9 {
			t.Errorf("to %s: %v", leaf, placed[leaf])
		}
	}
	q, err := ParseQuotas(text(t, Quotas{Plan: 3, Quotas: []Quota{
		{"leaf1", class, map[string]uint32{"s1": 9, "s2": 3}}, {"leaf2", class, map[string]uint32{"s1": 7, "s2": 5}},
		{"leaf9", class, map[string]uint32{"s1": 4}}, {"leaf1", class + 1, map[string]uint32{"s9": 4}},
	}}))
	if err != nil {
		t.Fatal(err)
	}
	number := func(name string) int { return map[string]int{"leaf1": 1, "leaf2": 2}[name] - 1 }
	if aside := q.Apply(table, number, []string{"s1", "s2", "s1"}); aside != 2 {
		t.Errorf("%d quotas set aside, want the ones for leaf9 and for s9", aside)
	}
	for now := int64(2e9); len(table.Look(now)) > 0; now += 1e9 {
	}
	if got := table.Report().Load; got[1] != 8e6 || got[0]+got[2] != 16e6 || got[0] != 8e6 {
		t.Errorf("load %v", got)
	}
}

func TestParseQuotasChecksBounds(t *testing.T) {
	spines := map[string]uint32{}
	for i := range MaxSpines + 1 {
		spines[fmt.Sprint(i)] = 1
	}
	for _, bad := range []string{
		"", "7", `{"quotas":[{"leaf":"","class":1}]}`, `{"quotas":[{"leaf":"a","flows":{"s":1048577}}]}`, `{"plan":-1}`, `{} x`,
		string(text(t, Quotas{Quotas: []Quota{{"a", 1, spines}}})), string(text(t, Quotas{Quotas: make([]Quota, MaxDemands+1)})),
	} {
		if q, err := ParseQuotas([]byte(bad)); err == nil {
			t.Errorf("%.80s was taken: %+v", bad, q)
		}
	}
}

func FuzzRows(f *testing.F) {
	f.Add([]byte(`{"leaf":"a","spines":{"s":1,"t":2},"demand":[{"leaf":"b","class":40,"flows":9}]}`), []byte(`{"leaf":"b","spines":{"s":1}}`))
	f.Add([]byte(`{"leaf":"a","spines":{"s":1e15,"t":1e-300}}`), []byte(`{"leaf":"b","demand":[{"leaf":"a","class":0,"flows":1048576}],"spines":{"t":0.1}}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		rows, _ := Read(map[string][]byte{"a": a, "b": b})
		p := Make(rows, 1)
		for leaf, q := range p.Leaves {
			if _, err := ParseQuotas(text(t, q)); err != nil {
				t.Errorf("%s: the planner's own quotas: %v", leaf, err)
			}
		}
	})
}

// FuzzParseQuotas: quotas that are read keep the bounds when they are written again.
func FuzzParseQuotas(f *testing.F) {
	f.Add([]byte(`{"plan":1,"quotas":[{"leaf":"a","class":1,"flows":{"s":1048576}}]}`))
	f.Add([]byte(`{"quotas":[{"leaf":"a","class":-9223372036854775808,"flows":null}]}`))
	f.Fuzz(func(t *testing.T, quotas []byte) {
		q, err := ParseQuotas(quotas)
		if err != nil {
			return
		}
		if _, err := ParseQuotas(text(t, q)); err != nil {
			t.Errorf("%+v again: %v", q, err)
		}
		q.Apply(placement.New(placement.Config{Leaves: 1}), func(string) int { return 0 }, []string{"s"})
	})
}
