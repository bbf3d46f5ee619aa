// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/cli/targets"
	"sluice/yang/rows"
)

// noon is the time of the readings by the clocks of their switches.
var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// healthy is the reading of a switch without a fault: four uplinks that share evenly.
func healthy(name string, more ...rows.Row) targets.Reading {
	r := targets.Reading{Target: targets.Target{Name: name, Address: name}, At: noon, Uncertain: time.Millisecond}
	r.Rows = append(r.Rows, at("SLUICE_STATE", "global", "state", "running", "alive", noon.Format(time.RFC3339), "flow_label", "active", "placement", "inactive"))
	for i := range 4 {
		r.Rows = append(r.Rows, at("SLUICE_PORT_STATS", fmt.Sprint("Ethernet", 4*i), "role", "fabric", "tx_bytes", "100000000"))
	}
	for _, m := range more {
		for i := range r.Rows {
			if r.Rows[i].Name() == m.Name() {
				for field, value := range m.Fields {
					r.Rows[i].Fields[field] = value
				}
				m.Table = ""
			}
		}
		if m.Table != "" {
			r.Rows = append(r.Rows, m)
		}
	}
	return r
}

// at is a row with fields, by turns names and values.
func at(table, key string, fields ...string) rows.Row {
	r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Fields[fields[i]] = fields[i+1]
	}
	return r
}

// lines returns faults as "level switch check found".
func lines(all []Fault) (out []string) {
	for _, f := range all {
		out = append(out, fmt.Sprintf("%s %s %s %s", f.Level, f.Switch, f.Check, f.Found))
	}
	return out
}

