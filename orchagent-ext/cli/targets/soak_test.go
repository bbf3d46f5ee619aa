// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"os"
	"testing"

	"sluice/tests/browser"
)

// TestManySwitchesAreTimed records the time of [BenchmarkRead128] for the report of sluice view. make bench judges it;
// [TestOneSwitchThatHangsCostsItsOwnAnswer] shows without a clock what it consists of.
func TestManySwitchesAreTimed(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("it takes long: make soak CHECKS=view, or SLUICE_SOAK=1")
	}
	r := testing.Benchmark(BenchmarkRead128)
	seconds := r.Extra["s"]
	if seconds == 0 {
		t.Fatal("the benchmark failed")
	}
	browser.Record(t, "targets", map[string]any{"n": 128, "hanging": 8, "seconds": seconds})
}
