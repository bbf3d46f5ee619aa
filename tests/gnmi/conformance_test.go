// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"slices"
	"testing"
)

// must is a case: what a section of the specification says a target MUST do.
type must struct {
	name string // section, and what
	run  func(t *testing.T, s *server)
}

// conformance are all cases; MUSTS.md has what each is for.
var conformance = slices.Concat(formats, names, hostile, reads, sets, subscriptions, streams, extensions)

// TestConformanceCases has a server for each case.
func TestConformanceCases(t *testing.T) {
	for _, m := range conformance {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			m.run(t, start(t))
		})
	}
}
