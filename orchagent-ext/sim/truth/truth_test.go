// SPDX-License-Identifier: Apache-2.0

package truth

import (
	"math"
	"testing"
)

// TestSimulatorAgreesWithTheoryAndNamespaces holds each comparison to its bar.
func TestSimulatorAgreesWithTheoryAndNamespaces(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	closed := 0
	for _, c := range all {
		bar := 2.0
		if c.Kind == Namespaces {
			bar = 10
		} else {
			closed++
		}
		t.Logf("%-90s expected %.6g, got %.6g, %+.2f %%", c.What, c.Expected, c.Got, c.Percent)
		if !(math.Abs(c.Percent) <= bar) {
			t.Errorf("%s: expected %v, got %v: %.2f %%, at most %v are allowed", c.What, c.Expected, c.Got, c.Percent, bar)
		}
	}
	if closed < 6 || len(all)-closed < 3 {
		t.Errorf("%d closed forms, %d figures of namespaces", closed, len(all)-closed)
	}
}
