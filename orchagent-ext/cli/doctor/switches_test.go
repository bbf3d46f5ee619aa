// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/orchagenttest"
)

var release = regexp.MustCompile(`\b20\d{4}\b`)

// TestSwitchesAreThoseOfThePage: docs/compatibility.md has a row for each release of SONiC where
// syncd owns the ASIC, with the methods of the table.
func TestSwitchesAreThoseOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{} // methods by release
	of := false
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 {
			continue
		}
		kind, releases, methods := strings.TrimSpace(cells[1]), cells[2], cells[3]
		if kind != "the same" {
			of = strings.HasPrefix(kind, "switch whose syncd owns the ASIC")
		}
		if !of || strings.Contains(releases, "later") || strings.Contains(releases, "before") || strings.Contains(releases, "packet type") {
			continue
		}
		for _, name := range release.FindAllString(releases, -1) {
			rows["sonic-"+name] += methods
		}
	}
	for _, s := range Switches {
		methods, there := rows[s.Name]
		if there != s.orchagent {
			t.Errorf("%s: the page has it: %v", s.Name, there)
		}
		delete(rows, s.Name)
		if !s.orchagent {
			continue
		}
		for word, has := range map[string]bool{"placement by `redirect`": s.Redirects, "`hash` of labels": s.HashesLabel, "export by samples": s.Samples, "copies": s.Copies, "`compute`": s.Labels} {
			if strings.Contains(methods, word) != has {
				t.Errorf("%s: %s: the page has it: %v, the table %v", s.Name, word, !has, has)
			}
		}
	}
	if len(rows) > 0 {
		t.Errorf("only on the page: %v", rows)
	}
}

// TestSwitchesAreThoseOfTheSchemas: what a release gives is what its orchagent takes.
func TestSwitchesAreThoseOfTheSchemas(t *testing.T) {
	seen := 0
	for _, r := range orchagenttest.Releases {
		s, err := ParseSwitch("sonic-" + r.Name)
		if err != nil {
			continue
		}
		seen++
		if s.HashesLabel != slices.Contains(r.HashFields, "IPV6_FLOW_LABEL") || s.HashesQueuePair != slices.Contains(r.HashFields, "RDMA_BTH_DEST_QP") ||
			s.Copies != slices.Contains(r.PacketActions, "COPY") || s.Redirects != slices.Contains(r.Actions, "REDIRECT_ACTION") || s.Labels {
			t.Errorf("%+v: %+v", s, r)
		}
	}
	if seen != len(Switches)-2 {
		t.Errorf("%d releases", seen)
	}
}

func TestKindIsThatOfTheMachine(t *testing.T) {
	for name, tt := range map[string]struct {
		m                         Machine
		want                      string
		labels, redirects, hashes bool
	}{
		"Linux":                 {Machine{}, "linux", true, true, true},
		"virtual switch":        {Machine{ASIC: "vs", Syncd: true, SONiC: "202605"}, "sonic-vs", true, true, true},
		"ASIC of syncd":         {Machine{ASIC: "broadcom", Syncd: true, SONiC: "202411"}, "sonic-202411", false, true, false},
		"ASIC, unknown release": {Machine{ASIC: "broadcom", Syncd: true, SONiC: "202705"}, "", false, false, false},
		"ASIC without syncd":    {Machine{ASIC: "broadcom", SONiC: "202605"}, "", false, false, false},
		"daemon that labels":    {Machine{Capability: map[string]string{"flow_label_method": "compute", "flow_label_state": "active", "placement_method": "entries"}}, "this switch", true, false, true},
		"daemon that redirects": {Machine{ASIC: "broadcom", Syncd: true, Driver: "orchagent", Capability: map[string]string{"flow_label_method": "hash", "flow_label_state": "active", "placement_method": "redirect", "placement_state": "unproven"}}, "this switch", false, true, true},
		"daemon without labels": {Machine{Capability: map[string]string{"flow_label_method": "compute", "flow_label_state": "none"}}, "this switch", false, false, false},
	} {
		f := Facts{Machine: &tt.m}
		s := f.kind()
		if s == nil {
			s = &Switch{}
		}
		if s.Name != tt.want || s.Labels != tt.labels || s.Redirects != tt.redirects || s.HashesLabel != tt.hashes {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if _, err := ParseSwitch("sonic-201911"); err == nil || !strings.Contains(err.Error(), "linux, sonic-vs, sonic-202305") {
		t.Errorf("%v", err)
	}
}
