// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"errors"
	"testing"

	"sluice/orchagent-ext/host/machine"
)

// TestFirstHourDemoNamesTheKernel: a kernel that is too old for one scenario ends the
// demo before any.
func TestFirstHourDemoNamesTheKernel(t *testing.T) {
	for _, tt := range []struct {
		release string
		names   []string
		needed  machine.Kernel // zero: it runs
	}{
		{"6.1.0-25-amd64", []string{"spread"}, machine.SoftwareSwitch},
		{"6.1.0-25-amd64", Scenarios(), machine.SoftwareSwitch},
		{"6.8.0-40-generic", []string{"spread", "hold", "wan"}, machine.Kernel{}},
		{"6.8.0-40-generic", Scenarios(), machine.KnownPaths},
		{"6.12.6", Scenarios(), machine.Kernel{}},
		{"", Scenarios(), machine.Kernel{}},
	} {
		all, err := chosen(tt.names, tt.release)
		var old *KernelError
		switch {
		case tt.needed == machine.Kernel{}:
			if err != nil || len(all) != len(tt.names) {
				t.Errorf("%s: %d of %v, %v", tt.release, len(all), tt.names, err)
			}
		case !errors.As(err, &old) || old.Needed != tt.needed || old.Release != tt.release:
			t.Errorf("%s: %v, want %v", tt.release, err, tt.needed)
		}
	}
	if _, err := chosen([]string{"spread", "nothing"}, "6.12"); err == nil {
		t.Error("an unknown scenario is taken")
	}
}
