// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestASICIsThatOfSONiC(t *testing.T) {
	root := t.TempDir()
	if got := ASIC(root); got != "" {
		t.Errorf("without SONiC: %q", got)
	}
	name := filepath.Join(root, versionFile)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte("build_version: 'x'\nasic_type: 'broadcom'\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := ASIC(root); got != "broadcom" {
		t.Errorf("%q", got)
	}
}

// TestFirstHourSoftwareSwitchRefusesAnASIC: its programs would wait for packets that the
// kernel never gets.
func TestFirstHourSoftwareSwitchRefusesAnASIC(t *testing.T) {
	for asic, refused := range map[string]bool{"": false, VirtualASIC: false, "broadcom": true, "mellanox": true, "nvidia-bluefield": true} {
		var err *ASICError
		if got := errors.As(CheckSoftwareSwitch(asic, nil), &err); got != refused || refused && err.Type != asic {
			t.Errorf("%q: %v", asic, err)
		}
		if err := CheckSoftwareSwitch(asic, map[string]string{KernelForwards: "1"}); err != nil {
			t.Errorf("%q, as stated: %v", asic, err)
		}
	}
}

func TestReleaseIsThatOfSONiC(t *testing.T) {
	for text, want := range map[string]string{
		"build_version: 'SONiC.202505.973-e1'\n": "202505", "build_version: '202511.1'\n": "202511", "build_version: 'master.20260812.1'\n": "", "asic_type: vs\n": "",
	} {
		root := t.TempDir()
		name := filepath.Join(root, versionFile)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := Release(root); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
