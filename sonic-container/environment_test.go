// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestEnvironmentFileHasOneFormat: each line is a variable as systemd reads it, or left out with
// a warning; whatever a line has, the lines after it are read and nothing is run.
func TestEnvironmentFileHasOneFormat(t *testing.T) {
	quotes, key := "quotation marks are around", "KEY=VALUE is allowed"
	for _, tt := range []struct{ line, value, fault string }{
		{line: "SLUICE_X=1", value: "1"},
		{line: "  SLUICE_X=1\t\r", value: "1"},
		{line: "SLUICE_X=", value: ""},
		{line: "SLUICE_X= 1", value: "1"},
		{line: "SLUICE_X=--reflection --listen :1", value: "--reflection --listen :1"},
		{line: `SLUICE_X="--reflection --listen :1"`, value: "--reflection --listen :1"},
		{line: `SLUICE_X='$HOME "x"'`, value: `$HOME "x"`},
		{line: `SLUICE_X=""`, value: ""},
		{line: "SLUICE_X=KEY=VALUE;b&c|d>e(*)", value: "KEY=VALUE;b&c|d>e(*)"},
		{line: "# SLUICE_X=1", value: "unset"},
		{line: "; SLUICE_X=1", value: "unset"},
		{line: "", value: "unset"},
		{line: "SLUICE_X=1 # one", fault: "a comment has a line of its own"},
		{line: "export SLUICE_X=1", fault: key},
		{line: "SLUICE_X =1", fault: key},
		{line: "1SLUICE_X=1", fault: key},
		{line: "=1", fault: key},
		{line: "SLUICE_X", fault: "it has no ="},
		{line: "touch ran", fault: key},
		{line: "SLUICE_X=$(touch ran)", fault: quotes},
		{line: "SLUICE_X=\"`touch ran`\"", fault: quotes},
		{line: "SLUICE_X=$HOME", fault: quotes},
		{line: `SLUICE_X=a\ b`, fault: quotes},
		{line: `SLUICE_X="open`, fault: quotes},
		{line: `SLUICE_X='open`, fault: quotes},
		{line: `SLUICE_X='a'b'`, fault: quotes},
		{line: `SLUICE_X=a"b c"`, fault: quotes},
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "sluiced.env")
		if err := os.WriteFile(file, []byte("SLUICE_FIRST=1\n"+tt.line+"\nSLUICE_LAST=end"), 0o600); err != nil {
			t.Fatal(err)
		}
		script, err := filepath.Abs("environment.sh")
		if err != nil {
			t.Fatal(err)
		}
		var errs strings.Builder
		c := exec.CommandContext(t.Context(), "sh", "-euc", `. "$1"; read_environment "$2"; sh -c 'echo "${SLUICE_X-unset} $SLUICE_LAST"'`, "start.sh", script, file)
		c.Dir, c.Stderr, c.Env = dir, &errs, []string{"PATH=/usr/bin:/bin", "HOME=/h"}
		out, err := c.Output()
		if err != nil {
			t.Errorf("%q: %v", tt.line, err)
		}
		value, fault := tt.value, ""
		if tt.fault != "" {
			value, fault = "unset", fmt.Sprintf("start.sh: %s, line 2, is left out: %s", file, tt.fault)
		}
		if diff := cmp.Diff(value+" end\n", string(out)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.line, diff)
		}
		if said := errs.String(); !strings.HasPrefix(said, fault) || fault == "" && said != "" {
			t.Errorf("%q: warning %q, want %q", tt.line, said, fault)
		}
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Errorf("%q was run", tt.line)
		}
	}
}
