// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPicturesAreWhatTheCommandsDraw: the pictures of pages are those that the commands beside them
// draw with the programs of today.
func TestPicturesAreWhatTheCommandsDraw(t *testing.T) {
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		t.Skipf("needs what make build makes: %v", err)
	}
	for picture, options := range map[string][2][]string{
		"balance.svg":       {{}, {}},
		"balance-ports.svg": {{"--sport", "per-qp"}, {"--placed"}},
	} {
		dir := t.TempDir()
		capture, drawn := filepath.Join(dir, "capture.pcap"), filepath.Join(dir, picture)
		for _, args := range [][]string{
			append([]string{"sluice-lab", "gen", capture, "--pairs", "1", "--qps", "64", "--packets", "6400"}, options[0]...),
			append([]string{"sluice", "balance", capture, "--paths", "8", "--svg", drawn}, options[1]...),
		} {
			if out, err := exec.Command(filepath.Join(bin, args[0]), args[1:]...).CombinedOutput(); err != nil {
				t.Fatalf("%v: %v\n%s", args, err, out)
			}
		}
		got, err := os.ReadFile(drawn)
		if err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile(filepath.Join("../../docs", picture))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s differs from what is drawn (%v): draw it again", picture, err)
		}
	}
}
