// SPDX-License-Identifier: Apache-2.0

package config

import (
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// PFCM and PPFC have different ICMPv6 types, whatever is changed: of two rows that clash
// the one that comes later is not in force.
func TestCodePointsDoNotClash(t *testing.T) {
	set := func(table, icmpv6 string) sonicdb.Change {
		return sonicdb.Change{Row: rows.Row{Table: table, Key: "global", Fields: map[string]string{"icmpv6_type": icmpv6}}}
	}
	for name, tt := range map[string]struct {
		steps      [][]sonicdb.Change
		pfcm, ppfc uint8
		rejected   string // by the last step; "": nothing
	}{
		"PPFC of PFCM's default": {[][]sonicdb.Change{{set("SLUICE_PPFC", "200")}}, 200, 201, "SLUICE_PPFC"},
		"PFCM of PPFC's default": {[][]sonicdb.Change{{set("SLUICE_PFCM", "201")}}, 200, 201, "SLUICE_PFCM"},
		"both change places":     {[][]sonicdb.Change{{set("SLUICE_PFCM", "201"), set("SLUICE_PPFC", "200")}}, 201, 200, ""},
		"PPFC changes later":     {[][]sonicdb.Change{{set("SLUICE_PFCM", "170"), set("SLUICE_PPFC", "171")}, {set("SLUICE_PPFC", "170")}}, 170, 171, "SLUICE_PPFC"},
		"PFCM changes later":     {[][]sonicdb.Change{{set("SLUICE_PFCM", "170"), set("SLUICE_PPFC", "171")}, {set("SLUICE_PFCM", "171")}}, 170, 171, "SLUICE_PFCM"},
		"both come at once":      {[][]sonicdb.Change{{set("SLUICE_PFCM", "170"), set("SLUICE_PPFC", "170")}}, 170, 201, "SLUICE_PPFC"},
		"the clash ends": {[][]sonicdb.Change{{set("SLUICE_PFCM", "170"), set("SLUICE_PPFC", "170")}, {set("SLUICE_PFCM", "172")}},
			172, 170, ""},
	} {
		st := New()
		var s *Snapshot
		for _, changes := range tt.steps {
			s, _ = st.Apply(changes)
		}
		if *s.PFCM.Icmpv6Type != tt.pfcm || *s.PPFC.Icmpv6Type != tt.ppfc {
			t.Errorf("%s: PFCM has %d, PPFC %d, want %d and %d", name, *s.PFCM.Icmpv6Type, *s.PPFC.Icmpv6Type, tt.pfcm, tt.ppfc)
		}
		switch {
		case tt.rejected == "" && len(s.Rejections) == 0:
		case tt.rejected == "" || len(s.Rejections) != 1 || s.Rejections[0].Table != tt.rejected || s.Rejections[0].Field != "icmpv6_type":
			t.Errorf("%s: rejected %v, want %s", name, s.Rejections, tt.rejected)
		}
	}
}
