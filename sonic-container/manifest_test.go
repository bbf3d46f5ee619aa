// SPDX-License-Identifier: Apache-2.0

package container

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sluice/yang/rows"
)

// manifest is all that SONiC's package manager knows. It ignores other fields
// without a word, so here they are errors.
type manifest struct {
	Version string `json:"version"`
	Package struct {
		Version     string                                  `json:"version"`
		Name        string                                  `json:"name"`
		Description string                                  `json:"description"`
		BaseOS      map[string]string                       `json:"base-os"`
		Depends     []any                                   `json:"depends"`
		Breaks      []any                                   `json:"breaks"`
		InitCfg     map[string]map[string]map[string]string `json:"init-cfg"`
		Changelog   map[string]any                          `json:"changelog"`
		DebugDump   string                                  `json:"debug-dump"`
	} `json:"package"`
	Service struct {
		Name              string   `json:"name"`
		Requires          []string `json:"requires"`
		Requisite         []string `json:"requisite"`
		WantedBy          []string `json:"wanted-by"`
		After             []string `json:"after"`
		Before            []string `json:"before"`
		Dependent         []string `json:"dependent"`
		DependentOf       []string `json:"dependent-of"`
		PostStartAction   string   `json:"post-start-action"`
		PreShutdownAction string   `json:"pre-shutdown-action"`
		ASICService       bool     `json:"asic-service"`
		HostService       bool     `json:"host-service"`
		Delayed           bool     `json:"delayed"`
		CheckUpStatus     bool     `json:"check_up_status"`
		Type              string   `json:"type"`
		StopTime          string   `json:"stop-time"`
		WarmShutdown      order    `json:"warm-shutdown"`
		FastShutdown      order    `json:"fast-shutdown"`
		Syslog            struct {
			SupportRateLimit bool `json:"support-rate-limit"`
		} `json:"syslog"`
	} `json:"service"`
	Container struct {
		Privileged bool     `json:"privileged"`
		Volumes    []string `json:"volumes"`
		Mounts     []struct {
			Source string `json:"source"`
			Target string `json:"target"`
			Type   string `json:"type"`
		} `json:"mounts"`
		Environment map[string]string `json:"environment"`
		Tmpfs       []string          `json:"tmpfs"`
	} `json:"container"`
	Processes []struct {
		Name       string `json:"name"`
		Reconciles bool   `json:"reconciles"`
	} `json:"processes"`
	CLI struct {
		Mandatory              bool     `json:"mandatory"`
		Show                   []string `json:"show"`
		Config                 []string `json:"config"`
		Clear                  []string `json:"clear"`
		AutoGenerateShow       bool     `json:"auto-generate-show"`
		AutoGenerateConfig     bool     `json:"auto-generate-config"`
		AutoGenerateShowYang   []string `json:"auto-generate-show-source-yang-modules"`
		AutoGenerateConfigYang []string `json:"auto-generate-config-source-yang-modules"`
	} `json:"cli"`
}

type order struct {
	After  []string `json:"after"`
	Before []string `json:"before"`
}

