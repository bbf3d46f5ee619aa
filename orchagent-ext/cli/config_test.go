// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/tests/oddrows"
	"sluice/yang/rows"
)

// databasesOf starts a Redis with rows, and lets commands use it.
func databasesOf(t *testing.T, all ...rows.Row) databases {
	t.Helper()
	s, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Skipf("%v: make deps", err)
	}
	t.Cleanup(s.Stop)
	t.Setenv("SLUICE_DB_CONFIG", s.Config)
	t.Setenv("SLUICE_CONFIG_JOURNAL", filepath.Join(t.TempDir(), "journal.json"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dbs, err := (&databaseFlags{config: s.Config}).open("CONFIG_DB", "STATE_DB", "COUNTERS_DB")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dbs.close() })
	for _, r := range all {
		d, known := rows.Describe(r.Table)
		if !known {
			d.Database = "CONFIG_DB"
		}
		if err := dbs[d.Database].Write(t.Context(), sonicdb.Change{Row: r}); err != nil {
			t.Fatal(err)
		}
	}
	return dbs
}

// TestConfigTakesWhatSluicedTakes: the command and the daemon judge alike. Only the
// command rejects characters that a terminal does not show, though a string may have them.
func TestConfigTakesWhatSluicedTakes(t *testing.T) {
	databasesOf(t, oddrows.Ports...)
	taken := map[bool]int{}
	for _, r := range oddrows.Rows() {
		command := "global"
		if short, is := strings.CutPrefix(r.Table, "SLUICE_"); is {
			command = strings.ReplaceAll(strings.ToLower(short), "_", "-")
		}
		line := []string{"config", command, "set", "--dry-run"}
		for _, name := range slices.Sorted(maps.Keys(r.Fields)) {
			line = append(line, "--"+strings.ReplaceAll(strings.TrimSuffix(name, "@"), "_", "-")+"="+r.Fields[name])
		}
		if rows.Only(r.Table) == "" {
			line = append(line, "--", r.Key)
		}
		var changes []sonicdb.Change
		for _, row := range append([]rows.Row{r}, oddrows.Ports...) {
			changes = append(changes, sonicdb.Change{Row: row})
		}
		_, rejected := config.New().Apply(changes)
		_, said, code := sluice(nil, line...)
		hidden := strings.ContainsAny(r.Key+fmt.Sprint(r.Fields), "\u200b\u00a0\u202e\t\n\r\x7f\u0085")
		if byDaemon, byCommand := len(rejected) == 0, code == 0; byDaemon != byCommand && (byCommand || !hidden) {
			t.Errorf("%.80q %.80q:\n  sluiced: %.200v\n  command: %.200s", r.Name(), r.Fields, rejected, said)
		}
		taken[code == 0]++
	}
	if taken[true] < 50 || taken[false] < 50 {
		t.Errorf("a poor choice of rows: %v", taken)
	}
}

// TestConfigTakesTheExamplesOfThePages: each file loads as a whole into a switch that has its ports,
// sluiced takes each of its rows, and the page names it.
func TestConfigTakesTheExamplesOfThePages(t *testing.T) {
	const folder = "../../docs/examples/"
	files, err := filepath.Glob(folder + "*.json")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	page, err := os.ReadFile(folder + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	var ports []rows.Row
	for i := range 4 {
		ports = append(ports, rows.Row{Table: "PORT", Key: fmt.Sprint("Ethernet", 4*i), Fields: map[string]string{"admin_status": "up", "lanes": fmt.Sprint(i)}})
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			dbs := databasesOf(t, ports...)
			good(t, "config", "load", file)
			if out, _ := good(t, "config", "load", file, "--dry-run"); out != "Nothing to do.\n" {
				t.Errorf("again: %s", out)
			}
			all, err := dbs.read(t.Context(), "CONFIG_DB", "PORT", "SLUICE", "SLUICE_*")
			if err != nil || len(all) <= len(ports) {
				t.Fatalf("%d rows, %v", len(all), err)
			}
			var changes []sonicdb.Change
			for _, r := range all {
				changes = append(changes, sonicdb.Change{Row: r})
			}
			if _, rejected := config.New().Apply(changes); len(rejected) > 0 {
				t.Errorf("sluiced: %v", rejected)
			}
			if name := filepath.Base(file); !strings.Contains(string(page), "["+name+"]("+name+")") {
				t.Errorf("the page has no %s", name)
			}
		})
	}
}

