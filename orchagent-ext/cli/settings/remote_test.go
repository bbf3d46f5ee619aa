// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/yang/rows"
)

// set is the change of a leaf of a row.
func set(table, key, leaf, value string) Change {
	for _, t := range Tables() {
		if t.Name == table {
			return t.Set(key, map[string]string{leaf: value})
		}
	}
	panic(table)
}

// TestPortsOfASwitchThatIsFar: a port at which sluiced does not count is refused where it counts
// at any; else, and for a PortChannel, the switch is the one that judges. Other references are
// judged as ever.
func TestPortsOfASwitchThatIsFar(t *testing.T) {
	lent := NewConfig([]rows.Row{{Table: "PORT", Key: "Ethernet0"}})
	for name, tt := range map[string]struct {
		counted   bool
		key, leaf string
		value     string
		says      string // error; empty: it is good
	}{
		"a counted port":                  {true, "Ethernet0", "role", "edge", ""},
		"another one":                     {true, "Ethernet9", "role", "edge", `no such row in PORT or PORTCHANNEL; there are: Ethernet0`},
		"a PortChannel":                   {true, "PortChannel7", "role", "edge", ""},
		"sluiced does not run":            {false, "Ethernet9", "role", "edge", ""},
		"a threshold that is not there":   {false, "Ethernet0", "threshold", "gold", "no such row in SLUICE_THRESHOLD"},
		"a value that is not possible":    {false, "Ethernet9", "role", "core", "role"},
		"a threshold, of a port far away": {true, "Ethernet0", "threshold", "gold", "no such row in SLUICE_THRESHOLD"},
	} {
		_, edits, err := lent.Apply(OfSwitch(tt.counted, set("SLUICE_PORT", tt.key, tt.leaf, tt.value)))
		if tt.says == "" && (err != nil || len(edits) != 1 || edits[0].Table != "SLUICE_PORT") || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, %v", name, edits, err)
		}
	}
}

// TestEditIsDoneWhenItsOwnFieldsAre, and undone when none of them is: other fields do not count; presence of
// the row does, under each spelling of its key.
func TestEditIsDoneWhenItsOwnFieldsAre(t *testing.T) {
	row := func(key string, fields ...string) Config {
		r := rows.Row{Table: "SLUICE_PPFC_GATEWAY", Key: key, Fields: map[string]string{}}
		for i := 0; i+1 < len(fields); i += 2 {
			r.Fields[fields[i]] = fields[i+1]
		}
		return NewConfig([]rows.Row{r})
	}
	type fields = map[string]string
	const key = "2001:db8::/32"
	edit := func(before, after fields) Edit {
		return Edit{Table: "SLUICE_PPFC_GATEWAY", Key: key, Before: before, After: after}
	}
	for name, tt := range map[string]struct {
		e     Edit
		now   Config
		done  bool
		taken bool // back
		gone  bool // nothing of it is there
	}{
		"a field is set":                {edit(fields{"a": "1"}, fields{"a": "2"}), row(key, "a", "2"), true, false, false},
		"not yet":                       {edit(fields{"a": "1"}, fields{"a": "2"}), row(key, "a", "1"), false, true, true},
		"others changed another":        {edit(fields{"a": "1"}, fields{"a": "2"}), row(key, "a", "2", "b", "7"), true, false, false},
		"others changed the same":       {edit(fields{"a": "1"}, fields{"a": "2"}), row(key, "a", "3"), false, false, true},
		"others removed the row":        {edit(fields{"a": "1"}, fields{"a": "2"}), Config{}, false, false, true},
		"others removed an empty field": {edit(fields{"a": "1"}, fields{"a": ""}), row(key, "b", "7"), false, false, true},
		"one of two is there":           {edit(fields{"a": "1"}, fields{"a": "2", "b": "7"}), row(key, "a", "1", "b", "7"), false, false, false},
		"a field is removed":            {edit(fields{"a": "1", "b": "2"}, fields{"b": "2"}), row(key, "b", "2"), true, false, false},
		"it is still there":             {edit(fields{"a": "1", "b": "2"}, fields{"b": "2"}), row(key, "a", "1", "b", "2"), false, true, true},
		"a row is made":                 {edit(nil, fields{}), row(key), true, false, false},
		"it is not there":               {edit(nil, fields{}), Config{}, false, true, true},
		"others made it":                {edit(nil, fields{"a": "1"}), row(key, "a", "2"), false, false, true},
		"in another spelling":           {edit(nil, fields{"a": "1"}), row("2001:DB8::/32", "a", "1"), true, false, false},
		"a row is removed":              {edit(fields{"a": "1"}, nil), Config{}, true, false, false},
		"the row is there":              {edit(fields{"a": "1"}, nil), row(key, "a", "1"), false, true, true},
		"others made it again":          {edit(fields{"a": "1"}, nil), row(key, "a", "2"), false, false, true},
	} {
		if got, back, gone := tt.e.Done(tt.now), tt.e.Inverse().Done(tt.now), tt.e.Undone(tt.now); got != tt.done || back != tt.taken || gone != tt.gone {
			t.Errorf("%s: done %v, taken back %v, undone %v", name, got, back, gone)
		}
	}
}

// TestNewRowsHaveTheKeyThatTheServerWrites, and others that which they have.
func TestNewRowsHaveTheKeyThatTheServerWrites(t *testing.T) {
	all := []Edit{
		{Table: "SLUICE_PPFC_PEER", Key: "2001:DB8::1/32", After: map[string]string{}},
		{Table: "SLUICE_PPFC_PEER", Key: "2001:DB9::/32", Before: map[string]string{}},
		{Table: "SLUICE_PORT", Key: "Ethernet0", After: map[string]string{"role": "edge"}},
	}
	var keys []string
	for _, e := range Canonical(all) {
		keys = append(keys, e.Key)
	}
	if diff := cmp.Diff([]string{"2001:db8::/32", "2001:DB9::/32", "Ethernet0"}, keys); diff != "" || all[0].Key != "2001:DB8::1/32" {
		t.Error(diff, all[0].Key)
	}
	mixed := []rows.Row{{Table: "PORT", Key: "eth0", Fields: deviceFields}, {Table: "SLUICE_PORT", Key: "eth0"}}
	if got := OfModels(mixed); len(got) != 1 || got[0].Table != "SLUICE_PORT" || mixed[0].Table != "PORT" {
		t.Errorf("%v of %v", got, mixed)
	}
}
