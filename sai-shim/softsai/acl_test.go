// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"
)

// labelOf is the label of an untagged IPv6 frame.
func labelOf(frame []byte) int {
	return int(frame[15]&0xf)<<16 | int(frame[16])<<8 | int(frame[17])
}

// newUDFTable is newTable with the destination queue pair as first user-defined field.
func newUDFTable(t *testing.T, d *driver, port string) string {
	t.Helper()
	match := d.id("create udf-match field-u16:4=4791")
	group := d.id("create udf-group u16:2=4")
	d.do("create udf oid:0=%s oid:1=%s s32:2=2 u16:3=12", match, group)
	table := d.id("create table s32:0=0 bool:0x1000=1 bool:0x1001=1 bool:0x100c=1 bool:0x1015=1 bool:0x1016=1 bool:0x1150=1 bool:0x101e=1 bool:0x1026=1 bool:0x104d=1 bool:0x104e=1 oid:0x104f=%s", group)
	d.do("set port %s oid:0x3b=%s", portID(t, port), table)
	return table
}

func fieldQP(qp uint32) string { return fmt.Sprintf("field-list-u8:0x104f=%08x/00ffffff", qp) }

func fieldIP(attribute int, addr [16]byte, prefix int) string {
	var mask [16]byte
	for i := range prefix {
		mask[i/8] |= 0x80 >> (i % 8)
	}
	return fmt.Sprintf("field-ip6:%#x=%s/%s", attribute, hex.EncodeToString(addr[:]), hex.EncodeToString(mask[:]))
}

// Each field is matched under its mask, and of several entries the one with the
// highest priority counts, whatever its shape.
func TestMatch(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newUDFTable(t, d, "port0")
	program := startRunner(t, "port0")

	frame := roceFrame(hostA, hostB, 0xc000, 0x123456)
	type entry struct {
		fields   string
		priority int
	}
	const all = "field-u8:0x1150=17"
	for _, test := range []struct {
		name    string
		entries []entry // the n-th sets label n
		want    int
	}{
		{"nothing", nil, 0},
		{"no field at all", []entry{{"", 1}}, 1},
		{"source", []entry{{fieldIP(0x1000, hostA, 128), 1}}, 1},
		{"other source", []entry{{fieldIP(0x1000, hostB, 128), 1}}, 0},
		{"destination's prefix", []entry{{fieldIP(0x1001, hostB, 48), 1}}, 1},
		{"destination's prefix, host bits set", []entry{{fieldIP(0x1001, hostB, 40), 1}}, 1},
		{"source port", []entry{{"field-u16:0x1015=0xc000", 1}}, 1},
		{"source port under a mask", []entry{{"field-u16:0x1015=0xffff/0xf000", 1}}, 0},
		{"opcode", []entry{{"field-u8:0x104d=4", 1}}, 1},
		{"other opcode", []entry{{"field-u8:0x104d=5", 1}}, 0},
		{"label", []entry{{"field-u32:0x1026=0", 1}}, 1},
		{"other label", []entry{{"field-u32:0x1026=1", 1}}, 0},
		{"queue pair", []entry{{fieldQP(0x123456), 1}}, 1},
		{"other queue pair", []entry{{fieldQP(0x123457), 1}}, 0},
		{"disabled action", []entry{{"action-u8:0x2016=off", 1}}, 1},
		{"two shapes, first higher", []entry{{fieldQP(0x123456), 9}, {all, 1}}, 1},
		{"two shapes, second higher", []entry{{fieldQP(0x123456), 1}, {all, 9}}, 2},
		{"higher one does not match", []entry{{fieldQP(1), 9}, {all, 1}}, 2},
		{"many of a shape", []entry{{fieldQP(1), 9}, {fieldQP(2), 8}, {fieldQP(0x123456), 1}, {all, 2}}, 4},
		{"many of a shape, highest matches", []entry{{fieldQP(1), 1}, {fieldQP(2), 8}, {fieldQP(0x123456), 3}, {all, 2}}, 3},
	} {
		var ids []string
		for i, e := range test.entries {
			ids = append(ids, d.id("create entry oid:0=%s u32:1=%d %s %s=%d", table, e.priority, e.fields, setLabel, i+1))
		}
		verdict, out := program.run(frame)
		if verdict != verdictGoOn || labelOf(out) != test.want {
			t.Errorf("%s: verdict %d, label %d, want %d", test.name, verdict, labelOf(out), test.want)
		}
		for _, id := range ids {
			d.do("remove entry %s", id)
		}
		if _, out := program.run(frame); !bytes.Equal(out, frame) {
			t.Errorf("%s: without its entries the frame changes to %x", test.name, out)
		}
	}
}

