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

// TestEncoderMakesLittleGarbage: rows are encoded each second, most of them as before. One with many
// leaves takes no more memory than one with few.
func TestEncoderMakesLittleGarbage(t *testing.T) {
	e := Encoder{Log: slog.New(slog.DiscardHandler)}
	id, n := "f", uint64(7) // a text of the runtime's own
	few := &telemetry.Flow{Id: &id, SeenPackets: &n}
	many := &telemetry.Flow{
		Id: &id, SeenPackets: &n, SeenBytes: &n, EctPackets: &n, CePackets: &n, Cnps: &n, Acks: &n, NaksOther: &n, NaksRnr: &n, NaksSequence: &n,
		NaksInvalid: &n, NaksAccess: &n, NaksOperation: &n, PayloadBytes: &n, PsnGaps: &n, PsnMissing: &n, PsnLost: &n, PsnReordered: &n, PsnRecovered: &n,
	}
	allocations := func(one ygot.GoStruct, fields int) float64 {
		return testing.AllocsPerRun(100, func() {
			for row := range e.Encode(one) {
				if len(row.Fields) != fields {
					t.Error(row)
				}
			}
		})
	}
	if of, than := allocations(many, 18), allocations(few, 1); of > than {
		t.Errorf("%g allocations of 18 fields, %g of 1", of, than)
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