// TestConfigPrintsRowsAsJSON: the rows that a command changes, also where it is no trial; and none.
func TestConfigPrintsRowsAsJSON(t *testing.T) {
	databasesOf(t, oddrows.Ports...)
	set := []string{"config", "port", "set", "Ethernet0", "--role", "edge", "--json"}
	for _, tt := range []struct {
		args []string
		want int
	}{{append(set, "--dry-run"), 1}, {set, 1}, {set, 0}, {[]string{"rollback", "--json", "--dry-run"}, 1}, {[]string{"rollback", "--json"}, 1}} {
		out, _ := good(t, tt.args...)
		var edits []settings.Edit
		if err := json.Unmarshal([]byte(out), &edits); err != nil || len(edits) != tt.want || tt.want == 1 && edits[0].Key != "Ethernet0" {
			t.Errorf("%v: %v: %s", tt.args, err, out)
		}
	}
}

// oddWords are words that some command takes, and others do not.
var oddWords = []string{
	"", " ", "|", "a|b", "ethernet0", "Ethernet0|", "-1", "--", "-", "%s", "{}", "*", "[a", "\\", "'", "$(id)", "../..", strings.Repeat("9", 5000), "\n", "a\nb", "\x00",
	"\x1b[31m", "\u00e4\u00df", "\u202e", "\u0665", "10.0.0.1/8", "::ffff:1.2.3.4", "0x10", "1e3", "+5", "007", "nan", "global", "TRUE",
}

// Whatever is typed, a command does it, or says in one line why not.
func TestOddWordsAreDoneOrAnsweredInOneLine(t *testing.T) {
	dbs := databasesOf(t, oddrows.Ports...)
	t.Chdir(t.TempDir()) // a word may name a file that a command then makes
	tried := 0
	for _, verb := range []string{"show", "config", "diff", "rollback", "clear"} {
		top, _, err := NewRootCommand(true).Find([]string{verb})
		if err != nil {
			t.Fatal(err)
		}
		each(top, func(cmd *cobra.Command) {
			path := strings.Fields(cmd.CommandPath())[1:]
			var lines [][]string
			next := func() string { tried++; return oddWords[tried%len(oddWords)] }
			for range 2 { // every word and every flag with some of them
				lines = append(lines, append(slices.Clone(path), "--", next()), append(slices.Clone(path), "--", next(), next()))
			}
			cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
				word := next()
				if f.Name == "target" {
					word = "unix:" + word // no word asks another machine
				}
				lines = append(lines, append(slices.Clone(path), "--"+f.Name, word))
			})
			for _, line := range lines {
				if slices.Contains(line, "--help") {
					continue
				}
				out, said, code := sluice(nil, line...)
				idle := code == statusStale && strings.HasPrefix(out, "not running") // a word that is good
				away := code == statusUnanswered && slices.Contains(line, "--target")
				if code != 0 && !idle && (code != 1 && !away || strings.Count(said, "\n") != 1) || strings.ContainsAny(out+said, "\x1b\u202e") {
					t.Errorf("%.100q: exit code %d, %.200q, %.200q", line, code, out, said)
				}
			}
		})
	}
	if all, err := dbs.read(t.Context(), "CONFIG_DB", "SLUICE*"); err != nil || len(all) > 100 || tried < 300 {
		t.Errorf("%v: %d rows by %d words", err, len(all), tried)
	}
}

func TestShowPrintsJSONWhereThereIsNothing(t *testing.T) {
	databasesOf(t)
	top, _, err := NewRootCommand(true).Find([]string{"show"})
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range top.Commands() {
		out, said, code := sluice(nil, "show", cmd.Name(), "--json")
		want, reason := 3, "not running"
		if cmd.Name() == "config" { // which needs no sluiced
			want, reason = 0, ""
		}
		if code != want || !strings.Contains(said, reason) || !json.Valid([]byte(out)) {
			t.Errorf("%s: %d, %q, %q", cmd.Name(), code, out, said)
		}
	}
}

