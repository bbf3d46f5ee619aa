// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"sluice/tests/redistest"

	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/yang/rows"
)

// What orchagent has programmed is read from ASIC_DB, and told where it is other than before;
// an empty or missing database is no fault.
func TestProgrammedGroupsAreRead(t *testing.T) {
	d := redistest.Databases(t)
	asic, counters := redistest.Open(t, d, "ASIC_DB"), redistest.Open(t, d, "COUNTERS_DB")
	object := func(key string, fields map[string]string) rows.Row {
		return rows.Row{Table: "ASIC_STATE", Key: "SAI_OBJECT_TYPE_" + key, Fields: fields}
	}
	p := newProgrammed(counters)
	p.asicDB, p.soon = asic, 10*time.Millisecond
	if p.known().err == nil {
		t.Error("nothing was read, and that is not said")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.follow(ctx) }()
	defer func() { cancel(); <-done }()
	await := func(what string, good func([]nexthops.Programmed, error) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; {
			select {
			case <-p.changed():
			case <-time.After(time.Until(deadline)):
				t.Fatalf("%s: %+v", what, p.known())
			}
			if is := p.known(); good(is.all, is.err) {
				return
			}
		}
	}
	await("it is read", func(groups []nexthops.Programmed, err error) bool { return err == nil && len(groups) == 0 })
	for _, r := range []rows.Row{
		object("NEXT_HOP:oid:0x4000000000001", map[string]string{"SAI_NEXT_HOP_ATTR_IP": "fe80::1", "SAI_NEXT_HOP_ATTR_ROUTER_INTERFACE_ID": "oid:0x6000000000001"}),
		object("NEXT_HOP_GROUP:oid:0x5000000000001", map[string]string{"SAI_NEXT_HOP_GROUP_ATTR_TYPE": "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_UNORDERED_ECMP"}),
		object("NEXT_HOP_GROUP_MEMBER:oid:0x2d000000000001", map[string]string{
			"SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_GROUP_ID": "oid:0x5000000000001", "SAI_NEXT_HOP_GROUP_MEMBER_ATTR_NEXT_HOP_ID": "oid:0x4000000000001",
		}),
	} {
		redistest.Write(t, asic, r)
	}
	await("the group", func(groups []nexthops.Programmed, err error) bool {
		return err == nil && len(groups) == 1 && groups[0].Err != nil && strings.Contains(groups[0].Err.Error(), "oid:0x6000000000001")
	})
	redistest.Write(t, counters, rows.Row{Table: "COUNTERS_RIF_NAME_MAP", Fields: map[string]string{"Ethernet0": "oid:0x6000000000001"}})
	await("its interface has a name", func(groups []nexthops.Programmed, err error) bool {
		return err == nil && len(groups) == 1 && groups[0].Err == nil && len(groups[0].Hops) == 1 && groups[0].Hops[0].Link == "Ethernet0"
	})
	is := p.known().all
	if p.keep(&groups{all: is}) {
		t.Error("what is as before is told as other")
	}
	if !p.keep(&groups{is, errNotRead}) || !p.keep(&groups{err: errNotRead}) || p.keep(&groups{err: errNotRead}) {
		t.Error("an error, or its end, is not told once")
	}
}

// database_config.json of a machine that is no SONiC switch need not have ASIC_DB.
func TestProgrammedWithoutASICDB(t *testing.T) {
	g, _ := task.NewGroup(t.Context(), slog.New(slog.DiscardHandler))
	p := Placement{labels: &labels{}, env: &Environment{Databases: &sonicdb.Databases{}}}
	p.reconcileOrder(g, false, false)
	if err := p.order.Report().err; err == nil || !strings.Contains(err.Error(), `no database "ASIC_DB"`) || p.network.programmed == nil {
		t.Errorf("%v", err)
	}
	if p.reconcileOrder(g, true, false); p.order.Runs() || p.network.programmed != nil {
		t.Error("the kernel's order is looked for in ASIC_DB")
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
}
