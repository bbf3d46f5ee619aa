// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openconfig/goyang/pkg/yang"
	"github.com/openconfig/ygot/ygot"
	"sluice/yang/model"
)

func TestEncodeWritesRenamedLeavesUnderBothNames(t *testing.T) {
	flow := &model.SonicSluiceState_SonicSluiceState_SLUICE_FLOW_SLUICE_FLOW_LIST{
		Id: ygot.String("a,b,1"), NotifiedNeighbor: ygot.String("fe80::1"), Told: ygot.String("fe80::2"),
	}
	row, err := Encode(flow)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields{"notified_neighbor": "fe80::1", "told": "fe80::1"}, row.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	flow.NotifiedNeighbor = nil
	if row, err = Encode(flow); err != nil || len(row.Fields) > 0 {
		t.Errorf("fields %v, error %v: the former name of a leaf that is absent is written", row.Fields, err)
	}
}

func TestFormerNamesOfThisVersionAreInTheSchema(t *testing.T) {
	want := map[string]string{
		"SLUICE_FLOW told": "notified_neighbor", "SLUICE_HOLD why": "reason",
		"SLUICE_NOTIFY_STATS lane_full": "hold_queue_full", "SLUICE_NOTIFY_STATS lane_lost": "hold_queue_lost",
		"SLUICE_PLACEMENT_GROUP undone": "moves_refused", "SLUICE_PLACEMENT_FABRIC rows_aside": "rows_rejected",
		"SLUICE_STATS texts_cut": "texts_truncated",
	}
	got := map[string]string{}
	for name, table := range byName() {
		for leaf, current := range table.former {
			got[name+" "+leaf] = current
			if is, was := table.entry.Dir[current], table.entry.Dir[leaf]; is.Type.Name != was.Type.Name {
				t.Errorf("%s %s has type %s, and its former name %s", name, current, is.Type.Name, was.Type.Name)
			}
			if Former(name, leaf) != current || Former(name, current) != "" {
				t.Errorf("Former(%s, %s) = %q", name, leaf, Former(name, leaf))
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("former names (-want +got):\n%s", diff)
	}
}

func TestExtensionReturnsTheArgumentOfItsKeyword(t *testing.T) {
	e := &yang.Entry{Name: "told", Exts: []*yang.Statement{{Keyword: "sluice-state:former-name", Argument: "notified"}}}
	if got := extension(e, "former-name"); got != "notified" {
		t.Errorf("extension former-name %q", got)
	}
	if got := extension(e, "database"); got != "" {
		t.Errorf("extension database %q of an entry that lacks it", got)
	}
}
