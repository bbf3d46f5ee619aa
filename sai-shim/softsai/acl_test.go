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
	match := d.id("create udf-match L4_DST_PORT_TYPE=4791")
	group := d.id("create udf-group LENGTH=4")
	d.do("create udf MATCH_ID=%s GROUP_ID=%s BASE=L4 OFFSET=12", match, group)
	table := d.id("create table ACL_STAGE=INGRESS FIELD_SRC_IPV6=1 FIELD_DST_IPV6=1 FIELD_IN_PORT=1 FIELD_L4_SRC_PORT=1 FIELD_L4_DST_PORT=1 FIELD_IPV6_NEXT_HEADER=1 FIELD_DSCP=1 FIELD_IPV6_FLOW_LABEL=1 FIELD_BTH_OPCODE=1 FIELD_AETH_SYNDROME=1 USER_DEFINED_FIELD_GROUP_MIN=%s", group)
	d.do("set port %s INGRESS_ACL=%s", portID(t, port), table)
	return table
}

func fieldQP(qp uint32) string { return fmt.Sprintf("USER_DEFINED_FIELD_GROUP_MIN=%08x/00ffffff", qp) }

func fieldIP(field string, addr [16]byte, prefix int) string {
	var mask [16]byte
	for i := range prefix {
		mask[i/8] |= 0x80 >> (i % 8)
	}
	return fmt.Sprintf("FIELD_%s=%s/%s", field, hex.EncodeToString(addr[:]), hex.EncodeToString(mask[:]))
}

