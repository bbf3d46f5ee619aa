// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/sim/scenario"
	"sluice/orchagent-ext/view/framefile"
	"sluice/orchagent-ext/view/simulated"
	"sluice/yang/text"
)

// simFrames is how many frames a recorded run has at least.
const simFrames = 600

// newRecord creates the file of a record that is not there yet, or may be replaced.
func newRecord(to output.Target) (*framefile.Writer, error) {
	if _, err := os.Stat(to.Name); err == nil && !to.Force {
		return nil, fmt.Errorf("create %s: %w", text.Printable(to.Name), output.ErrExists)
	}
	return framefile.Create(to.Name, framefile.Options{Size: math.MaxInt64, Replace: true})
}

// recordRun runs the first load with the last feature again, and records its leaves.
func recordRun(ctx context.Context, s *scenario.Scenario, results scenario.Results, to *framefile.Writer) error {
	load, feature := s.Loads[0], s.Compare[len(s.Compare)-1]
	spec, err := s.Run(load, feature)
	if err != nil {
		return err
	}
	took := time.Duration(results[load.Name][feature].SimulatedS * 1e9)
	if _, err := simulated.Run(ctx, spec, min(took/simFrames, time.Millisecond), to.Add); err != nil {
		return err
	}
	return to.Close()
}
