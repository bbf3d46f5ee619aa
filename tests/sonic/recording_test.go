// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rule is a line that creates an entry from a source port to a next hop.
func rule(oid, port, hop string) string {
	return "2026-11-27.00:00:00.000000|c|SAI_OBJECT_TYPE_ACL_ENTRY:oid:" + oid + "|SAI_ACL_ENTRY_ATTR_TABLE_ID=oid:0x7|SAI_ACL_ENTRY_ATTR_PRIORITY=9000" +
		"|SAI_ACL_ENTRY_ATTR_FIELD_L4_SRC_PORT=" + port + "&mask:0xffff|SAI_ACL_ENTRY_ATTR_ACTION_REDIRECT=oid:" + hop
}

const applied = "2026-11-27.00:00:01.000000|a|SAI_REDIS_NOTIFY_SYNCD_APPLY_VIEW"

func read(t *testing.T, lines ...string) []call {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sairedis.rec")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	all, _, err := calls(file, 0)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestRewrittenCountsRulesOfTheViewThatAreMadeAgain(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		want  int
	}{
		{"restored alone", []string{rule("0x1", "1", "0x4"), applied}, 0},
		{"made again", []string{rule("0x1", "1", "0x4"), rule("0x2", "2", "0x4"), applied, rule("0x3", "1", "0x4"), rule("0x9", "2", "0x4")}, 2},
		{"to another next hop", []string{rule("0x1", "1", "0x4"), applied, rule("0x3", "1", "0x5")}, 0},
		{"a new flow", []string{rule("0x1", "1", "0x4"), applied, rule("0x3", "2", "0x4")}, 0},
	} {
		if got := rewritten(read(t, c.lines...)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestCallsReadsBulks(t *testing.T) {
	got := read(t, "t|C|SAI_OBJECT_TYPE_ROUTE_ENTRY||a|X=1||b|X=2|Y=3", "t|E|SAI_STATUS_SUCCESS", "t|r|SAI_OBJECT_TYPE_ACL_ENTRY:oid:0x1")
	want := []call{
		{"c", "SAI_OBJECT_TYPE_ROUTE_ENTRY:a", "SAI_OBJECT_TYPE_ROUTE_ENTRY", map[string]string{"X": "1"}},
		{"c", "SAI_OBJECT_TYPE_ROUTE_ENTRY:b", "SAI_OBJECT_TYPE_ROUTE_ENTRY", map[string]string{"X": "2", "Y": "3"}},
		{"r", "SAI_OBJECT_TYPE_ACL_ENTRY:oid:0x1", "SAI_OBJECT_TYPE_ACL_ENTRY", map[string]string{}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(call{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseEntryReadsMasksAndActions(t *testing.T) {
	e := parseEntry("oid:0x8", map[string]string{
		entryField + "TABLE_ID": "oid:0x7", entryField + "PRIORITY": "9001", entryField + "FIELD_SRC_IP": "10.0.1.10&mask:255.255.255.0",
		entryField + "FIELD_DST_IPV6": "2001:db8::1&mask:ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", entryField + "FIELD_L4_SRC_PORT": "49152&mask:0xffff",
		entryField + "ACTION_PACKET_ACTION": "SAI_PACKET_ACTION_DROP",
	})
	want := entry{
		oid: "oid:0x8", table: "oid:0x7", src: netip.MustParsePrefix("10.0.1.10/24"), dst: netip.MustParsePrefix("2001:db8::1/128"),
		srcPort: 49152, priority: 9001, drops: true,
	}
	if e != want {
		t.Errorf("%+v, want %+v", e, want)
	}
}

func TestInspectNamesWhatARootLacks(t *testing.T) {
	if _, _, err := inspect(""); err == nil || !strings.HasPrefix(err.Error(), "SONIC=DIR: ") {
		t.Errorf("without a root: %v", err)
	}
	dir := t.TempDir()
	for _, p := range append(needed, "sflowmgrd") {
		if p == "syncd" {
			continue
		}
		make1(t, filepath.Join(dir, "usr/bin", p), "")
	}
	if _, _, err := inspect(dir); err == nil || !strings.Contains(err.Error(), "lacks usr/bin/syncd") {
		t.Errorf("without syncd: %v", err)
	}
	make1(t, filepath.Join(dir, "usr/bin/syncd"), "")
	if _, _, err := inspect(dir); err == nil || !strings.Contains(err.Error(), versionFile) {
		t.Errorf("without a version: %v", err)
	}
	make1(t, filepath.Join(dir, versionFile), "build_version: 'SONiC.202505.12-abc'\n")
	release, has, err := inspect(dir)
	if err != nil || release != "202505" || len(has) != 1 || has[0] != "sflowmgrd" {
		t.Errorf("%q, %v, %v", release, has, err)
	}
}

func make1(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
