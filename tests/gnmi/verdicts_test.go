// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/tests/oddrows"
	"sluice/yang/rows"
)

// TestServerAndDaemonTakeTheSameRows: sluiced and gNMI take the same rows. (So does `sluice config`: see its tests.)
func TestServerAndDaemonTakeTheSameRows(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, r := range oddrows.Ports {
		s.write(s.config, r.Name(), "admin_status", "up")
	}
	client := s.client()
	cases := oddrows.Rows()
	taken := map[bool]int{}
	for _, r := range cases {
		byDaemon := takes(r)
		byGNMI := gnmiTakes(t, client, r)
		if byDaemon == "" != (byGNMI == "") {
			t.Errorf("%s %.80q:\n  sluiced: %.200s\n  gNMI: %.200s", r.Name()[:min(len(r.Name()), 80)], r.Fields, byDaemon, byGNMI)
		}
		taken[byDaemon == ""]++
	}
	if taken[true] < 50 || taken[false] < 50 {
		t.Errorf("a poor choice of rows: %v", taken)
	}
}

// takes returns why sluiced rejects a row; empty: it accepts it.
func takes(r rows.Row) string {
	var changes []sonicdb.Change
	for _, row := range append([]rows.Row{r}, oddrows.Ports...) {
		changes = append(changes, sonicdb.Change{Row: row})
	}
	_, rejected := config.New().Apply(changes)
	for i := range rejected {
		return fmt.Sprint(&rejected[i])
	}
	return ""
}

// gnmiTakes returns why gNMI rejects a row; empty: it accepted it, and the row was
// deleted again.
func gnmiTakes(t *testing.T, c gpb.GNMIClient, r rows.Row) string {
	t.Helper()
	p := sonic("/CONFIG_DB/localhost")
	p.Elem = append(p.Elem, &gpb.PathElem{Name: r.Table}, &gpb.PathElem{Name: r.Key})
	fields := map[string]any{}
	for name, value := range r.Fields {
		fields[name] = value
		if leaf, isList := strings.CutSuffix(name, "@"); isList {
			delete(fields, name)
			fields[leaf] = strings.Split(value, ",")
		}
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Set(limited(t), &gpb.SetRequest{Replace: []*gpb.Update{{Path: p, Val: jsonOf(string(text))}}}); err != nil {
		return err.Error()
	}
	if _, err := c.Set(limited(t), &gpb.SetRequest{Delete: []*gpb.Path{p}}); err != nil {
		t.Fatal(err)
	}
	return ""
}
