// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"log/slog"
	"slices"
	"testing"

	"sluice/orchagent-ext/switch/engine"
)

// TestCapabilityIsOfTheModel: every leaf that is set by its name is one of the model.
func TestCapabilityIsOfTheModel(t *testing.T) {
	var o orch
	o.out.encoder.Log = slog.New(slog.DiscardHandler)
	o.sw = &opened{outcome: engine.Outcome{NoQueues: "no", Choices: engine.Choose(engine.Abilities{engine.NeedHold: {engine.Exact: {Can: true}}}, engine.Policy{}, engine.Features{})}}
	written := slices.Collect(o.out.encoder.Encode(o.capability()))
	if len(written) != 1 || o.out.encoder.Err() != nil {
		t.Fatalf("rows %v, %v", written, o.out.encoder.Err())
	}
	for field, want := range map[string]string{
		"hold_method": "exact", "hold_state": "unproven", "export_method": "none", "queues": "0", "flow_label_state": "none", "threshold_reason": "the driver has no method",
	} {
		if got := written[0].Fields[field]; got != want {
			t.Errorf("%s is %q, want %q", field, got, want)
		}
	}
}
