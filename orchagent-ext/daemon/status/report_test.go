// SPDX-License-Identifier: Apache-2.0

package status

import (
	"log/slog"
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
	if got := e.Encode(queue("a|b"), queue("Ethernet0")); len(got) != 1 || got[0].Key != "Ethernet0|3" || e.Err() == nil {
		t.Errorf("%+v, %v", got, e.Err())
	}
}