// TestEachFaultOfASwitchIsFound, and a switch without one has no line.
func TestEachFaultOfASwitchIsFound(t *testing.T) {
	hold := func(age time.Duration, state string) rows.Row {
		return at("SLUICE_HOLD", "x", "port", "Ethernet0", "queue", "3", "from", "fe80::2", "state", state, "since", noon.Add(-age).Format(time.RFC3339Nano))
	}
	silent := healthy("s")
	silent.Rows = nil
	gone := targets.Reading{Target: targets.Target{Name: "s"}, Err: errors.New("deadline exceeded after 1.5 s")}
	skewed := healthy("s")
	skewed.Skew, skewed.Uncertain = -3*time.Second, 10*time.Millisecond
	uncertain := healthy("s")
	uncertain.Skew, uncertain.Uncertain = 3*time.Second, 3*time.Second
	for name, tt := range map[string]struct {
		r    targets.Reading
		want []string
	}{
		"all is well":                    {healthy("s"), nil},
		"no answer":                      {gone, []string{"unknown s answer did not answer: deadline exceeded after 1.5 s"}},
		"not running":                    {silent, []string{"act s sluiced sluiced is not running"}},
		"killed":                         {healthy("s", at("SLUICE_STATE", "global", "alive", "2026-11-27T11:59:00Z", "drift", "a")), []string{"act s sluiced sluiced gave its last sign of life 1m0s ago, at 2026-11-27T11:59:00Z"}},
		"degraded":                       {healthy("s", at("SLUICE_STATE", "global", "state", "degraded", "warnings", "no port is to be labelled")), []string{"act s sluiced sluiced is degraded: no port is to be labelled"}},
		"starting":                       {healthy("s", at("SLUICE_STATE", "global", "state", "starting", "last_error", "no library")), []string{"act s sluiced sluiced is starting: no library"}},
		"disabled":                       {healthy("s", at("SLUICE_STATE", "global", "state", "disabled")), []string{"note s sluiced sluiced is disabled: the kill switch is on"}},
		"a warning":                      {healthy("s", at("SLUICE_STATE", "global", "warnings", "x")), []string{"note s sluiced sluiced runs, with warnings: x"}},
		"a method that failed":           {healthy("s", at("SLUICE_STATE", "global", "pfcm", "failed", "pfcm_reason", "no neighbor")), []string{"act s methods pfcm is failed: no neighbor"}},
		"a method that is unproven":      {healthy("s", at("SLUICE_STATE", "global", "flow_label", "unproven"), at("SLUICE_CAPABILITY", "switch", "flow_label_method", "hash", "flow_label_reason", "no counter")), []string{"note s methods flow label is unproven by hash: no counter"}},
		"placement that rests":           {healthy("s", at("SLUICE_STATE", "global", "placement", "degraded", "placement_reason", "no model")), []string{"note s methods placement is degraded: no model"}},
		"rows that are wrong":            {healthy("s", at("SLUICE_CONFIG_ERROR", "SLUICE_PORT|Ethernet9", "field", "name", "reason", "no such row in PORT"), at("SLUICE_CONFIG_ERROR", "SLUICE_X|", "reason", "no such table")), []string{"act s config 2 rows not in force: SLUICE_PORT|Ethernet9 name: no such row in PORT; SLUICE_X|: no such table"}},
		"a hold of a minute":             {healthy("s", hold(time.Minute, "held")), []string{"act s holds 1 hold for more than 10s, the longest for 1m0s: Ethernet0 queue 3 by fe80::2"}},
		"a hold of 11 seconds":           {healthy("s", hold(11*time.Second, "held")), []string{"act s holds 1 hold for more than 10s, the longest for 11s: Ethernet0 queue 3 by fe80::2"}},
		"a hold of 9 seconds":            {healthy("s", hold(9*time.Second, "held")), nil},
		"a sender that is ignored":       {healthy("s", hold(time.Minute, "ignored")), []string{"note s holds 1 flow held for too long, and is ignored: Ethernet0 queue 3 by fe80::2"}},
		"drops":                          {healthy("s", at("SLUICE_QUEUE_STATS", "Ethernet0|3", "dropped", "5"), at("SLUICE_QUEUE_STATS", "Ethernet4|4", "dropped", "7"), at("SLUICE_QUEUE_STATS", "Ethernet4|5", "dropped", "many")), []string{"note s drops 12 packets dropped since the counters began, most at Ethernet4 queue 4: 7"}},
		"an uplink that is full":         {healthy("s", at("SLUICE_PORT_STATS", "Ethernet8", "tx_bytes", "900000000")), []string{"act s uplinks Ethernet8 has 3.00 times the mean of 4 uplinks since the counters began"}},
		"an uplink that is fuller":       {healthy("s", at("SLUICE_PORT_STATS", "Ethernet8", "tx_bytes", "200000000")), []string{"note s uplinks Ethernet8 has 1.60 times the mean of 4 uplinks since the counters began"}},
		"an uplink that is idle":         {healthy("s", at("SLUICE_PORT_STATS", "Ethernet8", "tx_bytes", "0")), []string{"note s uplinks Ethernet0 has 1.33 times the mean of 4 uplinks since the counters began; 1 carried nothing"}},
		"an edge port that is full":      {healthy("s", at("SLUICE_PORT_STATS", "Ethernet8", "tx_bytes", "900000000", "role", "edge")), nil},
		"a role of the configuration":    {healthy("s", at("SLUICE_PORT_STATS", "Ethernet100", "tx_bytes", "900000000"), at("SLUICE_PORT", "Ethernet100", "role", "fabric")), []string{"act s uplinks Ethernet100 has 3.46 times the mean of 5 uplinks since the counters began"}},
		"uplinks with a few packets":     {healthy("s", at("SLUICE_PORT_STATS", "Ethernet0", "tx_bytes", "9000"), at("SLUICE_PORT_STATS", "Ethernet4", "tx_bytes", "0"), at("SLUICE_PORT_STATS", "Ethernet8", "tx_bytes", "0"), at("SLUICE_PORT_STATS", "Ethernet12", "tx_bytes", "0")), nil},
		"drift":                          {healthy("s", at("SLUICE_STATE", "global", "drift", "qdisc of eth1 is gone; an ACL entry")), []string{"note s drift qdisc of eth1 is gone", "note s drift an ACL entry"}},
		"a clock that is behind":         {skewed, []string{"note s clock the clock is 3.0 s behind"}},
		"a clock that cannot be judged":  {uncertain, nil},
		"a text of 10 kB":                {healthy("s", at("SLUICE_STATE", "global", "drift", strings.Repeat("x", 10000))), []string{"note s drift " + strings.Repeat("x", longestFound) + "… (10000 bytes)"}},
		"a hold whose time cannot be":    {healthy("s", at("SLUICE_HOLD", "x", "state", "held", "since", "yesterday")), nil},
		"rows of another table, no time": {targets.Reading{Target: targets.Target{Name: "s"}, Rows: []rows.Row{at("SLUICE_STATE", "global", "state", "running")}}, nil},
	} {
		if diff := cmp.Diff(tt.want, lines(JudgeFabric([]targets.Reading{tt.r}, nil))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestWorstFaultOfAFabricComesFirst: by level, by check, by how bad it is, and by name.
func TestWorstFaultOfAFabricComesFirst(t *testing.T) {
	full := func(name, bytes string) targets.Reading {
		return healthy(name, at("SLUICE_PORT_STATS", "Ethernet8", "tx_bytes", bytes))
	}
	off := healthy("leaf9")
	off.Skew = 2 * time.Second
	var all []targets.Reading
	for i := range 10 { // the clock of this machine is an hour behind all of them
		all = append(all, healthy(fmt.Sprint("spine", i)))
	}
	all = append(all,
		full("leaf1", "200000000"), full("leaf10", "900000000"), full("leaf2", "900000000"), full("leaf3", "950000000"), off,
		targets.Reading{Target: targets.Target{Name: "leaf4"}, Err: errors.New("connection refused")},
		targets.Reading{Target: targets.Target{Name: "leaf5"}, At: noon},
		healthy("leaf6", at("SLUICE_STATE", "global", "drift", "x")),
	)
	for i := range all {
		all[i].Skew += time.Hour
	}
	want := []string{
		"act leaf5 sluiced", "act leaf3 uplinks", "act leaf2 uplinks", "act leaf10 uplinks", "unknown leaf4 answer", "note leaf1 uplinks", "note leaf6 drift", "note leaf9 clock",
	}
	var got []string
	for _, f := range JudgeFabric(all, nil) {
		got = append(got, fmt.Sprintf("%s %s %s", f.Level, f.Switch, f.Check))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := JudgeFabric(all[:10], nil); got != nil {
		t.Errorf("ten that are well: %v", lines(got))
	}
}

// TestIntervalIsJudgedByWhatPassedInIt: what was long before is no fault, what comes is one to act on,
// and counters that began again count whole.
func TestIntervalIsJudgedByWhatPassedInIt(t *testing.T) {
	old := healthy("s", at("SLUICE_PORT_STATS", "Ethernet8", "tx_bytes", "900000000"), at("SLUICE_QUEUE_STATS", "Ethernet0|3", "dropped", "5"))
	if got := lines(JudgeFabric([]targets.Reading{old}, []targets.Reading{old})); got != nil {
		t.Errorf("nothing passed: %v", got)
	}
	now := healthy("s", at("SLUICE_PORT_STATS", "Ethernet0", "tx_bytes", "180000000"), at("SLUICE_PORT_STATS", "Ethernet8", "tx_bytes", "80000000"), at("SLUICE_QUEUE_STATS", "Ethernet0|3", "dropped", "6"))
	want := []string{"act s drops 1 packet dropped in the interval, most at Ethernet0 queue 3: 1", "act s uplinks Ethernet0 has 2.00 times the mean of 4 uplinks in the interval; 2 carried nothing"}
	if diff := cmp.Diff(want, lines(JudgeFabric([]targets.Reading{now}, []targets.Reading{old}))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	gone := targets.Reading{Target: old.Target, Err: errors.New("x")} // its first answer is missing: as without an interval
	if got := lines(JudgeFabric([]targets.Reading{now}, []targets.Reading{gone})); len(got) != 2 || !strings.Contains(got[0], "since the counters began") {
		t.Errorf("%v", got)
	}
}
