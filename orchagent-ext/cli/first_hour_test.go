// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/cli/doctor"
	"sluice/orchagent-ext/testbed/lab"
)

// TestFirstHourFilesAreKept: a command writes over a file on request alone.
func TestFirstHourFilesAreKept(t *testing.T) {
	capture := captures + "rc-send-ipv4.pcap"
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"gen", out, "--packets", "4"}, {"lift6", capture, out}, {"relabel", capture, out}, {"balance", capture, "--svg", out},
		{"export", capture, "--file", out}, {"send", "pfc", "--write", out},
	} {
		if err := os.WriteFile(out, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, code := sluice(nil, args...)
		if got, err := os.ReadFile(out); err != nil || code != 1 || string(got) != "old" || !strings.Contains(errs, "--force") {
			t.Errorf("%v: exit code %d, file %.10q, %v: %s", args, code, got, err, errs)
		}
		good(t, append(args, "--force")...)
		if got, err := os.ReadFile(out); err != nil || string(got) == "old" {
			t.Errorf("%v --force: file %.10q, %v", args, got, err)
		}
	}
}

// TestFirstHourTerminalGetsNoBinary: octets of a capture would be control characters.
func TestFirstHourTerminalGetsNoBinary(t *testing.T) {
	p := newPTY(t, 80, 24)
	var errs bytes.Buffer
	code := runEither(context.Background(), []string{"gen", "-", "--packets", "4"}, nil, p.slave, &errs)
	if code != 1 || !strings.Contains(errs.String(), "terminal") || p.all() != "" {
		t.Errorf("exit code %d, %q, terminal %q", code, errs.String(), p.all())
	}
}

// TestFirstHourCountsAreEnglish: one queue pair is no plural.
func TestFirstHourCountsAreEnglish(t *testing.T) {
	const want = "8 of them data of 1 queue pair\n"
	out, _ := good(t, "gen", filepath.Join(t.TempDir(), "out"), "--qps", "1", "--packets", "8")
	_, errs := good(t, "gen", "-", "--qps", "1", "--packets", "8")
	if !strings.HasSuffix(out, want) || !strings.HasSuffix(errs, want) {
		t.Errorf("into a file %q, to standard output %q, want %q", out, errs, want)
	}
}

// TestFirstHourMissingWordsAreNamed: the error of a command has the word that is missing
// as its usage has it.
func TestFirstHourMissingWordsAreNamed(t *testing.T) {
	for command, want := range map[string]string{
		"decode": "FILE", "balance": "FILE", "export": "FILE", "relabel": "IN OUT", "relabel in.pcap": "OUT", "lift6": "IN OUT", "sai-check": "LIBRARY",
	} {
		if _, errs, code := sluice(nil, strings.Fields(command)...); code != 1 || !strings.Contains(errs, want+" is missing") {
			t.Errorf("%s: exit code %d, %q, want %s", command, code, errs, want)
		}
	}
}

// TestFirstHourCutFileHasItsSummary: what was read of a file that is cut off is summed up.
func TestFirstHourCutFileHasItsSummary(t *testing.T) {
	whole, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for _, options := range [][]string{nil, {"--flows"}, {"--flows", "--health"}} {
		_, errs, code := sluice(bytes.NewReader(whole[:len(whole)-3]), append([]string{"decode", "-"}, options...)...)
		if code != 1 || !strings.Contains(errs, "122 packets: ") || !strings.Contains(errs, "file cut off after packet 122") {
			t.Errorf("%v: exit code %d, %q", options, code, errs)
		}
	}
}

// TestFirstHourIPv4HasNoLabel: balance counts packets over IPv4, and leaves out the bars
// of labels where it finds these alone.
func TestFirstHourIPv4HasNoLabel(t *testing.T) {
	v4, v6 := captures+"rc-send-ipv4.pcap", filepath.Join(t.TempDir(), "v6.pcap")
	good(t, "lift6", v4, v6)
	for file, is4 := range map[string]bool{v4: true, v6: false} {
		out, _ := good(t, "balance", file)
		if strings.Contains(out, "no flow label") != is4 || strings.Contains(out, "crc32 label") == is4 {
			t.Errorf("%s:\n%s", file, out)
		}
		out, _ = good(t, "balance", file, "--json")
		var b balance
		if err := json.Unmarshal([]byte(out), &b); err != nil || b.unlabelled() != is4 || b.Packets == 0 {
			t.Errorf("%s: %v, %s", file, err, out)
		}
	}
}