func parse(text []byte) (*manifest, error) {
	m := new(manifest)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return m, d.Decode(m)
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func theManifest(t *testing.T) *manifest {
	t.Helper()
	m, err := parse([]byte(read(t, "manifest.json")))
	if err != nil {
		t.Fatalf("manifest.json: %v", err)
	}
	return m
}

func TestManifestIsComplete(t *testing.T) {
	m := theManifest(t)
	for name, good := range map[string]bool{
		"version is 1.0.0":                      m.Version == "1.0.0",
		"package.version is semver without a v": regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(m.Package.Version),
		"package.name and service.name":         m.Package.Name == "sluice" && m.Service.Name == "sluice",
		"one instance an ASIC, none for all":    m.Service.ASICService && !m.Service.HostService,
		"goes before what it programs":          slices.Contains(m.Service.WarmShutdown.Before, "syncd") && slices.Contains(m.Service.FastShutdown.Before, "syncd"),
		// A warm boot waits for WARM_RESTART_TABLE|sluiced, see TestWarmRestart.
		"sluiced reconciles, alone": m.Processes[0].Reconciles && !m.Processes[1].Reconciles,
		// Where start.sh has the state file.
		"what sluiced keeps survives": slices.Contains(m.Container.Volumes, "/host/sluice:/var/lib/sluice:rw"),
		// Such an action runs before every stop, also before a warm boot.
		"no pre-shutdown-action": m.Service.PreShutdownAction == "",
	} {
		if !good {
			t.Error("not so: " + name)
		}
	}
	for name, value := range m.Container.Environment {
		if strings.ContainsAny(value, " \t") {
			t.Errorf("environment %s=%q: has a blank, and SONiC does not quote", name, value)
		}
	}
}

func TestManifestRefusesWhatSONiCIgnores(t *testing.T) {
	good := read(t, "manifest.json")
	for _, change := range [][2]string{
		{`"debug_dump": "x", "package": {`, `"package": {`},
		{`"mandatory": false, "show-cli-plugin": "x"`, `"mandatory": false`},
		{`"asic_service": true`, `"asic-service": true`},
		{`"requires": "database"`, `"requires": ["database"]`},
		{`"reconcile": true`, `"reconciles": true`},
	} {
		bad := strings.Replace(good, change[1], change[0], 1)
		if bad == good {
			t.Fatalf("manifest.json has no %s", change[1])
		}
		if _, err := parse([]byte(bad)); err == nil {
			t.Errorf("taken: %s", change[0])
		}
	}
}

// TestManifestHasNoInitCfg: SONiC validates the whole CONFIG_DB before it adds rows of init-cfg.
// Any row that its YANG refuses, Sluice's or not, then forbids an installation; an upgrade fails
// halfway, and the package has lost its units and commands.
func TestManifestHasNoInitCfg(t *testing.T) {
	if cfg := theManifest(t).Package.InitCfg; len(cfg) != 0 {
		t.Errorf("init-cfg has %v", cfg)
	}
}

// TestFeaturesAreOffWithoutRows: that is what an installation leaves.
func TestFeaturesAreOffWithoutRows(t *testing.T) {
	features := 0
	for _, table := range rows.Tables("CONFIG_DB") {
		d, _ := rows.Describe(table)
		for _, leaf := range d.Leaves {
			if leaf.Name != "admin_state" || table == "SLUICE" {
				continue
			}
			features++
			if leaf.Default != "disabled" {
				t.Errorf("%s: admin_state is %s by default", table, leaf.Default)
			}
		}
	}
	if features < 5 {
		t.Errorf("%d features: are the tables read right?", features)
	}
}

// TestSONiCTakesTheRowsOfTheFleetPage: the rows that docs/fleet.md gives are valid.
func TestSONiCTakesTheRowsOfTheFleetPage(t *testing.T) {
	found := regexp.MustCompile("(?s)```json\n(\\{\"SLUICE.*?)```").FindAllStringSubmatch(read(t, "../docs/fleet.md"), -1)
	if len(found) == 0 {
		t.Fatal("docs/fleet.md has no rows: is it read right?")
	}
	for _, block := range found {
		var cfg map[string]map[string]map[string]string
		if err := json.Unmarshal([]byte(block[1]), &cfg); err != nil {
			t.Fatalf("%v: %s", err, block[1])
		}
		var all []rows.Row
		for table, byKey := range cfg {
			for key, fields := range byKey {
				all = append(all, rows.Row{Table: table, Key: key, Fields: fields})
			}
		}
		isPort := func(table, key string) bool { return table == "PORT" && strings.HasPrefix(key, "Ethernet") }
		for _, err := range rows.Validate(all, isPort) {
			t.Error(err)
		}
	}
}

// The labels are the manifest and the models, octet by octet.
func TestImageLabelsAreTheManifest(t *testing.T) {
	out, err := exec.Command("./labels.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for label := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, _ := strings.Cut(label, "=")
		labels[key] = value
	}
	want := map[string]string{"com.azure.sonic.manifest": read(t, "manifest.json")}
	models, err := filepath.Glob("../yang/*.yang")
	if err != nil || len(models) != 2 {
		t.Fatalf("models %v, %v", models, err)
	}
	for _, file := range models {
		name := strings.TrimSuffix(filepath.Base(file), ".yang")
		want["com.azure.sonic.yang-module."+name] = read(t, file)
	}
	for key, text := range want {
		if labels[key] != strings.TrimRight(text, "\n") {
			t.Errorf("label %s is not the file", key)
		}
	}
	if len(labels) != len(want) {
		t.Errorf("%d labels, want %d", len(labels), len(want))
	}
}

// The manifest, supervisord and SONiC's health monitor mean the same processes.
func TestProcessesAreTheSameEverywhere(t *testing.T) {
	supervisord := read(t, "supervisord.conf")
	var critical []string
	for _, p := range theManifest(t).Processes {
		critical = append(critical, "program:"+p.Name)
		if !strings.Contains(supervisord, "\n[program:"+p.Name+"]\n") {
			t.Errorf("supervisord.conf has no program %s", p.Name)
		}
	}
	if got := strings.Fields(read(t, "critical_processes")); !slices.Equal(got, critical) {
		t.Errorf("critical_processes %v, the manifest %v", got, critical)
	}
	if rsyslogd, sluiced := strings.Index(supervisord, "[program:rsyslogd]"), strings.Index(supervisord, "[program:sluiced]"); rsyslogd < 0 || rsyslogd > sluiced {
		t.Error("rsyslogd is not first")
	}
}

// The manifest names the plugins where image.sh puts them.
func TestManifestNamesThePlugins(t *testing.T) {
	cli := theManifest(t).CLI
	for command, paths := range map[string][]string{"show": cli.Show, "config": cli.Config, "clear": cli.Clear} {
		if want := []string{fmt.Sprintf("/cli/%s/plugins/sluice.py", command)}; !slices.Equal(paths, want) {
			t.Errorf("%s is %v, want %v", command, paths, want)
		}
	}
	if !strings.Contains(read(t, "cli/sluice.py"), "\ndef register(cli):\n") {
		t.Error("cli/sluice.py has no register(cli)")
	}
}
