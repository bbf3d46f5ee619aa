// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/spread/ecmp"
)

var dst = netip.MustParseAddr("2001:db8:2::1")

func packet(label uint32) ecmp.Tuple {
	return ecmp.Tuple{Src: netip.MustParseAddr("2001:db8:1::1"), Dst: dst, Proto: 17, SrcPort: 49152, DstPort: 4791, FlowLabel: label}
}

// through is a switch with one next hop.
func through(m Member) *Switch {
	return &Switch{Members: []Member{m}, Choose: func(*ecmp.Tuple) (int, bool) { return 0, true }}
}

func up(neighbor string) Member {
	return Member{Port: "Ethernet4", Via: "fe80::1", Neighbor: neighbor, Behind: "Ethernet0", Address: "192.0.2.1"}
}

func TestFollowEndsWithItsReason(t *testing.T) {
	dead := through(up("spine"))
	dead.Choose = func(*ecmp.Tuple) (int, bool) { return 0, false }
	for name, tt := range map[string]struct {
		first  *Switch
		fabric map[string]*Switch
		want   string // switches in order, and the reason or "arrives"
	}{
		"on the link":    {through(Member{Port: "Ethernet0"}), nil, "leaf: arrives"},
		"edge port":      {through(Member{Port: "Ethernet0", Via: "fe80::1", Edge: true}), nil, "leaf: arrives"},
		"three":          {through(up("spine")), map[string]*Switch{"spine": through(up("far")), "far": through(Member{Port: "Ethernet0"})}, "leaf spine far: arrives"},
		"unnamed":        {through(up("spine")), map[string]*Switch{"spine": through(up(""))}, "leaf spine: spine: the switch behind Ethernet4 is not known: give spine a row DEVICE_NEIGHBOR|Ethernet4 with its name"},
		"no answer":      {through(up("spine")), nil, "leaf: spine: it does not answer at 192.0.2.1"},
		"nothing alive":  {through(up("spine")), map[string]*Switch{"spine": dead}, "leaf spine: spine: no next hop is alive"},
		"loop":           {through(up("spine")), map[string]*Switch{"spine": through(up("leaf"))}, "leaf spine: a loop: the flow comes back to leaf"},
		"choice unknown": {&Switch{Members: []Member{up("a"), {Port: "Ethernet8", Via: "fe80::2"}}, Unknown: errors.New("no seed")}, nil, "leaf: leaf: one of 2 uplinks: Ethernet4 Ethernet8: no seed"},
		"itself":         {through(up("leaf")), nil, "leaf: a loop: the flow comes back to leaf"},
		"one, no choice": {&Switch{Members: []Member{{Port: "Ethernet0"}}}, nil, "leaf: arrives"},
	} {
		r := Follow("leaf", tt.first, packet(1), func(name, address string) (*Switch, error) {
			if s := tt.fabric[name]; s != nil {
				return s, nil
			}
			return nil, fmt.Errorf("it does not answer at %s", address)
		})
		var names []string
		for _, h := range r.Hops {
			names = append(names, h.Switch)
		}
		got := strings.Join(names, " ") + ": " + r.Reason
		if r.Arrives {
			got += "arrives"
		}
		if got != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tt.want)
		}
	}
}

func TestFollowIsBounded(t *testing.T) {
	asked := 0
	r := Follow("0", through(up("1")), packet(1), func(string, string) (*Switch, error) {
		asked++
		return through(up(fmt.Sprint(asked + 1))), nil
	})
	if len(r.Hops) != MaxHops || asked != MaxHops-1 || !strings.Contains(r.Reason, "after 16 switches") {
		t.Errorf("%d hops, %d asked: %s", len(r.Hops), asked, r.Reason)
	}
}

// A switch that writes a label writes it into packets that have none; from there on they
// have it, and are hashed with it.
func TestFollowCarriesTheLabelOn(t *testing.T) {
	for _, tt := range []struct {
		label, written uint32
		want           []uint32
	}{{0, 7, []uint32{0, 7, 7}}, {5, 7, []uint32{5, 5, 5}}, {0, 0, []uint32{0, 0, 0}}} {
		var hashed, shown []uint32
		note := func(s *Switch) *Switch {
			s.Choose = func(t *ecmp.Tuple) (int, bool) { hashed = append(hashed, t.FlowLabel); return 0, true }
			return s
		}
		spine, far := note(through(up("far"))), note(through(Member{Port: "Ethernet0"}))
		spine.Written = tt.written
		r := Follow("leaf", note(through(up("spine"))), packet(tt.label), func(name, _ string) (*Switch, error) {
			return map[string]*Switch{"spine": spine, "far": far}[name], nil
		})
		for _, h := range r.Hops {
			shown = append(shown, h.FlowLabel)
		}
		if diff := cmp.Diff([][]uint32{tt.want, tt.want}, [][]uint32{hashed, shown}); diff != "" {
			t.Error(diff)
		}
	}
}

