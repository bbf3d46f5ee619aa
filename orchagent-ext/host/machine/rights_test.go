// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"strings"
	"testing"
)

func TestMissingRights(t *testing.T) {
	for _, tt := range []struct {
		effective string
		want      []string // each names one missing capability
	}{
		{"000001ffffffffff", nil},
		{"000000c000001000", nil}, // CAP_NET_ADMIN, CAP_PERFMON, CAP_BPF
		{"0000000000201000", nil}, // CAP_NET_ADMIN, CAP_SYS_ADMIN
		{"0000000000200000", []string{"CAP_NET_ADMIN"}},
		{"0000000000001000", []string{"CAP_BPF", "CAP_PERFMON"}},
		{"0000000000000000", []string{"CAP_NET_ADMIN", "CAP_BPF", "CAP_PERFMON"}},
	} {
		got := MissingRights("Name:\tsluiced\nCapPrm:\t0000000000000000\nCapEff:\t" + tt.effective + "\nCapBnd:\t000001ffffffffff\n")
		if got == "" != (tt.want == nil) || len(tt.want) > 0 && len(strings.Split(got, "; ")) != len(tt.want) {
			t.Errorf("%s: %q", tt.effective, got)
		}
		for _, name := range tt.want {
			if !strings.Contains(got, name) {
				t.Errorf("%s: %q does not name %s", tt.effective, got, name)
			}
		}
	}
}
