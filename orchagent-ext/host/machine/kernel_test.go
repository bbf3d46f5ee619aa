// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"testing"
)

func TestKernelIsComparedByNumbers(t *testing.T) {
	for _, tt := range []struct {
		release    string
		want       Kernel
		old, blind bool // before SoftwareSwitch, before KnownPaths
	}{
		{"6.1.0-25-amd64", Kernel{6, 1}, true, true},
		{"5.15.0", Kernel{5, 15}, true, true},
		{"6.3.0-rc1", Kernel{6, 3}, false, true},
		{"6.10.11+bpo-amd64", Kernel{6, 10}, false, true},
		{"6.11", Kernel{6, 11}, false, false},
		{"7.0.0", Kernel{7, 0}, false, false},
		{"unknown", Kernel{}, false, false},
		{"", Kernel{}, false, false},
	} {
		got := ParseKernel(tt.release)
		if got != tt.want || got.Before(SoftwareSwitch) != tt.old || got.Before(KnownPaths) != tt.blind {
			t.Errorf("%q: %v, before %v %v, before %v %v", tt.release, got, SoftwareSwitch, got.Before(SoftwareSwitch), KnownPaths, got.Before(KnownPaths))
		}
	}
}

// TestFirstHourSoftwareSwitchRefusesAnOldKernel: the operator reads which release is needed.
func TestFirstHourSoftwareSwitchRefusesAnOldKernel(t *testing.T) {
	for release, refused := range map[string]bool{"6.1.0-25-amd64": true, "5.15.0": true, "6.3.0": false, "6.12.117+deb13-amd64": false, "7.3.4": false, "": false, "odd": false} {
		var err *KernelError
		if got := errors.As(CheckKernel(release), &err); got != refused || refused && err.Release != release {
			t.Errorf("%q: refused %v, want %v", release, got, refused)
		}
	}
}