var hash = Rows{"ipv6": {"policy": "3", "fields": "63", "seed": "7"}}

func hop(port, weight, state string) map[string]string {
	return map[string]string{"port": port, "gateway": "fe80::1", "weight": weight, "state": state}
}

// The published rows give the model of the kernel: of the longest prefix, with weights, dead
// members and the buckets of a resilient group.
func TestRowsGiveTheKernelsChoice(t *testing.T) {
	first, second := hop("a", "1", "up"), hop("b", "1", "up")
	first["buckets"], second["buckets"] = "0-1,3", "2"
	resilient, err := ecmp.Resilient([]uint16{0, 0, 1, 0}, 2)
	if err != nil {
		t.Fatal(err)
	}
	weighted, err := ecmp.Threshold([]ecmp.Member{{Weight: 1}, {Weight: 5, Dead: true}, {Weight: 2}})
	if err != nil {
		t.Fatal(err)
	}
	kernel := ecmp.Kernel{Seed: 7, Policy: 3, Fields: 63}
	for name, tt := range map[string]struct {
		hops Rows
		of   *ecmp.Group
	}{
		"weights":   {Rows{"2001:db8:2::/48|0": hop("a", "1", "up"), "2001:db8:2::/48|1": hop("b", "5", "dead"), "2001:db8:2::/48|2": hop("c", "2", "up"), "2001:db8::/32|0": hop("d", "1", "up"), "0.0.0.0/0|0": hop("e", "1", "up"), "2001:db8:3::/64|0": hop("f", "1", "up")}, weighted},
		"resilient": {Rows{"::/0|0": first, "::/0|1": second}, resilient},
	} {
		s, err := FromRows(tt.hops, hash, dst)
		if err != nil || s.Choose == nil {
			t.Fatalf("%s: %v, %v", name, err, s)
		}
		met := map[int]bool{}
		for label := range uint32(200) {
			p := packet(label)
			got, alive := s.Choose(&p)
			if want := tt.of.Choose(kernel.Hash(&p)); got != want || !alive {
				t.Fatalf("%s: label %d takes member %d, want %d", name, label, got, want)
			}
			met[got] = true
		}
		if len(met) != 2 {
			t.Errorf("%s: members %v", name, slices.Sorted(maps.Keys(met)))
		}
	}
}

// What a switch does not tell, or tells wrong, is said; the members are known where the hash
// is not.
func TestRowsThatDoNotTell(t *testing.T) {
	two := Rows{"::/0|0": hop("a", "1", "up"), "::/0|1": hop("b", "1", "up")}
	with := func(bucket0, bucket1 string) Rows {
		all := Rows{"::/0|0": hop("a", "1", "up"), "::/0|1": hop("b", "1", "up")}
		all["::/0|0"]["buckets"], all["::/0|1"]["buckets"] = bucket0, bucket1
		return all
	}
	for name, tt := range map[string]struct {
		hops, hash Rows
		err, why   string
	}{
		"no route":       {Rows{"2001:db8:3::/64|0": hop("a", "1", "up"), "2001:db8:2::/64": hop("a", "1", "up"), "x|0": nil, "::/0|-1": nil, "::/0|99999999": nil}, hash, "it publishes no route to 2001:db8:2::1", ""},
		"a gap":          {Rows{"::/0|1": hop("a", "1", "up")}, hash, "its rows of ::/0 lack next hop 0: ask again", ""},
		"weight":         {Rows{"::/0|0": hop("a", "many\x1b", "up")}, hash, `its row ::/0|0: weight`, ""},
		"weight 0":       {Rows{"::/0|0": hop("a", "0", "up"), "::/0|1": hop("a", "1", "up")}, hash, "", "weight 0"},
		"no hash":        {two, nil, "", "its hash is not published"},
		"hash unknown":   {two, Rows{"ipv6": {"reason": "the switch is not the kernel"}}, "", "the switch is not the kernel"},
		"hash malformed": {two, Rows{"ipv6": {"policy": "300"}}, "", "its row SLUICE_HASH|ipv6 cannot be read"},
		"seed 0":         {two, Rows{"ipv6": {"policy": "3", "fields": "63", "seed": "0"}}, "", "fib_multipath_hash_seed is 0"},
		"bucket twice":   {with("0-3", "3"), hash, "bucket 3 belongs to no member, or to two", ""},
		"bucket of none": {with("0", "2"), hash, "bucket 1 belongs to no member, or to two", ""},
		"bucket range":   {with("3-0", "4"), hash, `buckets "3-0" are not numbers and ranges`, ""},
	} {
		s, err := FromRows(tt.hops, tt.hash, dst)
		if tt.err != "" {
			if err == nil || !strings.HasPrefix(err.Error(), tt.err) && !strings.HasSuffix(err.Error(), tt.err) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || s.Choose != nil || len(s.Members) != 2 || !strings.Contains(s.Unknown.Error(), tt.why) {
			t.Errorf("%s: %v, %+v", name, err, s)
		}
	}
}
