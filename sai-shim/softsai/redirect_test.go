// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// newHop makes a next hop by a port, with its router interface.
func newHop(t *testing.T, d *driver, port string, address []byte) (hop, by string) {
	t.Helper()
	router := d.do("get switch 0x21000000000001 DEFAULT_VIRTUAL_ROUTER_ID")[0]
	by = d.id("create interface VIRTUAL_ROUTER_ID=%s TYPE=0 PORT_ID=%s", router, portID(t, port))
	return d.id("create next-hop TYPE=0 IP=%s ROUTER_INTERFACE_ID=%s", hex.EncodeToString(address), by), by
}

// all reports whether all paths are one.
func all(path []int, want int) bool {
	return !slices.ContainsFunc(path, func(p int) bool { return p != want })
}

// A packet that an entry redirects leaves by the next hop of the entry, and an entry that is
// set to another next hop sends it there.
func TestRedirectedPacketsLeaveByTheNextHopOfTheEntry(t *testing.T) {
	for name, test := range map[string]struct {
		frames [][]byte
		hop    [2][]byte // by out2, out3
	}{
		"IPv6": {queuePairs(16), [2][]byte{{0: 0xfe, 1: 0x80, 15: 3}, {0: 0xfe, 1: 0x80, 15: 4}}},
		"IPv4": {queuePairs4(16), [2][]byte{{10, 2, 0, 1}, {10, 2, 0, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFabric(t)
			d := startDriver(t)
			d.do("switch " + allPorts)
			table := newTable(t, d, "in")
			two, by := newHop(t, d, "out2", test.hop[0])
			three, _ := newHop(t, d, "out3", test.hop[1])
			sample := d.id("create samplepacket SAMPLE_RATE=1")
			entry := d.id("create entry TABLE_ID=%s FIELD_L4_SRC_PORT=0xc000 ACTION_REDIRECT=%s %s=%s", table, two, actionSample, sample)
			out, path := f.forward(test.frames, qpOf)
			if !all(path, 2) {
				t.Errorf("redirected to path 2, packets left by %v", path)
			}
			for i := range out {
				wantForwarded(t, test.frames[i], out[i], false)
			}
			for _, p := range d.packets(1) {
				if p.egress != portID(t, "out2") {
					t.Fatalf("a sample says that its packet left by %s: want %s", p.egress, portID(t, "out2"))
				}
			}
			if status, _ := d.try("remove next-hop %s", two); status == 0 {
				t.Error("a next hop that an entry refers to was removed")
			}
			if status, _ := d.try("remove interface %s", by); status == 0 {
				t.Error("an interface that a next hop refers to was removed")
			}
			d.do("set entry %s ACTION_REDIRECT=%s", entry, three)
			if _, path := f.forward(test.frames, qpOf); !all(path, 3) {
				t.Errorf("set to path 3, packets left by %v", path)
			}

			d.kill()
			d = startDriver(t)
			d.do("switch " + allPorts)
			if _, path := f.forward(test.frames, qpOf); !all(path, 3) {
				t.Errorf("after a restart packets left by %v: want path 3", path)
			}
			d.do("set entry %s ACTION_REDIRECT=off", entry)
			if _, path := f.forward(test.frames, qpOf); all(path, 3) && all(path, 2) {
				t.Errorf("without the action packets left by %v", path)
			}
			d.do("remove entry %s", entry)
			d.do("remove next-hop %s", two)
		})
	}
}

// A DROP of the operator counts: beside the redirection in one entry, and in an entry of a higher
// priority. A port takes one table, so that an operator's table keeps that of Sluice out.
func TestDropWinsOverRedirect(t *testing.T) {
	f := newFabric(t)
	d := startDriver(t)
	d.do("switch " + allPorts)
	table := newTable(t, d, "in")
	hop, _ := newHop(t, d, "out2", []byte{0: 0xfe, 1: 0x80, 15: 3})
	counter := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1", table)
	const match = "TABLE_ID=%s FIELD_L4_SRC_PORT=0xc000"
	entry := d.id("create entry "+match+" PRIORITY=10 ACTION_REDIRECT=%s %s=%s", table, hop, actionCounter, counter)
	frames := queuePairs(16)
	arrive := func(what string, want bool) {
		t.Helper()
		met := func() string { return d.do("get counter %s PACKETS", counter)[0] }
		before := met()
		for deadline := time.Now().Add(patience); met() == before; {
			if time.Now().After(deadline) {
				t.Fatalf("%s: no packet met the entry", what)
			}
			f.wire.send(f.in, frames[0])
		}
		n := 0
		for {
			from, got, ok := f.wire.receive()
			if !ok {
				break
			}
			if _, isPath := f.path[from]; isPath && qpOf(got) == qpOf(frames[0]) {
				n++
			}
		}
		if (n > 0) != want {
			t.Errorf("%s: %d packets left, want any: %v", what, n, want)
		}
	}
	arrive("a redirection", true)
	d.do("set entry %s ACTION_PACKET_ACTION=0", entry) // SAI_PACKET_ACTION_DROP
	arrive("with DROP in its entry", false)
	d.do("set entry %s ACTION_PACKET_ACTION=off", entry)
	arrive("without it", true)
	d.do("set entry %s %s=off", entry, actionCounter)
	d.do("create entry "+match+" FIELD_DSCP=0 PRIORITY=11 ACTION_PACKET_ACTION=0 %s=%s", table, actionCounter, counter)
	arrive("with DROP in an entry of a higher priority", false)
}

// As an ASIC, the switch tells in a sample by which port its packet leaves.
func TestSamplesTellTheEgressPort(t *testing.T) {
	f := newFabric(t)
	for _, family := range []string{"ipv4", "ipv6"} {
		sysctl(t, family+"/fib_multipath_hash_policy", 3)
		sysctl(t, family+"/fib_multipath_hash_fields", 0x37)
	}
	file := filepath.Join(t.TempDir(), "asic")
	if err := os.WriteFile(file, []byte("samples=100000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := startDriver(t)
	d.do("switch %s SLUICE_ASIC=%s", allPorts, file)
	table := newTable(t, d, "in")
	sample := d.id("create samplepacket SAMPLE_RATE=1")
	d.do("create entry TABLE_ID=%s FIELD_L4_DST_PORT=4791 %s=%s", table, actionSample, sample)
	for name, frames := range map[string][][]byte{"IPv6": queuePairs(32), "IPv4": queuePairs4(32)} {
		for i := range frames { // a source port each
			frames[i][udpAt(frames[i])+1] = byte(i)
		}
		_, path := f.forward(frames, qpOf)
		if all(path, path[0]) {
			t.Fatalf("%s: all flows share a path", name)
		}
		at := map[uint32]int{}
		for i := range frames {
			at[qpOf(frames[i])] = path[i]
		}
		for sampled := map[uint32]bool{}; len(sampled) < len(frames); {
			for _, p := range d.packets(1) {
				if udpAt(p.data) != udpAt(frames[0]) {
					continue // of the other family, and late
				}
				qp := qpOf(p.data)
				sampled[qp] = true
				if want := portID(t, fmt.Sprint("out", at[qp])); p.egress != want {
					t.Errorf("%s: a packet left by %s, and its sample says %s", name, want, p.egress)
				}
			}
		}
	}
}

// A port without a carrier drops what is redirected there: no other hash is tried.
func TestRedirectToADeadPortDrops(t *testing.T) {
	f := newFabric(t)
	d := startDriver(t)
	d.do("switch " + allPorts)
	table := newTable(t, d, "in")
	hop, _ := newHop(t, d, "out2", []byte{0: 0xfe, 1: 0x80, 15: 3})
	counter := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1", table)
	d.do("create entry TABLE_ID=%s FIELD_L4_SRC_PORT=0xc000 ACTION_REDIRECT=%s %s=%s", table, hop, actionCounter, counter)
	ip(t, "link set sink2 down")
	frame := queuePairs(1)[0]
	for deadline := time.Now().Add(patience); d.do("get counter %s PACKETS", counter)[0] == "0"; {
		if time.Now().After(deadline) {
			t.Fatal("no packet met the entry")
		}
		f.wire.send(f.in, frame)
	}
	for {
		from, got, ok := f.wire.receive()
		if !ok {
			break
		}
		if p, isPath := f.path[from]; isPath && qpOf(got) == qpOf(frame) {
			t.Fatalf("the packet left by path %d", p)
		}
	}
}

// An entry to a group of type PROTECTION sends packets to the primary next hop, and after one call to
// the standby: to the path of the kernel's hash, where that is a group of type ECMP.
func TestGroupWithAStandbySwitchesOver(t *testing.T) {
	f := newFabric(t)
	d := startDriver(t)
	d.do("switch " + allPorts)
	table := newTable(t, d, "in")
	frames := queuePairs(16)
	_, path := f.forward(frames, qpOf) // the kernel sees one flow
	hashed := path[0]
	other := [2]int{(hashed + 1) % 4, (hashed + 2) % 4}
	var hops [2]string
	for i, n := range other {
		hops[i], _ = newHop(t, d, fmt.Sprint("out", n), []byte{0: 0xfe, 1: 0x80, 15: byte(n) + 1})
	}
	const primary, standby, ecmp, protection = 0, 1, 0, 3
	hash := d.id("create hop-group TYPE=%d", ecmp)
	for _, hop := range hops {
		d.do("create hop-member NEXT_HOP_GROUP_ID=%s NEXT_HOP_ID=%s", hash, hop)
	}
	group := d.id("create hop-group TYPE=%d", protection)
	d.do("create entry TABLE_ID=%s FIELD_L4_SRC_PORT=0xc000 ACTION_REDIRECT=%s", table, group)
	leaves := func(when string, want int) {
		t.Helper()
		if _, path := f.forward(frames, qpOf); !all(path, want) {
			t.Errorf("%s: packets leave by %v, want path %d; by hash it is %d", when, path, want, hashed)
		}
	}
	leaves("without members", hashed)
	first := d.id("create hop-member NEXT_HOP_GROUP_ID=%s NEXT_HOP_ID=%s CONFIGURED_ROLE=%d", group, hops[0], primary)
	leaves("with a primary", other[0])
	d.do("set hop-group %s SET_SWITCHOVER=1", group)
	leaves("switched over without a standby", hashed)
	second := d.id("create hop-member NEXT_HOP_GROUP_ID=%s NEXT_HOP_ID=%s CONFIGURED_ROLE=%d", group, hops[1], standby)
	leaves("switched over to a next hop", other[1])
	d.do("remove hop-member %s", second)
	d.do("create hop-member NEXT_HOP_GROUP_ID=%s NEXT_HOP_ID=%s CONFIGURED_ROLE=%d", group, hash, standby)
	leaves("switched over to the group", hashed)
	d.kill()
	d = startDriver(t)
	d.do("switch " + allPorts)
	leaves("after a restart", hashed)
	d.do("set hop-group %s SET_SWITCHOVER=0", group)
	leaves("switched back", other[0])
	for _, wrong := range []string{
		fmt.Sprintf("create entry TABLE_ID=%s FIELD_L4_SRC_PORT=0xc001 ACTION_REDIRECT=%s", table, hash),
		fmt.Sprintf("create hop-member NEXT_HOP_GROUP_ID=%s NEXT_HOP_ID=%s CONFIGURED_ROLE=%d", group, hash, primary),
		fmt.Sprintf("create hop-member NEXT_HOP_GROUP_ID=%s NEXT_HOP_ID=%s", group, hops[0]),
		fmt.Sprintf("create hop-member NEXT_HOP_GROUP_ID=%s NEXT_HOP_ID=%s", hash, group),
		"create hop-group TYPE=1",
		"set hop-group " + hash + " SET_SWITCHOVER=1",
		"remove hop-group " + group,
		"remove next-hop " + hops[0],
	} {
		if status, _ := d.try("%s", wrong); status == 0 {
			t.Errorf("%s is taken", wrong)
		}
	}
	d.do("remove hop-member %s", first)
	leaves("without a primary", hashed)
}

// The file of SLUICE_ASIC sets limits, hides the extension, and is rejected whole where a line
// is wrong.
func TestASIC(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	file := filepath.Join(t.TempDir(), "asic")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d := startDriver(t)
	for _, wrong := range []string{"rule_ms=no\n", "rule_ms=0\n", "unknown=1\n", "words\n"} {
		write(wrong)
		if status, _ := d.try("switch SLUICE_PORTS=port0 SLUICE_ASIC=%s", file); status == 0 {
			t.Fatalf("a file with %q was taken", wrong)
		}
	}
	write("# an ASIC\nrule_ms=15\nentries=4\ncounters_ms=60000\n")
	d.do("switch SLUICE_PORTS=port0 SLUICE_ASIC=%s", file)
	table := newTable(t, d, "port0")
	if can := d.do("capability entry ACTION_COMPUTE_IPV6_FLOW_LABEL"); can[0] != "0" {
		t.Error("the ASIC computes flow labels")
	}
	if can := d.do("capability entry ACTION_REDIRECT"); can[0] != "1" {
		t.Error("the ASIC does not redirect")
	}
	counter := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1", table)
	began := time.Now()
	for i := range 4 {
		more := ""
		if i == 0 {
			more = actionCounter + "=" + counter
		}
		d.do("create entry TABLE_ID=%s FIELD_L4_SRC_PORT=%d %s", table, 0xc000+i, more)
	}
	if took := time.Since(began); took < 4*15*time.Millisecond {
		t.Errorf("four rules took %v: want 15 ms each, or more", took)
	}
	if status, _ := d.try("create entry TABLE_ID=%s FIELD_L4_SRC_PORT=9", table); status == 0 {
		t.Error("a fifth entry found room among four")
	}
	program := startRunner(t, "port0")
	if n := d.do("get counter %s PACKETS", counter)[0]; n != "0" {
		t.Fatalf("the counter begins with %s", n)
	}
	program.run(roceFrame(hostA, hostB, 0xc000, 7))
	if n := d.do("get counter %s PACKETS", counter)[0]; n != "0" {
		t.Errorf("a counter that is a minute old at most has %s: want 0 still", n)
	}
}
