// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"log/slog"
	"testing"
	"time"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/tests/redistest"
	"sluice/yang/rows"
)

// emptied is a state of a SONiC whose CONFIG_DB was complete.
type emptied struct {
	*State
	t   *testing.T
	db  *sonicdb.DB
	now time.Time
}

var (
	port0    = rows.Row{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "0"}}
	labelsOn = rows.Row{Table: "SLUICE_FLOW_LABEL", Key: "global", Fields: map[string]string{"admin_state": "enabled"}}
)

func newEmptied(t *testing.T) *emptied {
	t.Helper()
	d := redistest.Databases(t)
	e := &emptied{t: t, db: redistest.Open(t, d, "CONFIG_DB"), now: time.Unix(1000, 0)}
	e.State = New(e.db, redistest.Open(t, d, "STATE_DB"), "", slog.New(slog.DiscardHandler), func() time.Time { return e.now })
	e.initialized(loaded)
	e.apply(false, port0, labelsOn)
	e.Confirm()
	return e
}

// initialized is what SONiC writes; "": the key is gone.
func (e *emptied) initialized(value string) {
	e.t.Helper()
	redistest.Text(e.t, e.db, initialized, value)
}

func (e *emptied) apply(deleted bool, all ...rows.Row) time.Duration {
	var b sonicdb.Batch
	for _, r := range all {
		b.Changes = append(b.Changes, sonicdb.Change{Row: r, Deleted: deleted})
	}
	return e.Apply(e.t.Context(), b)
}

// labels reports whether flow labels are in force when the state is acted on.
func (e *emptied) labels() bool {
	if e.Loading(e.t.Context()) {
		return true // nothing is changed
	}
	e.Confirm()
	e.GiveUp(e.t.Context())
	return e.snapshot.FlowLabel.AdminState == config.Enabled
}

// TestEmptiedConfigurationIsInForceUntilItIsLoadedAgain, for five minutes at most. The order in which rows go
// does not matter.
func TestEmptiedConfigurationIsInForceUntilItIsLoadedAgain(t *testing.T) {
	for name, lost := range map[string][]rows.Row{"all at once": {port0, labelsOn}, "Sluice's rows alone so far": {labelsOn}} {
		e := newEmptied(t)
		e.initialized("")
		e.apply(true, lost...)
		e.now = e.now.Add(longestLoading - time.Second)
		if !e.labels() {
			t.Errorf("%s: what is on the switch is removed at once", name)
		}
		if again := e.GiveUp(t.Context()); again > SettleTime {
			t.Errorf("%s: looked at again in %v", name, again)
		}
		e.now = e.now.Add(time.Second)
		if e.labels() {
			t.Errorf("%s: what is on the switch is kept after %v", name, longestLoading)
		}
	}
}

func TestConfigurationThatIsLoadedAgainIsInForce(t *testing.T) {
	e := newEmptied(t)
	e.initialized("")
	e.apply(true, port0, labelsOn)
	e.apply(false, port0)
	e.now = e.now.Add(time.Minute)
	if !e.labels() {
		t.Error("removed before SONiC has loaded all rows")
	}
	e.initialized(loaded)
	if e.labels() {
		t.Error("kept, though SONiC has loaded all rows without that of labels")
	}
}

func TestOperatorDisablesWhileTheConfigurationIsEmptied(t *testing.T) {
	for _, ports := range []bool{false, true} {
		e := newEmptied(t)
		e.initialized("")
		if !ports {
			e.apply(true, port0)
		}
		e.apply(false, rows.Row{Table: "SLUICE", Key: "global", Fields: map[string]string{"admin_state": "disabled"}})
		if e.Loading(t.Context()) {
			t.Fatal("it waits for SONiC")
		}
		e.Confirm()
		e.GiveUp(t.Context())
		if e.snapshot.Global.AdminState != config.Disabled {
			t.Errorf("with ports %v: disabled is not in force", ports)
		}
	}
}

// TestMachineWithRedisAlone has no word of SONiC to wait for.
func TestMachineWithRedisAlone(t *testing.T) {
	e := newEmptied(t)
	e.sonic = false
	e.initialized("")
	e.apply(true, labelsOn)
	if e.labels() {
		t.Error("a row that was removed is in force")
	}
}
