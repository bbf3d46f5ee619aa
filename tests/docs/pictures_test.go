// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/cli/chart"
)

// The picture of a terminal on the front page, and the command in it.
const (
	terminalPicture = "docs/doctor.svg"
	terminalCommand = "bin/sluice doctor tests/captures/one-port-ipv6.pcap --paths 8"
	terminalColumns = 114
)

// TestTerminalShowsWhatTheProgramPrints: the front page's picture is drawn from what its command prints
// today; go test ./tests/docs -update draws it.
func TestTerminalShowsWhatTheProgramPrints(t *testing.T) {
	p := &page{name: terminalPicture}
	printed := p.execute(t, workplace(t, buildTools(t)), command{text: terminalCommand})
	if len(printed) < 10 {
		t.Fatalf("%q", printed)
	}
	var picture bytes.Buffer
	lines := append([]string{"$ " + terminalCommand}, printed...)
	if err := chart.Terminal(&picture, "sluice doctor", terminalColumns, strings.Join(lines, "\n")); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, terminalPicture)
	if *update {
		if err := os.WriteFile(file, picture.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(file); err != nil || !bytes.Equal(have, picture.Bytes()) {
		t.Errorf("%s is not what the command prints (%v): go test ./tests/docs -run TestTerminal -update", terminalPicture, err)
	}
	front := pages(t)["README.md"]
	if !strings.Contains(front.text, "("+terminalPicture+")") || !strings.Contains(front.text, "$ "+terminalCommand+"\n") {
		t.Errorf("README.md has not both the picture and its command")
	}
}

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