// TestFirstHourDoctorJudgesACaptureAndAMachine: of a capture the traffic alone is judged,
// and without one the machine; each verdict has its fields.
func TestFirstHourDoctorJudgesACaptureAndAMachine(t *testing.T) {
	sessions := filepath.Join(t.TempDir(), "sessions.pcap")
	good(t, "gen", sessions, "--qps", "64", "--packets", "640")
	checks := func(args ...string) map[string]doctor.Level {
		t.Helper()
		out, _ := good(t, append([]string{"doctor", "--json"}, args...)...)
		levels := map[string]doctor.Level{}
		for line := range strings.Lines(out) {
			var v doctor.Verdict
			if err := json.Unmarshal([]byte(line), &v); err != nil || v.Found == "" || v.Level == "" {
				t.Fatalf("%v: %s", err, line)
			}
			levels[v.Check] = v.Level
		}
		return levels
	}
	if got := checks(sessions); len(got) != 10 || got["ports"] != doctor.Act || got["traffic"] != doctor.OK || got["answer"] != doctor.Act {
		t.Errorf("one source port of 64 queue pairs: %v", got)
	}
	if got := checks(captures + "rc-send-ipv4.pcap"); len(got) != 9 || got["ports"] != doctor.OK {
		t.Errorf("one queue pair over IPv4: %v", got)
	}
	got := checks("--db-config", filepath.Join(t.TempDir(), "none.json"))
	for _, check := range []string{"version", "kernel", "hash", "rights", "clock", "asic", "databases"} {
		if got[check] == "" {
			t.Errorf("the machine is judged without %s: %v", check, got)
		}
	}
	if got["databases"] != doctor.Act || got["ports"] != "" {
		t.Errorf("without databases and packets: %v", got)
	}
}

// TestFirstHourDoctorFindsSyncd: the process that owns an ASIC is known by its name.
func TestFirstHourDoctorFindsSyncd(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{"proc/17/comm": "syncd\n", "proc/18/comm": "sh\n"} {
		name = filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if !runs(root, "syncd") || runs(root, "orchagent") {
		t.Errorf("syncd %v, orchagent %v", runs(root, "syncd"), runs(root, "orchagent"))
	}
}

// TestFirstHourUsageErrorsNameTheHelp: of words and of flags, on one line.
func TestFirstHourUsageErrorsNameTheHelp(t *testing.T) {
	for command, help := range map[string]string{
		"decode": "sluice decode", "decode --nonsense x": "sluice decode", "show flows --top x": "sluice show flows", "explode": "sluice", "show statuss": "sluice show",
		"version now": "sluice version", "gen a.pcap b.pcap": "sluice-lab gen",
	} {
		if _, errs, code := sluice(nil, strings.Fields(command)...); code != 1 || !strings.HasSuffix(errs, "("+help+" --help)\n") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d, %q", command, code, errs)
		}
	}
}

// TestFirstHourHelpIsInGroups: each command has its place.
func TestFirstHourHelpIsInGroups(t *testing.T) {
	for _, cmd := range []*cobra.Command{NewRootCommand(false), lab.NewRootCommand(version)} {
		for _, c := range cmd.Commands() {
			if c.GroupID == "" && !c.Hidden {
				t.Errorf("%s is in no group", c.CommandPath())
			}
		}
	}
	if out, _ := good(t, "--help"); !strings.Contains(out, "\nUse it:\n") || strings.Contains(out, "Available Commands") {
		t.Errorf("%s", out)
	}
}

// TestFirstHourSONiCsCommandsRun: those that the switch's own tools call leave the groups.
func TestFirstHourSONiCsCommandsRun(t *testing.T) {
	for verb, name := range sonicNames {
		t.Setenv(sonicVerb, verb)
		if out, errs, code := sluice(nil, "--help"); code != 0 || !strings.Contains(out, name) {
			t.Errorf("%s: exit code %d, %s%s", name, code, out, errs)
		}
	}
}
