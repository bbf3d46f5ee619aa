// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/placement"
	"sluice/tests/routertest"
)

const second = int64(1e9)

// A bed is flows that are placed by what was read from the kernel, and that the kernel
// forwards.
type bed struct {
	t     *testing.T
	r     *routertest.Router
	table *placement.Table
	group Group
	flows []placement.Flow
	sizes []int // packets of each flow a round
	total []uint64
	now   int64
}

const destination = "2001:db8:2::1"

func newBed(t *testing.T, flows int) *bed {
	b := &bed{t: t, r: routertest.New(t), total: make([]uint64, flows)}
	b.r.Sysctl("ipv4/fib_multipath_hash_seed", 4711)
	b.r.Sysctl("ipv6/fib_multipath_hash_fields", ecmp.FiveTuple|ecmp.FieldLabel)
	for i := range 4 {
		b.r.IP(fmt.Sprintf("nexthop add id %d via fe80::%d dev out%d\n", i+1, i+1, i))
	}
	for i := range flows {
		b.flows = append(b.flows, placement.Flow{Src: netip.MustParseAddr("2001:db8:1::1"), Dst: netip.MustParseAddr(destination), DestQP: uint32(i + 1), SrcPort: 49152})
	}
	return b
}

func hashLabel(f placement.Flow) uint32 {
	return flow.DraftLiteral.Label(0, f.DestQP, f.Src.As16(), f.Dst.As16())
}

func newTable() *placement.Table { return placement.New(placement.Config{Moves: placement.MovesAny}) }

// read gives the table what the kernel has now; a dead member has no weight.
func (b *bed) read() {
	b.t.Helper()
	var err error
	if b.group, err = Read(netip.MustParseAddr(destination)); err != nil {
		b.t.Fatal(err)
	}
	k, err := Hash(false)
	if err != nil {
		b.t.Fatal(err)
	}
	model, err := b.group.Model(k)
	if err != nil {
		b.t.Fatal(err)
	}
	var members []placement.Member
	for _, m := range b.group.Members {
		w := float64(m.Weight)
		if m.Dead {
			w = 0
		}
		members = append(members, placement.Member{Name: m.Link, Weight: w})
	}
	if _, err := b.table.SetGroup(model, members); err != nil {
		b.t.Fatal(err)
	}
}

// round sends the packets of each flow with its label, shows the counters to the table,
// and returns how many left by each member.
func (b *bed) round() []uint64 {
	b.t.Helper()
	var packets []routertest.Packet
	for i, f := range b.flows {
		label, _, ok := b.table.Label(f)
		if !ok {
			b.t.Fatalf("%+v is not in the table", f)
		}
		for range b.sizes[i] {
			packets = append(packets, routertest.Packet{Src: f.Src, Dst: f.Dst, Proto: unix.IPPROTO_UDP, SrcPort: f.SrcPort, DstPort: 4791, FlowLabel: label})
		}
	}
	sent := make([]uint64, len(b.group.Members))
	for _, link := range b.r.Forward(packets) {
		at := slices.IndexFunc(b.group.Members, func(m Member) bool { return m.Link == fmt.Sprint("out", link) })
		if at < 0 {
			b.t.Fatalf("a packet left by out%d, which is no member", link)
		}
		sent[at] += octets
	}
	b.now += second
	for i, f := range b.flows {
		b.total[i] += uint64(b.sizes[i]) * octets
		b.table.Sample(f, b.total[i], b.now)
	}
	return sent
}

// octets is what a packet counts for.
const octets = 1000

// settle lets flows move until none does, and returns how many moved.
func (b *bed) settle() (moves int) {
	b.t.Helper()
	for range 10 {
		n := len(b.table.Look(b.now))
		if moves += n; n == 0 {
			return moves
		}
		b.round()
		b.round()
	}
	b.t.Errorf("still moving after %d moves", moves)
	return moves
}

// want sends a round and holds it to max ÷ mean by weight, and to what was predicted,
// packet by packet.
func (b *bed) want(what string, most float64, moves int) {
	b.t.Helper()
	predicted := make([]uint64, len(b.group.Members))
	for i, f := range b.flows {
		if _, m, _ := b.table.Label(f); m >= 0 {
			predicted[m] += uint64(b.sizes[i]) * octets
		}
	}
	sent := b.round()
	if !slices.Equal(sent, predicted) {
		b.t.Errorf("%s: by member %v, predicted %v", what, sent, predicted)
	}
	var sum, weight, worst float64
	for m, n := range sent {
		if !b.group.Members[m].Dead {
			weight += float64(b.group.Members[m].Weight)
			worst = max(worst, float64(n)/float64(b.group.Members[m].Weight))
		}
		sum += float64(n)
	}
	got, r := worst/(sum/weight), b.table.Report()
	if got > most {
		b.t.Errorf("%s: max ÷ mean %.3f after %d moves, want at most %.2f (floor %.3f)", what, got, moves, most, r.Floor)
	}
	b.t.Logf("%s: max ÷ mean %.3f, by hash %.3f, floor %.3f, %d moves", what, got, r.HashWorstOverMean, r.Floor, moves)
}

