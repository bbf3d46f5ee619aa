// SPDX-License-Identifier: Apache-2.0

package container

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestToolImageJudgesCaptures runs the image of the tool, in a Docker of its own, without a network
// and as an ordinary user. `make image-test` runs it.
func TestToolImageJudgesCaptures(t *testing.T) {
	archive := os.Getenv("SLUICE_TOOL_IMAGE_TAR")
	switch {
	case archive == "":
		t.Skip("SLUICE_TOOL_IMAGE_TAR does not name an image: make image-test")
	case os.Getuid() != 0:
		t.Skip("not root: Docker needs it")
	}
	d := startDocker(t)
	d.run("load", "--quiet", "--input", archive)
	t.Logf("size: %s octets", d.run("image", "inspect", "sluice-tool", "--format", "{{.Size}}"))
	if user := d.run("image", "inspect", "sluice-tool", "--format", "{{.Config.User}}"); user != "65534:65534" {
		t.Errorf("it runs as %q", user)
	}
	for _, words := range [][]string{nil, {"doctor", "one-port-ipv6.pcap"}} {
		out := d.run(append([]string{"run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", "sluice-tool"}, words...)...)
		if !strings.Contains(out, "queue pairs: 32") || !strings.Contains(out, "act ") {
			t.Errorf("%q: %s", words, out)
		}
	}
	// A capture of the user's, of a folder of the machine.
	folder := t.TempDir()
	text, err := os.ReadFile("../tests/captures/rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{folder: 0o755, filepath.Dir(folder): 0o755} {
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "mine.pcap"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	if out := d.run("run", "--rm", "--network", "none", "-v", folder+":/mine:ro", "sluice-tool", "decode", "--flows", "/mine/mine.pcap"); !strings.Contains(out, "105 RoCEv2") {
		t.Error(out)
	}
}