// What an entry does can be changed while it is there, and so can what it matches.
func TestSetEntry(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newUDFTable(t, d, "port0")
	program := startRunner(t, "port0")
	frame := roceFrame(hostA, hostB, 0xc000, 0x123456)
	entry := d.id("create entry oid:0=%s u32:1=5 %s %s=1", table, fieldQP(0x123456), setLabel)
	d.do("create entry oid:0=%s u32:1=4 %s %s=77", table, fieldRoCE, setLabel)

	for _, step := range []struct {
		set  string
		want int
	}{
		{setLabel + "=2", 2},
		{fieldQP(0x654321), 77},
		{fieldQP(0x123456), 2},
		{"bool:2=0", 77}, // admin state
		{"bool:2=1", 2},
		{"u32:1=3", 77}, // priority
		{"u32:1=30", 2},
		{setLabel + "=off", 0},
	} {
		d.do("set entry %s %s", entry, step.set)
		if _, out := program.run(frame); labelOf(out) != step.want {
			t.Errorf("after %s label %d, want %d", step.set, labelOf(out), step.want)
		}
	}
}

// A set that is refused leaves its entry and the entry that it would have become as they
// were: each is removed with its own packets only.
func TestRefusedSetLeavesBothEntries(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newUDFTable(t, d, "port0")
	program := startRunner(t, "port0")
	want := func(when string, qp uint32, label int) {
		t.Helper()
		if _, out := program.run(roceFrame(hostA, hostB, 0xc000, qp)); labelOf(out) != label {
			t.Errorf("%s: label %d of queue pair %d, want %d", when, labelOf(out), qp, label)
		}
	}
	both := fieldQP(7) + " field-u16:0x1015=0xc000"
	first := d.id("create entry oid:0=%s u32:1=5 %s %s=1", table, fieldQP(7), setLabel)
	d.do("create entry oid:0=%s u32:1=5 %s %s=3", table, fieldQP(9), setLabel)
	second := d.id("create entry oid:0=%s u32:1=9 %s %s=2", table, both, setLabel)
	d.do("create entry oid:0=%s u32:1=9 %s field-u16:0x1015=0xc000 %s=4", table, fieldQP(8), setLabel)
	if status, _ := d.try("set entry %s field-u16:0x1015=0xc000", first); status != -6 {
		t.Fatalf("the match of another entry: status %d, want -6", status)
	}
	want("after the refused set", 7, 2)
	d.do("remove entry %s", second)
	want("without the second entry", 7, 1)
	d.do("remove entry %s", first)
	want("without both", 7, 0)
	want("without both", 9, 3)
	want("without both", 8, 4)
}

