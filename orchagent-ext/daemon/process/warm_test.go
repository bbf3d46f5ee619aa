// SPDX-License-Identifier: Apache-2.0

package process

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"sluice/orchagent-ext/switch/saidriver"
	"sluice/sai-shim/saitest"
)

// TestWarmRestartOfALibrary: a library whose profile says which file it writes is told to
// prepare a warm restart when the switch is closed, and goes on by that file once; one that
// another process initializes, or that has no such file, is not.
func TestWarmRestartOfALibrary(t *testing.T) {
	library := saitest.New(t)
	for _, tt := range []struct {
		name                 string
		file, connect, cold  bool
		asked, warm, removed bool
	}{
		{"warm", true, false, false, true, true, true},
		{"no objects", true, false, true, true, false, true},
		{"no file", false, false, false, false, false, false},
		{"connected", true, true, false, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &Options{SAI: SAI{Library: library.Path, Connect: tt.connect, Profile: library.Profile()}}
			file := filepath.Join(t.TempDir(), "warm")
			if tt.file {
				o.Profile[keyWarmWrite] = file
			}
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			asked := map[string]string{}
			bootWarmBy(asked, o.warmFile(), tt.cold)
			if is := asked[keyBootType] == bootWarm && asked[keyWarmRead] == file; is != tt.warm {
				t.Errorf("the profile has %v", asked)
			}
			lib, err := o.openLibrary(libraryUse{cold: tt.cold})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(file); (err != nil) != tt.removed {
				t.Errorf("the file after the start: %v", err)
			}
			library.Calls()
			s := &switched{Driver: saidriver.New(lib, saidriver.Options{}), warm: o.warmFile() != "", log: slog.New(slog.DiscardHandler)}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if calls := library.Calls(); slices.Contains(calls, "set switch#1 RESTART_WARM=true") != tt.asked {
				t.Errorf("at the end: %q", calls)
			}
		})
	}
}
