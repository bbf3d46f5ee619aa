// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sluice/tests/programs"
)

// python is Debian's, which sees Debian's modules; another may come first in PATH.
const python = "/usr/bin/python3"

// The tests of the commands run as pytest would run them by hand:
//
//	make build && /usr/bin/python3 -m pytest sonic-container/cli/tests
func TestCLI(t *testing.T) {
	for _, tool := range []string{python, "redis-server"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v: make deps", err)
		}
	}
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import pytest, click, redis, tabulate, natsort").CombinedOutput(); err != nil {
		t.Skipf("make deps: %s", out)
	}
	folder, err := programs.Build("./orchagent-ext/cmd/sluice")
	if err != nil {
		t.Fatal(err)
	}
	tests := exec.CommandContext(t.Context(), python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "cli/tests")
	tests.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "SLUICE_TEST_PROGRAM="+filepath.Join(folder, "sluice"))
	out, err := tests.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v", tests, err)
	}
	t.Logf("%s", out)
}