// Flows are placed by what netlink and sysctls say of the running kernel, which forwards
// them: equal flows, sizes by Zipf's law, other weights, a link down and up, a resilient
// group, a restart; and at last the seed changes behind the table.
func TestPlacedLabelsLandWherePredicted(t *testing.T) {
	b := newBed(t, 64)
	b.table = newTable()
	const route = "route replace 2001:db8:2::/48"
	hops := func(weights ...int) (s string) {
		for i, w := range weights {
			s += fmt.Sprintf(" nexthop via fe80::%d dev out%d weight %d", i+1, i, w)
		}
		return s + "\n"
	}
	b.r.IP(route + hops(1, 1, 1, 1))
	b.read()
	for _, f := range b.flows {
		if p := b.table.Place(f, -1, hashLabel(f)); p.Why != placement.Placed {
			t.Fatalf("%v", p.Why)
		}
		b.sizes = append(b.sizes, 4)
	}
	b.round()
	b.want("equal", 1.01, 0)

	for i := range b.sizes {
		b.sizes[i] = max(1, 240/(i+1))
	}
	for range 4 {
		b.round()
	}
	moves := b.settle()
	b.want("Zipf", 1.05, moves)
	if moves == 0 || moves > 20 {
		t.Errorf("%d moves, want 1 to 20", moves)
	}

	b.r.IP("route del 2001:db8:2::/48\n" + route + hops(1, 2, 4, 1))
	b.read()
	b.want("weights 1:2:4:1", 1.05, b.settle())

	b.r.IP("route del 2001:db8:2::/48\n" + route + hops(1, 1, 1, 1))
	b.r.IP("link set out1 down\n")
	b.read()
	b.want("a link down", 1.10, b.settle())
	b.r.IP("link set out1 up\nnexthop replace id 2 via fe80::2 dev out1\n")
	b.read()
	b.want("the link up again", 1.10, b.settle())

	b.r.IP("nexthop add id 100 group 1/2/3/4 type resilient buckets 64 idle_timer 0\nroute del 2001:db8:2::/48\nroute add 2001:db8:2::/48 nhid 100\n")
	b.read()
	b.want("a resilient group", 1.05, b.settle())
	b.r.IP("link set out2 down\n")
	b.read()
	b.want("a resilient group without a member", 1.10, b.settle())

	// A restart: another table takes the flows over.
	before := b.table
	b.table = newTable()
	b.read()
	for _, f := range b.flows {
		label, member, _ := before.Label(f)
		if p := b.table.Adopt(f, -1, hashLabel(f), label); p.Label != label || p.Member != member {
			t.Errorf("adopted with label %d on member %d, was %d on %d", p.Label, p.Member, label, member)
		}
	}
	b.round()
	b.round()
	if n := len(b.table.Look(b.now)); n != 0 {
		t.Errorf("%d moves after a restart", n)
	}

	// The seed changes, and no event tells it.
	check := func() placement.Report {
		t.Helper()
		if err := b.table.Check(b.round()); err != nil {
			t.Fatal(err)
		}
		return b.table.Report()
	}
	check() // of the rounds until now
	if r := check(); r.ModelErrorPercent > 0 || r.Degraded {
		t.Errorf("with the right seed: error %.1f %%, degraded %v", r.ModelErrorPercent, r.Degraded)
	}
	b.r.Sysctl("ipv4/fib_multipath_hash_seed", 4712)
	check()
	if r := check(); !r.Degraded || r.ModelErrorPercent < 5 {
		t.Errorf("with another seed: error %.1f %%, degraded %v", r.ModelErrorPercent, r.Degraded)
	}
	slices.Reverse(b.sizes)
	b.round()
	if n := len(b.table.Look(b.now)); n != 0 {
		t.Errorf("%d moves by a model that is wrong", n)
	}
	b.read()
	b.want("the new seed, read again", 1.10, b.settle())
}
