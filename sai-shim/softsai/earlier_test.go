// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// recordedMaps are the maps of a switch that an earlier version left: values by name and key,
// in hex. Its ports have the ifindexes from firstRecorded on.
type recordedMaps map[string]map[string]string

const firstRecorded = 10

// replay makes the switch again, on the ports of a fabric.
func (m recordedMaps) replay(t *testing.T) {
	t.Helper()
	var lines strings.Builder
	for name, values := range m {
		for key, value := range values {
			fmt.Fprintln(&lines, name, key, value)
		}
	}
	cmd := exec.Command(program(t, "replay"), strings.Fields("in out0 out1 out2 out3")...)
	cmd.Stdin = strings.NewReader(lines.String())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("replay: %v\n%s", err, out)
	}
}

// objects are the ids of the recorded objects.
func (m recordedMaps) objects(t *testing.T) (ids []uint64) {
	t.Helper()
	for key := range m["soft_meta"] {
		b, err := hex.DecodeString(key)
		if err != nil || len(b) != 16 {
			t.Fatalf("key %s of a record: %v", key, err)
		}
		if id := binary.LittleEndian.Uint64(b); id != 0 && binary.LittleEndian.Uint64(b[8:]) == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// attributeOf is an attribute of each type of object, as the driver names both.
var attributeOf = map[uint64]string{
	0x01: "port %#x INGRESS_ACL", 0x07: "table %#x ACL_STAGE", 0x08: "entry %#x TABLE_ID", 0x09: "counter %#x TABLE_ID",
	0x0f: "samplepacket %#x SAMPLE_RATE", 0x11: "trap-group %#x POLICER", 0x12: "policer %#x CIR", 0x1c: "hash %#x NATIVE_HASH_FIELD_LIST",
	0x21: "switch %#x ECMP_HASH_IPV6", 0x1d: "udf %#x BASE", 0x1e: "udf-match %#x L4_DST_PORT_TYPE", 0x1f: "udf-group %#x LENGTH", 0x38: "trap %#x TYPE",
}

// ledgerIDs are the ids of objects in the rows that sluiced had, in ledger.json beside recorded
// maps; nil where those were recorded alone.
func ledgerIDs(t *testing.T, folder string) (ids []uint64) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "ledger.json"))
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	var recorded map[string]map[string]map[string]json.RawMessage
	if err := json.Unmarshal(text, &recorded); err != nil {
		t.Fatal(err)
	}
	for key := range recorded["STATE_DB"]["SLUICE_ASIC_OBJECT"] {
		var id uint64
		if n, _ := fmt.Sscanf(key, "oid:%v", &id); n == 1 { // others are settings of ports and of the switch
			ids = append(ids, id)
		}
	}
	if len(ids) < 70 {
		t.Fatalf("the ledger has the ids of %d objects only", len(ids))
	}
	return ids
}

// The objects of a switch that an earlier version of the library left are adopted under their
// ids, which the ledger of that time has, its counters go on, and no packet is lost or goes
// without its label meanwhile.
func TestSwitchOfAnEarlierVersionIsAdopted(t *testing.T) {
	const recorded = "../../tests/upgrade/testdata/"
	for _, folder := range []string{"4b285e7", "4b285e7/flows"} {
		t.Run(folder, func(t *testing.T) {
			folder := filepath.Join(recorded, folder)
			text, err := os.ReadFile(filepath.Join(folder, "softsai.json"))
			if err != nil {
				t.Fatal(err)
			}
			var maps recordedMaps
			if err := json.Unmarshal(text, &maps); err != nil {
				t.Fatal(err)
			}
			f := newFabricAt(t, firstRecorded)
			maps.replay(t)
			ledger, frames := ledgerIDs(t, folder), queuePairs(32)
			labels := map[int]uint32{}
			out, _ := f.forward(frames, qpOf)
			for i := range out {
				if labels[i] = uint32(labelOf(out[i])); labels[i] == 0 {
					t.Fatal("the earlier version writes no label: the test tests nothing")
				}
			}
			d := startDriver(t)
			f.takeOver(d, frames[0])
			adopted, ids := 0, maps.objects(t)
			counted := func() (packets uint64) {
				for _, id := range ids {
					if id>>48 == 0x09 {
						packets += d.number("get counter %#x PACKETS", id)
					}
				}
				return packets
			}
			for _, id := range ids {
				get := attributeOf[id>>48]
				if get == "" {
					t.Fatalf("object %#x: a type that the test has no attribute of", id)
				}
				if status, _ := d.try("get "+get, id); status == 0 {
					adopted++
				}
			}
			taken := counted()
			if adopted != len(ids) || len(ids) < 10 {
				t.Errorf("%d of %d objects adopted", adopted, len(ids))
			}
			for _, id := range ledger {
				if status, _ := d.try("get "+attributeOf[id>>48], id); status != 0 {
					t.Errorf("object %#x of the ledger: status %d", id, status)
				}
			}
			t.Logf("%d of %d objects adopted, %d of the ledger among them", adopted, len(ids), len(ledger))
			out, _ = f.forward(frames, qpOf)
			for i := range out { // the replayed program has no tables to compute labels by
				if is := uint32(labelOf(out[i])); len(ledger) > 0 && is != labels[i] {
					t.Errorf("flow %d had the label %#x, and has %#x", i, labels[i], is)
				}
			}
			if before := countedBy(t, maps); before == 0 || taken <= before {
				t.Errorf("counters have %d packets, want more than the %d of before", taken, before)
			}
			for _, cpu := range cpus(t) {
				before := counted()
				pin(t, 0, cpu)
				f.forward(frames, qpOf)
				if after := counted(); after < before+uint64(len(frames)) {
					t.Errorf("CPU %d counts %d of %d packets", cpu, after-before, len(frames))
				}
			}
			// The next process finds them, too.
			d.kill()
			d = startDriver(t)
			f.takeOver(d, frames[0])
			testPlaceOfCounterIsCleared(t, d, ids)
		})
	}
}

// testPlaceOfCounterIsCleared removes a counter that has counted, and makes one that gets its place.
func testPlaceOfCounterIsCleared(t *testing.T, d *driver, ids []uint64) {
	t.Helper()
	for _, entry := range ids {
		if entry>>48 != 0x08 {
			continue
		}
		counter := d.do("get entry %#x %s", entry, actionCounter)[0]
		if counter == "0x0" || d.number("get counter %s PACKETS", counter) == 0 {
			continue
		}
		table := d.do("get counter %s TABLE_ID", counter)[0]
		d.do("remove entry %#x", entry)
		d.do("remove counter %s", counter)
		next := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1", table)
		if n := d.number("get counter %s PACKETS", next); n != 0 {
			t.Errorf("a new counter has %d packets", n)
		}
		return
	}
	t.Error("no entry counts")
}

// countedBy are the packets of the recorded counters.
func countedBy(t *testing.T, maps recordedMaps) (packets uint64) {
	t.Helper()
	for _, value := range maps["soft_counters"] {
		b, err := hex.DecodeString(value)
		if err != nil || len(b) < 8 {
			t.Fatalf("counter %s: %v", value, err)
		}
		packets += binary.LittleEndian.Uint64(b)
	}
	return packets
}