func TestTopRejectsAPortThatIsNotThere(t *testing.T) {
	databasesOf(t, oddrows.Ports...)
	for port, want := range map[string]string{
		"Ethernet1": "sluice: --port Ethernet1: there is no such port: did you mean Ethernet0?\n",
		"swp1":      "sluice: --port swp1: there is no such port; there are: Ethernet0\n",
	} {
		if out, said, code := sluice(nil, "top", "--once", "--port", port); code != 1 || out != "" || said != want {
			t.Errorf("%s: %d, %q, %q", port, code, out, said)
		}
	}
	if _, said, code := sluice(nil, "top", "--once", "--interval", "100ms", "--port", "Ethernet0"); code != 0 {
		t.Errorf("%d, %q", code, said)
	}
}

func TestCompletionKnowsPortsAndQueuePairs(t *testing.T) {
	databasesOf(t, append(slices.Clone(oddrows.Ports), rows.Row{Table: "SLUICE_FLOW", Key: "a", Fields: map[string]string{"dest_qp": "17"}})...)
	for line, want := range map[string]string{
		"config port set":                         "Ethernet0\nPortChannel1\n:4\n",
		"show flows --port":                       "Ethernet0\nPortChannel1\n:4\n",
		"show flows --qp":                         "0x000011\n:4\n",
		"top --port":                              "Ethernet0\n:4\n",
		"config port del Ethernet0":               "flow-label\nrole\nthreshold\nupstream-neighbor\n:4\n",
		"config flow-label set --admin-state":     "enabled\ndisabled\n:4\n",
		"config port set Ethernet0 --flow-label=": "enabled\ndisabled\n:4\n",
	} {
		words := append([]string{cobra.ShellCompNoDescRequestCmd}, strings.Fields(line)...)
		if !strings.HasSuffix(line, "=") {
			words = append(words, "")
		}
		if out, _, _ := sluice(nil, words...); out != want {
			t.Errorf("%s: %q, want %q", line, out, want)
		}
	}
}

// TestFirstHourTypoComesBeforeTheDatabases: who mistypes a word learns that, not that there is no Redis.
func TestFirstHourTypoComesBeforeTheDatabases(t *testing.T) {
	t.Setenv("SLUICE_DB_CONFIG", filepath.Join(t.TempDir(), "none"))
	for args, reason := range map[string]string{
		"config port set Ethernet0 --role egde":        `--role: "egde" must be one of edge, fabric, border`,
		"config flow-label set --algorithm md5":        `--algorithm: "md5" must be one of draft-literal, crc32`,
		"config threshold set gold --high-bytes 5ms":   `"5ms" is not a size`,
		"config port set Ethernet0 --roel edge":        "did you mean --role?",
		"show stauts":                                  "did you mean status?",
		"config rate-advice set --min-rate-mbps 1GBps": `"1GBps" is not a rate`,
	} {
		if _, said, code := sluice(nil, strings.Fields(args)...); code == 0 || !strings.Contains(said, reason) || strings.Contains(said, "databases") {
			t.Errorf("%s: status %d, %q; want %q", args, code, said, reason)
		}
	}
}

func TestFirstHourConfigTakesUnits(t *testing.T) {
	dbs := databasesOf(t, oddrows.Ports...)
	good(t, strings.Fields("config threshold set gold --high-bytes 150k --low-bytes 64KiB --action pause --duration-us 5ms")...)
	all, err := dbs.read(t.Context(), "CONFIG_DB", "SLUICE_THRESHOLD")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"high_bytes": "150000", "low_bytes": "65536", "action": "pause", "duration_us": "5000"}
	if len(all) != 1 || !maps.Equal(all[0].Fields, want) {
		t.Errorf("%+v, want %v", all, want)
	}
	for args, reason := range map[string]string{
		"config threshold set gold --high-bytes 5ms":    `"5ms" is not a size, such as 100k`,
		"config threshold set gold --duration-us 0.5us": `"0.5us" is not a whole number of microseconds`,
		"config threshold set gold":                     "nothing to set: give one of --action",
		"config port set Ethernet0":                     "nothing to set: give one of --",
		"config rate-advice set --min-rate-mbps 25GBps": `"25GBps" is not a rate`,
	} {
		if _, said, code := sluice(nil, strings.Fields(args)...); code == 0 || !strings.Contains(said, reason) {
			t.Errorf("%s: status %d, %q; want %q", args, code, said, reason)
		}
	}
}
