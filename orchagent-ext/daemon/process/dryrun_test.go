// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"

	"sluice/orchagent-ext/switch/engine"
	"sluice/sai-shim/saiattr"
)

// TestDryRunKnowsASwitchThatGivesEveryPacket: by the object that samples, where no library is
// named.
func TestDryRunKnowsASwitchThatGivesEveryPacket(t *testing.T) {
	for rate, want := range map[uint64]bool{1: true, 256: false} {
		existing := map[string]*engine.Record{"sample": {Object: engine.NewObject("sample", engine.TypeSample, saiattr.SampleRate.Of(rate))}}
		if got := samplesAll(existing); got != want {
			t.Errorf("one of %d: %v", rate, got)
		}
	}
	if samplesAll(nil) {
		t.Error("without an object")
	}
}