// Each field is matched under its mask, and of several entries the one with the
// highest priority counts, whatever its shape.
func TestMatchTakesTheEntryOfHighestPriority(t *testing.T) {
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
	const all = "FIELD_IPV6_NEXT_HEADER=17"
	for _, test := range []struct {
		name    string
		entries []entry // the n-th sets label n
		want    int
	}{
		{"nothing", nil, 0},
		{"no field at all", []entry{{"", 1}}, 1},
		{"source", []entry{{fieldIP("SRC_IPV6", hostA, 128), 1}}, 1},
		{"other source", []entry{{fieldIP("SRC_IPV6", hostB, 128), 1}}, 0},
		{"destination's prefix", []entry{{fieldIP("DST_IPV6", hostB, 48), 1}}, 1},
		{"destination's prefix, host bits set", []entry{{fieldIP("DST_IPV6", hostB, 40), 1}}, 1},
		{"source port", []entry{{"FIELD_L4_SRC_PORT=0xc000", 1}}, 1},
		{"source port under a mask", []entry{{"FIELD_L4_SRC_PORT=0xffff/0xf000", 1}}, 0},
		{"opcode", []entry{{"FIELD_BTH_OPCODE=4", 1}}, 1},
		{"other opcode", []entry{{"FIELD_BTH_OPCODE=5", 1}}, 0},
		{"label", []entry{{"FIELD_IPV6_FLOW_LABEL=0", 1}}, 1},
		{"other label", []entry{{"FIELD_IPV6_FLOW_LABEL=1", 1}}, 0},
		{"queue pair", []entry{{fieldQP(0x123456), 1}}, 1},
		{"other queue pair", []entry{{fieldQP(0x123457), 1}}, 0},
		{"disabled action", []entry{{"ACTION_SET_DSCP=off", 1}}, 1},
		{"two shapes, first higher", []entry{{fieldQP(0x123456), 9}, {all, 1}}, 1},
		{"two shapes, second higher", []entry{{fieldQP(0x123456), 1}, {all, 9}}, 2},
		{"higher one does not match", []entry{{fieldQP(1), 9}, {all, 1}}, 2},
		{"many of a shape", []entry{{fieldQP(1), 9}, {fieldQP(2), 8}, {fieldQP(0x123456), 1}, {all, 2}}, 4},
		{"many of a shape, highest matches", []entry{{fieldQP(1), 1}, {fieldQP(2), 8}, {fieldQP(0x123456), 3}, {all, 2}}, 3},
	} {
		var ids []string
		for i, e := range test.entries {
			ids = append(ids, d.id("create entry TABLE_ID=%s PRIORITY=%d %s %s=%d", table, e.priority, e.fields, setLabel, i+1))
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
	entry := d.id("create entry TABLE_ID=%s PRIORITY=5 %s %s=1", table, fieldQP(0x123456), setLabel)
	d.do("create entry TABLE_ID=%s PRIORITY=4 %s %s=77", table, fieldRoCE, setLabel)

	for _, step := range []struct {
		set  string
		want int
	}{
		{setLabel + "=2", 2},
		{fieldQP(0x654321), 77},
		{fieldQP(0x123456), 2},
		{"ADMIN_STATE=0", 77},
		{"ADMIN_STATE=1", 2},
		{"PRIORITY=3", 77},
		{"PRIORITY=30", 2},
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
	both := fieldQP(7) + " FIELD_L4_SRC_PORT=0xc000"
	first := d.id("create entry TABLE_ID=%s PRIORITY=5 %s %s=1", table, fieldQP(7), setLabel)
	d.do("create entry TABLE_ID=%s PRIORITY=5 %s %s=3", table, fieldQP(9), setLabel)
	second := d.id("create entry TABLE_ID=%s PRIORITY=9 %s %s=2", table, both, setLabel)
	d.do("create entry TABLE_ID=%s PRIORITY=9 %s FIELD_L4_SRC_PORT=0xc000 %s=4", table, fieldQP(8), setLabel)
	if status, _ := d.try("set entry %s FIELD_L4_SRC_PORT=0xc000", first); status != statusItemAlreadyExists {
		t.Fatalf("the match of another entry: status %d, want %d", status, statusItemAlreadyExists)
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
	table := d.id("create table ACL_STAGE=INGRESS FIELD_IN_PORT=1 FIELD_L4_DST_PORT=1 FIELD_IPV6_NEXT_HEADER=1")
	for _, port := range []string{"port0", "port1"} {
		d.do("set port %s INGRESS_ACL=%s", portID(t, port), table)
	}
	entry := d.id("create entry TABLE_ID=%s PRIORITY=2 FIELD_IN_PORT=%s %s=1", table, portID(t, "port0"), setLabel)
	d.do("create entry TABLE_ID=%s PRIORITY=1 %s %s=2", table, fieldRoCE, setLabel)
	want := func(port string, label int) {
		t.Helper()
		if _, out := startRunner(t, port).run(roceFrame(hostA, hostB, 1, 1)); labelOf(out) != label {
			t.Errorf("%s writes label %d, want %d", port, labelOf(out), label)
		}
	}
	want("port0", 1)
	want("port1", 2)
	d.do("set entry %s FIELD_IN_PORT=%s", entry, portID(t, "port1"))
	want("port0", 2)
	want("port1", 1)
	if got := d.do("get entry %s FIELD_IN_PORT", entry)[0]; got != portID(t, "port1") {
		t.Errorf("port %s, want %s", got, portID(t, "port1"))
	}
	if status, _ := d.try("create entry TABLE_ID=%s FIELD_IN_PORT=%s", table, table); status != statusInvalidAttrValue0-1 {
		t.Errorf("a table for a port: status %d", status)
	}
}

// A call that this switch cannot do is refused with the status that says so, and
// leaves no object.
func TestRefusedCallsLeaveNoObject(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	d.do("create entry TABLE_ID=%s PRIORITY=5 %s %s=1", table, fieldRoCE, setLabel)

	for _, test := range []struct {
		call string
		want int
	}{
		{"create table ACL_STAGE=1", statusAttrNotSupported0},                                                            // egress
		{"create table ACL_STAGE=INGRESS ACL_BIND_POINT_TYPE_LIST=4", statusAttrNotSupported0 - 1},                       // bound to the switch
		{"create table ACL_STAGE=INGRESS FIELD_IN_PORTS=1", statusAttrNotSupported0 - 1},                                 // IN_PORTS
		{"create table ACL_BIND_POINT_TYPE_LIST=PORT", statusMandatoryAttributeMissing},                                  // no stage
		{"create entry PRIORITY=5", statusMandatoryAttributeMissing},                                                     // no table
		{"create entry TABLE_ID=" + noTable, statusInvalidAttrValue0},                                                    // no such table
		{"create entry TABLE_ID=" + table + " ACTION_SET_ECN=1", statusAttrNotSupported0 - 1},                            // SET_ECN
		{"create entry TABLE_ID=" + table + " ACTION_SET_TC=1", statusAttrNotSupported0 - 1},                             // SET_TC
		{"create entry TABLE_ID=" + table + " ACTION_SET_ECMP_HASH_ID=0", statusAttrNotSupported0 - 1},                   // SET_ECMP_HASH_ID
		{"create entry TABLE_ID=" + table + " " + setLabel + "=0x100000", statusInvalidAttrValue0 - 1},                   // 21 bits
		{"create entry TABLE_ID=" + table + " " + compute + "=2", statusInvalidAttrValue0 - 1},                           // no such algorithm
		{"create entry TABLE_ID=" + table + " ACTION_PACKET_ACTION=7", statusInvalidAttrValue0 - 1},                      // TRANSIT
		{"create entry TABLE_ID=" + table + " USER_DEFINED_FIELD_GROUP_MIN=00/ff", statusInvalidAttrValue0 - 1},          // the table has no UDF
		{"create entry TABLE_ID=" + table + " PRIORITY=6 " + fieldRoCE + " " + setLabel + "=2", statusItemAlreadyExists}, // the same match
		{"create udf-group LENGTH=5", statusNotSupported},                                                                // too long
		{"create udf-match L4_DST_PORT_TYPE=53", statusAttrNotSupported0},                                                // other port
		{"create hash NATIVE_HASH_FIELD_LIST=RDMA_BTH_OPCODE", statusAttrNotSupported0},                                  // BTH opcode
		{"create hash NATIVE_HASH_FIELD_LIST=RDMA_BTH_DEST_QP", statusAttrNotSupported0},                                 // queue pair alone
		{"create policer METER_TYPE=BYTES MODE=1 CBS=1000 CIR=1000", statusNotSupported},                                 // two rates
		{"create policer METER_TYPE=BYTES MODE=SR_TCM CBS=0 CIR=1000", statusNotSupported},                               // no burst
		{"create mirror TYPE=2 MONITOR_PORT=" + portID(t, "port0"), statusNotSupported},                                  // remote
		{"create trap TYPE=0", statusNotSupported},                                                                       // router trap
		{"get queue " + noQueue + " TYPE", statusInvalidObjectID},
		{"set port " + portID(t, "port0") + " EGRESS_ACL=" + table, statusAttrNotSupported0}, // egress ACL
	} {
		status, _ := d.try("%s", test.call)
		if status != test.want {
			t.Errorf("%s: status %d, want %d", test.call, status, test.want)
		}
	}
	hash := d.id("create hash %s=%s", hashList, withLabel)
	if status, _ := d.try("set switch "+switchID+" ECMP_HASH_IPV6_RDMA=%s", hash); status != statusNotSupported {
		t.Errorf("a hash of RDMA packets without a queue pair: status %d, want %d", status, statusNotSupported)
	}
	if entries := d.do("get table %s ENTRY_LIST", table); len(entries) != 1 {
		t.Errorf("entries %v, want the one that was made", entries)
	}
}

// What the profile hides is not there.
func TestHiddenAttributesAreNotSupported(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0 SLUICE_HIDE=compute,rewrite,hash,udf-hash")
	for _, attribute := range []string{"entry " + setLabel, "entry " + compute, "hash UDF_GROUP_LIST", "switch ECMP_HASH_IPV6_RDMA"} {
		if got := strings.Join(d.do("capability %s", attribute), " "); got != "0 0 0" {
			t.Errorf("capability of %s: %s, want 0 0 0", attribute, got)
		}
	}
	for _, field := range d.do("values hash NATIVE_HASH_FIELD_LIST") {
		if field == nativeDestQP {
			t.Error("the hidden queue pair is among the hash fields")
		}
	}
	table := newTable(t, d, "port0")
	for _, call := range []string{"create entry TABLE_ID=" + table + " " + compute + "=0", "create entry TABLE_ID=" + table + " " + setLabel + "=1"} {
		if status, _ := d.try("%s", call); status != statusAttrNotSupported0-1 {
			t.Errorf("%s: status %d, want %d", call, status, statusAttrNotSupported0-1)
		}
	}
	if got := strings.Join(d.do("capability hash NATIVE_HASH_FIELD_LIST"), " "); got != "1 1 1" {
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
		d.do("create entry TABLE_ID=%s PRIORITY=5 %s %s %s %s=%d", table, fieldIP("SRC_IPV6", hostA, 128), fieldIP("DST_IPV6", hostB, 128), fieldQP(uint32(i)), setLabel, i+1)
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
	if got := d.number("get table %s AVAILABLE_ACL_ENTRY", table); got != 131072-flows {
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
	d.do("create entry TABLE_ID=%s FIELD_L4_DST_PORT=4791 ACTION_SET_DSCP=46", table)
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
