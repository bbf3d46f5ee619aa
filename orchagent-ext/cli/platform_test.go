// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/cli/kit"
	"sluice/tests/programs"
)

// on runs a command line as on another system than Linux.
func on(system string, args ...string) (stdout, stderr string, status int) {
	cmd := NewRootCommand(true)
	restrict(cmd, system)
	var out, errs bytes.Buffer
	status = kit.Execute(context.Background(), cmd, "sluice", args, nil, &out, &errs, func(error) int { return 1 })
	return out.String(), errs.String(), status
}

// TestFirstHourCommandsThatNeedLinuxSaySo: on macOS, in one line, with the status of errors of
// usage.
func TestFirstHourCommandsThatNeedLinuxSaySo(t *testing.T) {
	for line, want := range map[string]string{
		"observe --dev en0":                    "sluice: observe --dev needs Linux (sluice observe --help)\n",
		"export -i en0 --file x":               "sluice: export --dev needs Linux (sluice export --help)\n",
		"doctor --dev en0":                     "sluice: doctor --dev needs Linux (sluice doctor --help)\n",
		"doctor":                               "sluice: doctor without a FILE or --target judges this machine, and needs Linux (sluice doctor --help)\n",
		"listen":                               "sluice: listen needs Linux (sluice listen --help)\n",
		"advise listen":                        "sluice: advise listen needs Linux (sluice advise listen --help)\n",
		"path --src ::1 --dst ::2 --dst-qp 17": "sluice: path needs Linux (sluice path --help)\n",
		"sai-check libsai.so":                  "sluice: sai-check needs Linux (sluice sai-check --help)\n",
	} {
		if out, errs, status := on("darwin", strings.Fields(line)...); out != "" || errs != want || status != 1 {
			t.Errorf("%s: exit status %d, %q, %q", line, status, out, errs)
		}
	}
}

// TestFirstHourCapturesAreReadOnEverySystem: as on Linux.
func TestFirstHourCapturesAreReadOnEverySystem(t *testing.T) {
	file := captures + "rc-send-ipv4.pcap"
	for _, line := range [][]string{{"doctor", file}, {"decode", "--flows", file}, {"balance", file}, {"observe", file}, {"export", file, "--file", "-"}} {
		want, _ := good(t, line...)
		out, errs, status := on("darwin", line...)
		if line[0] == "export" {
			out, want = untimed(t, out), untimed(t, want)
		}
		if out != want || status != 0 {
			t.Errorf("%s: exit status %d, %s", line, status, errs)
		}
	}
}

// untimed returns messages of IPFIX without their export times, which are those of the clock.
func untimed(t *testing.T, file string) string {
	t.Helper()
	b := []byte(file)
	for at := 0; at < len(b); {
		if len(b)-at < 16 || binary.BigEndian.Uint16(b[at:]) != 10 {
			t.Fatalf("no message of IPFIX at octet %d of %d", at, len(b))
		}
		binary.BigEndian.PutUint32(b[at+4:], 0)
		at += int(binary.BigEndian.Uint16(b[at+2:]))
	}
	return string(b)
}

// TestFirstHourSampleIsWhatGenMakes: the capture of the first page can be made again.
func TestFirstHourSampleIsWhatGenMakes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sample.pcap")
	good(t, "gen", file, "--qps", "32", "--packets", "512", "--payload", "16")
	made, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(captures + "one-port-ipv6.pcap"); err != nil || !bytes.Equal(kept, made) {
		t.Errorf("%d octets kept, %d made, %v", len(kept), len(made), err)
	}
}

// The program builds for each system that the tool is for, without cgo.
func TestFirstHourToolBuildsForEachSystem(t *testing.T) {
	for _, system := range []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64"} {
		goos, goarch, _ := strings.Cut(system, "/")
		for name, value := range map[string]string{"CGO_ENABLED": "0", "GOFLAGS": "", "GOOS": goos, "GOARCH": goarch} {
			t.Setenv(name, value)
		}
		if _, err := programs.Build("./orchagent-ext/cmd/sluice"); err != nil {
			t.Errorf("%s: %v", system, err)
		}
	}
}
