// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// vulnerability is an entry of a database: function GetsockoptUcred of golang.org/x/sys/unix has a fault.
const vulnerability = `{"schema_version":"1.3.1","id":"GO-2026-0001","modified":"2026-01-01T00:00:00Z","published":"2026-01-01T00:00:00Z",
"summary":"A fault for a test","details":"None.","affected":[{"package":{"name":"golang.org/x/sys","ecosystem":"Go"},
"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}],"ecosystem_specific":{"imports":[{"path":"golang.org/x/sys/unix","symbols":["GetsockoptUcred"]}]}}],
"database_specific":{"url":"https://example.invalid/GO-2026-0001"}}`

// TestVulnerabilitiesAreLookedUp: a function that the code calls has a fault by the database, another
// database is empty, and a third one is out of reach.
func TestVulnerabilitiesAreLookedUp(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("needs curl")
	}
	const id = "GO-2026-0001"
	for name, tt := range map[string]struct {
		modules, says string
		exit          int
	}{
		"a fault":      {`[{"path":"golang.org/x/sys","vulns":[{"id":"` + id + `","modified":"2026-01-01T00:00:00Z"}]}]`, "unix.GetsockoptUcred", 3},
		"empty":        {`[]`, "No vulnerabilities found", 0},
		"out of reach": {"", "is out of reach", 0},
	} {
		folder := t.TempDir()
		if tt.modules != "" {
			for file, text := range map[string]string{
				"index/db.json": `{"modified":"2026-01-01T00:00:00Z"}`, "index/modules.json": tt.modules, "ID/" + id + ".json": vulnerability,
			} {
				path := filepath.Join(folder, file)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
		}
		cmd := exec.CommandContext(t.Context(), "tools/vulnerabilities.sh", "./orchagent-ext/host/portlock")
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOVULNDB=file://"+folder)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != tt.exit || !strings.Contains(string(out), tt.says) {
			t.Errorf("%s: exit code %d (%v), want %d and %q:\n%s", name, code, err, tt.exit, tt.says, out)
		}
	}
}