// An entry for one port of those that its table is bound to.
//
//conformance:draft-hu/ingress
func TestInPort(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	link(t, "port1", "far1")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0+port1")
	table := d.id("create table s32:0=0 bool:0x100c=1 bool:0x1016=1 bool:0x1150=1")
	for _, port := range []string{"port0", "port1"} {
		d.do("set port %s oid:0x3b=%s", portID(t, port), table)
	}
	entry := d.id("create entry oid:0=%s u32:1=2 field-oid:0x100c=%s %s=1", table, portID(t, "port0"), setLabel)
	d.do("create entry oid:0=%s u32:1=1 %s %s=2", table, fieldRoCE, setLabel)
	want := func(port string, label int) {
		t.Helper()
		if _, out := startRunner(t, port).run(roceFrame(hostA, hostB, 1, 1)); labelOf(out) != label {
			t.Errorf("%s writes label %d, want %d", port, labelOf(out), label)
		}
	}
	want("port0", 1)
	want("port1", 2)
	d.do("set entry %s field-oid:0x100c=%s", entry, portID(t, "port1"))
	want("port0", 2)
	want("port1", 1)
	if got := d.do("get entry %s field-oid:0x100c", entry)[0]; got != portID(t, "port1") {
		t.Errorf("port %s, want %s", got, portID(t, "port1"))
	}
	if status, _ := d.try("create entry oid:0=%s field-oid:0x100c=%s", table, table); status != -131072-1 {
		t.Errorf("a table for a port: status %d", status)
	}
}

// A call that this switch cannot do is refused with the status that says so, and
// leaves nothing behind.
func TestRefused(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	d.do("create entry oid:0=%s u32:1=5 %s %s=1", table, fieldRoCE, setLabel)

	const (
		notSupported  = -2
		invalidValue  = -131072
		notHere       = -327680
		mandatory     = -14
		alreadyExists = -6
		invalidObject = -19
	)
	for _, test := range []struct {
		call string
		want int
	}{
		{"create table s32:0=1", notHere},                                                                // egress
		{"create table s32:0=0 list-s32:1=4", notHere - 1},                                               // bound to the switch
		{"create table s32:0=0 bool:0x100a=1", notHere - 1},                                              // IN_PORTS
		{"create table list-s32:1=0", mandatory},                                                         // no stage
		{"create entry u32:1=5", mandatory},                                                              // no table
		{"create entry oid:0=0x7000000000099", invalidValue},                                             // no such table
		{"create entry oid:0=" + table + " action-u32:0x2017=1", notHere - 1},                            // SET_ECN
		{"create entry oid:0=" + table + " action-u8:0x200a=1", notHere - 1},                             // SET_TC
		{"create entry oid:0=" + table + " action-oid:0x2030=0", notHere - 1},                            // SET_ECMP_HASH_ID
		{"create entry oid:0=" + table + " " + setLabel + "=0x100000", invalidValue - 1},                 // 21 bits
		{"create entry oid:0=" + table + " " + compute + "=2", invalidValue - 1},                         // no such algorithm
		{"create entry oid:0=" + table + " action-s32:0x2003=7", invalidValue - 1},                       // TRANSIT
		{"create entry oid:0=" + table + " field-list-u8:0x104f=00/ff", invalidValue - 1},                // the table has no UDF
		{"create entry oid:0=" + table + " u32:1=6 " + fieldRoCE + " " + setLabel + "=2", alreadyExists}, // the same match
		{"create udf-group u16:2=5", notSupported},                                                       // too long
		{"create udf-match field-u16:4=53", notHere},                                                     // other port
		{"create hash list-s32:0=34", notHere},                                                           // BTH opcode
		{"create hash list-s32:0=35", notHere},                                                           // queue pair alone
		{"create policer s32:0=1 s32:1=1 u64:3=1000 u64:4=1000", notSupported},                           // two rates
		{"create policer s32:0=1 s32:1=0 u64:3=0 u64:4=1000", notSupported},                              // no burst
		{"create mirror s32:0=2 oid:1=" + portID(t, "port0"), notSupported},                              // remote
		{"create trap s32:0=0", notSupported},                                                            // router trap
		{"get queue 0x15000000000001 s32:0", invalidObject},
		{"set port " + portID(t, "port0") + " oid:0x3c=" + table, notHere}, // egress ACL
	} {
		status, _ := d.try("%s", test.call)
		if status != test.want {
			t.Errorf("%s: status %d, want %d", test.call, status, test.want)
		}
	}
	hash := d.id("create hash %s=%s", hashList, withLabel)
	if status, _ := d.try("set switch 0x21000000000001 oid:0xf8=%s", hash); status != notSupported {
		t.Errorf("a hash of RDMA packets without a queue pair: status %d, want %d", status, notSupported)
	}
	if entries := d.do("get table %s list-oid:0x2000", table); len(entries) != 1 {
		t.Errorf("entries %v, want the one that was made", entries)
	}
}

