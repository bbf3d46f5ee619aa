// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/tests/redistest"
)

func TestSettingsOutliveAnEmptiedConfiguration(t *testing.T) {
	now := time.Unix(1000, 0)
	up := map[string]string{"admin_state": "up"}
	var s settings
	for i, step := range []struct {
		value string
		sflow map[string]string
		after time.Duration
		on    bool
	}{
		{"1", up, 0, true},
		{"", nil, time.Second, true},
		{"0", nil, longestLoading - time.Second, true},
		{"1", nil, time.Second, false}, // loaded without it
		{"1", up, 0, true},
		{"", nil, 0, true},
		{"", nil, longestLoading, false},
		{"1", up, 0, true},
	} {
		now = now.Add(step.after)
		if _, sflow := s.take(step.value, nil, step.sflow, now); (sflow != nil) != step.on {
			t.Errorf("step %d: sFlow is %v, want it on: %v", i, sflow, step.on)
		}
	}
	var redis settings // without SONiC
	redis.take("", nil, up, now)
	if _, sflow := redis.take("", nil, nil, now); sflow != nil {
		t.Error("a row that the operator removed counts")
	}
}

// TestEmptiedConfigurationKeepsPlacement: sFlow is the operator's row, and goes with all others.
func TestEmptiedConfigurationKeepsPlacement(t *testing.T) {
	p := newPlace(t).start("202505")
	redistest.Text(t, p.config, initialized, "1")
	p.set("SFLOW", "global", "admin_state", "up")
	e := p.engine(p.driver())
	p.reconcile(e, placements)
	redistest.Text(t, p.config, initialized, "")
	p.remove("SFLOW", "global")
	if changed, err := e.CheckDrift(); changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
	if by := p.reconcile(e, placements).Choices[engine.NeedPlacement]; by.Method != engine.Redirect {
		t.Errorf("method %+v", by)
	}
	redistest.Text(t, p.config, initialized, "1")
	if by := p.reconcile(e, placements).Choices[engine.NeedPlacement]; by.Method != engine.None {
		t.Errorf("method %+v, and the operator has no sFlow", by)
	}
}

// TestRemovalThatOrchagentHasYetToCarryOutIsNamed: while it hangs, entries are on the switch, and no row
// counts as removed.
func TestRemovalThatOrchagentHasYetToCarryOutIsNamed(t *testing.T) {
	p := newRulePlace(t, "202505", orchagenttest.ASIC{})
	var log strings.Builder
	p.d.said.log = slog.New(slog.NewTextHandler(&log, nil))
	p.settle(flowsOf(4)...)
	p.orchagent.Stop()
	if o := p.reconcile(p.e, engine.Policy{}); o.Removed != 0 || o.HandedOver != 4 { // two types, two tables
		t.Errorf("%d removed, %d handed over, and orchagent hangs", o.Removed, o.HandedOver)
	}
	if w := p.d.Warnings(); len(w) > 0 {
		t.Errorf("warnings at once: %q", w)
	}
	for key, is := range p.d.said.leaving {
		is.at = is.at.Add(-patience - time.Second)
		p.d.said.leaving[key] = is
	}
	named := func() (n int) {
		for _, w := range p.d.Warnings() {
			if strings.Contains(w, "SLUICE_PLACE4: orchagent has not removed it") {
				n++
			}
		}
		return n
	}
	if n := named(); n != 2 { // the type, and the table
		t.Errorf("%d rows are named: %q", n, p.d.Warnings())
	}
	p.startOn("202505")
	p.until("orchagent has removed all", func() bool { return named() == 0 && len(p.d.said.leaving) == 0 })
	removed := 0
	for v := range strings.FieldsSeq(log.String()) {
		if n, ok := strings.CutPrefix(v, "removed="); ok {
			k, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			removed += k
		}
	}
	if removed != 4 {
		t.Errorf("4 rows are gone, and the log has %d:\n%s", removed, log.String())
	}
}
