// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"runtime"
	"testing"
	"weak"

	"sluice/orchagent-ext/daemon/statistics"
	"sluice/orchagent-ext/switch/engine"
)

// Nothing keeps a switch that is closed: it has all entries of flows, and the next one
// takes them over beside it.
func TestClosedSwitchIsFreed(t *testing.T) {
	sw, err := (&script{objects: map[engine.ID]bool{}}).Open(Opening{})
	if err != nil {
		t.Fatal(err)
	}
	o := &orch{sw: &opened{Switch: sw}, statistics: &statistics.Task{}}
	closed := weak.Make(o.sw)
	if err := o.closeSwitch(); err != nil {
		t.Fatal(err)
	}
	if runtime.GC(); closed.Value() != nil {
		t.Error("a switch that was closed is still referred to")
	}
	runtime.KeepAlive(o)
}
