// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/db/telemetry"
)

func TestEncoderLeavesOutOnlyTheRowThatCannotBeWritten(t *testing.T) {
	e := Encoder{Log: slog.New(slog.DiscardHandler)}
	queue := func(port string) ygot.GoStruct {
		number := uint8(3)
		return &telemetry.QueueStats{Port: &port, Queue: &number}
	}
	if got := slices.Collect(e.Encode(queue("a|b"), queue("Ethernet0"))); len(got) != 1 || got[0].Key != "Ethernet0|3" || e.Err() == nil {
		t.Errorf("%+v, %v", got, e.Err())
	}
}

// TestEncoderMakesLittleGarbage: rows are encoded each second, most of them as before.
func TestEncoderMakesLittleGarbage(t *testing.T) {
	e := Encoder{Log: slog.New(slog.DiscardHandler)}
	port, number, few, many := "Ethernet0", uint8(3), uint64(7), uint64(1<<40)
	one := &telemetry.QueueStats{Port: &port, Queue: &number, Packets: &few, Bytes: &many}
	n := testing.AllocsPerRun(10, func() {
		for range 100 {
			for row := range e.Encode(one) {
				if row.Fields["bytes"] != "1099511627776" {
					t.Error(row)
				}
			}
		}
	}) / 100
	if n > 8 { // the text of the large number, the key, and what calls take
		t.Errorf("%g allocations a row", n)
	}
	for row := range e.Encode(&telemetry.QueueStats{Port: &port, Queue: &number, Packets: &few}) {
		if len(row.Fields) != 1 {
			t.Errorf("fields of the row before are left: %v", row)
		}
	}
}

// TestDisabledShowsThoughThereAreWarnings: the kill switch is shown once all objects are gone,
// and a removal that failed is degraded.
func TestDisabledShowsThoughThereAreWarnings(t *testing.T) {
	failed := errors.New("remove acl_entry: OBJECT_IN_USE")
	for _, tt := range []struct {
		disabled bool
		failed   error
		objects  int
		warning  string
		want     string
	}{
		{false, nil, 7, "", telemetry.Running},
		{false, nil, 7, "a port is down", telemetry.Degraded},
		{false, failed, 7, "", telemetry.Degraded},
		{true, nil, 0, "", telemetry.Disabled},
		{true, nil, 0, "a port is down", telemetry.Disabled},
		{true, failed, 0, "", telemetry.Degraded},
		{true, nil, 1, "", telemetry.Degraded},
	} {
		var r Report
		r.Warn(tt.warning)
		r.Judge(tt.disabled, tt.failed, tt.objects)
		if r.State != tt.want {
			t.Errorf("%+v: %s", tt, r.State)
		}
	}
}
