// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestProfileOfTheEnvironment: the container gives a profile in SLUICE_SAI_PROFILE, as a pair
// or as a file of pairs, and a flag takes precedence.
func TestProfileOfTheEnvironment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sai.profile")
	if err := os.WriteFile(file, []byte("# of the switch\nSAI_INIT_CONFIG_FILE=/etc/sai.cfg\n\nSAI_NUM_ECMP_MEMBERS=64\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, env string
		args      []string
		want      profile
		wantErr   string
	}{
		{name: "none", want: profile{}},
		{name: "pair", env: "SAI_WARM_BOOT=1", want: profile{"SAI_WARM_BOOT": "1"}},
		{name: "file", env: "@" + file, want: profile{"SAI_INIT_CONFIG_FILE": "/etc/sai.cfg", "SAI_NUM_ECMP_MEMBERS": "64"}},
		{name: "flag", env: "@" + file, args: []string{"--sai-profile", "SAI_NUM_ECMP_MEMBERS=8"}, want: profile{"SAI_INIT_CONFIG_FILE": "/etc/sai.cfg", "SAI_NUM_ECMP_MEMBERS": "8"}},
		{name: "no pair", env: "SAI_WARM_BOOT", wantErr: `SLUICE_SAI_PROFILE: "SAI_WARM_BOOT" is not KEY=VALUE`},
		{name: "no file", env: "@" + file + ".old", wantErr: "SLUICE_SAI_PROFILE: open " + file + ".old"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"SLUICE_SAI_PROFILE": tt.env}
			o, err := parse(tt.args, func(name string) string { return env[name] }, io.Discard)
			if tt.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wantErr) {
					t.Fatalf("error %v, want %s", err, tt.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, profile(o.Profile)); diff != "" {
				t.Errorf("profile (-want +got):\n%s", diff)
			}
		})
	}
}