// What the profile hides is not there.
func TestHide(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0 SLUICE_HIDE=compute,rewrite,hash,udf-hash")
	for _, attribute := range []string{"entry 0x10000000", "entry 0x10000001", "hash 1", "switch 0xf8"} {
		if got := strings.Join(d.do("capability %s", attribute), " "); got != "0 0 0" {
			t.Errorf("capability of %s: %s, want 0 0 0", attribute, got)
		}
	}
	for _, field := range d.do("values hash 0") {
		if field == "35" {
			t.Error("the hidden queue pair is among the hash fields")
		}
	}
	table := newTable(t, d, "port0")
	for _, call := range []string{"create entry oid:0=" + table + " " + compute + "=0", "create entry oid:0=" + table + " " + setLabel + "=1"} {
		if status, _ := d.try("%s", call); status != -327680-1 {
			t.Errorf("%s: status %d, want %d", call, status, -327680-1)
		}
	}
	if got := strings.Join(d.do("capability hash 0"), " "); got != "1 1 1" {
		t.Errorf("capability of a hash's native fields: %s, want 1 1 1", got)
	}
}

// 10,000 flows, each with its own label: made, found, and found again by the next process.
func TestManyEntries(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newUDFTable(t, d, "port0")
	const flows = 10000
	begin := time.Now()
	for i := range flows {
		d.do("create entry oid:0=%s u32:1=5 %s %s %s %s=%d", table, fieldIP(0x1000, hostA, 128), fieldIP(0x1001, hostB, 128), fieldQP(uint32(i)), setLabel, i+1)
	}
	t.Logf("%d entries through the driver under the sanitizers in %v", flows, time.Since(begin))
	check := func() {
		t.Helper()
		program := startRunner(t, "port0")
		for i := 0; i < flows; i += 97 {
			if _, out := program.run(roceFrame(hostA, hostB, 0xc000, uint32(i))); labelOf(out) != i+1 {
				t.Fatalf("flow %d has label %d, want %d", i, labelOf(out), i+1)
			}
		}
	}
	check()
	d.kill()
	check()
	d = startDriver(t)
	begin = time.Now()
	d.do("switch SLUICE_PORTS=port0")
	t.Logf("adopted in %v", time.Since(begin))
	check()
	if got := d.number("get table %s u32:0x2001", table); got != 131072-flows {
		t.Errorf("%d entries available, want %d", got, 131072-flows)
	}
}

// SET_DSCP changes the six bits, and IPv4's checksum with them.
func TestSetDSCP(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	d.do("create entry oid:0=%s field-u16:0x1016=4791 action-u8:0x2016=46", table)
	program := startRunner(t, "port0")

	six := roceFrame(hostA, hostB, 0xc000, 7)
	six[15] |= 0x10 // ECN stays
	want := bytes.Clone(six)
	want[14], want[15] = 0x60|46>>2, 46<<6&0xff|six[15]&0x3f
	if _, got := program.run(six); !bytes.Equal(got, want) {
		t.Errorf("IPv6: got %x\nwant %x", got, want)
	}
	four := queuePairs4(1)[0]
	want = bytes.Clone(four)
	want[15] = 46 << 2
	want[24], want[25] = 0, 0
	binary.BigEndian.PutUint16(want[24:], ^onesSum(want[14:34]))
	if _, got := program.run(four); !bytes.Equal(got, want) {
		t.Errorf("IPv4: got %x\nwant %x", got, want)
	}
}
