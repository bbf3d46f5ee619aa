// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A switch is asked at the address of its flag, of its row, or of its name.
func TestWhereASwitchIsAsked(t *testing.T) {
	g := &gnmiFlags{port: 50070, switches: []string{"a=192.0.2.1", "b=192.0.2.2:7", "c=[2001:db8::1]:8", "d=2001:db8::2", "e=[fe80::1%eth0]:9", "f=host.example"}}
	for _, tt := range [][3]string{
		{"a", "203.0.113.9", "192.0.2.1:50070"}, {"b", "", "192.0.2.2:7"}, {"c", "", "[2001:db8::1]:8"}, {"d", "", "[2001:db8::2]:50070"},
		{"e", "", "[fe80::1%eth0]:9"}, {"f", "", "host.example:50070"}, {"g", "203.0.113.9/24", "203.0.113.9:50070"}, {"h", "", "h:50070"}, {"i", "2001:db8::3/64", "[2001:db8::3]:50070"},
	} {
		if got := g.where(tt[0], tt[1]); got != tt[2] {
			t.Errorf("%s at %q: %s, want %s", tt[0], tt[1], got, tt[2])
		}
	}
}

func TestTraceFlagsAreJudged(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(none, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--gnmi-ca x":                  "--gnmi-ca goes with --trace",
		"--switch a=b":                 "--switch goes with --trace",
		"--trace --gnmi-cert x":        "--gnmi-cert and --gnmi-key go together",
		"--trace --gnmi-user x":        "--gnmi-user and --gnmi-password-file go together",
		"--trace --gnmi-port 0":        "1 to 65535 are possible",
		"--trace --switch spine":       `--switch "spine" is not NAME=ADDRESS or NAME=ADDRESS:PORT`,
		"--trace --gnmi-ca " + none:    "holds no certificate in PEM",
		"--trace --gnmi-ca /none/none": "--gnmi-ca: open /none/none",
		"--trace --gnmi-user x --gnmi-password-file /none/none": "--gnmi-password-file: open /none/none",
	} {
		out, errs, code := sluice(nil, append(strings.Fields("path --src 127.0.0.1 --dst 127.0.0.2 --dst-qp 1"), strings.Fields(args)...)...)
		if code != 1 || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, want %q: %s%s", args, code, want, out, errs)
		}
	}
}
