// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed" // modules.py
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const modelsFolder = "/usr/local/yang-models"

//go:embed modules.py
var modulesProgram []byte

// installModels copies the models of this tree to where SONiC has its own, as the package
// manager does.
func (m *machine) installModels() error {
	files, err := filepath.Glob(filepath.Join(m.repo, ourModels))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no models in %s: %v", ourModels, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(modelsFolder, filepath.Base(file)), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// removeModels removes them again.
func (m *machine) removeModels() error {
	files, err := filepath.Glob(modelsFolder + "/sonic-sluice*.yang")
	for _, file := range files {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return err
}

// loaded is the output of modules.py.
type loaded struct {
	modules map[string]string // by table
	unknown []string          // tables of the configuration that no module has
	verdict string
}

// load runs modules.py on a configuration.
func (m *machine) load(ctx context.Context, config tables) (l loaded, err error) {
	if err := os.WriteFile("/tmp/modules.py", modulesProgram, 0o644); err != nil {
		return l, err
	}
	if err := writeJSON("/tmp/modules.json", config); err != nil {
		return l, err
	}
	res := m.run(ctx, "/usr/bin/python3", "/tmp/modules.py", modelsFolder, "/tmp/modules.json")
	lines := strings.Split(strings.TrimSpace(res.output), "\n")
	if res.code != 0 || len(lines) < 3 {
		return l, fmt.Errorf("load YANG modules: exit %d: %s", res.code, tail(res.output, 5))
	}
	lines = lines[len(lines)-3:]
	if err := json.Unmarshal([]byte(lines[0]), &l.modules); err != nil {
		return l, err
	}
	l.verdict = lines[2]
	return l, json.Unmarshal([]byte(lines[1]), &l.unknown)
}

// modules: SONiC's modules and Sluice's in one context.
func (m *machine) modules(ctx context.Context) error {
	alone, err := m.load(ctx, sonic())
	if err != nil {
		return err
	}
	m.judge("modules: SONiC's configuration is valid without Sluice", "valid", alone.verdict)
	if err := m.installModels(); err != nil {
		return err
	}
	both, err := m.load(ctx, sonic().plus(sluice()))
	if err != nil {
		return err
	}
	m.judge("modules: all tables are known", "[]", fmt.Sprint(both.unknown))
	m.judge("modules: SONiC's and Sluice's configuration is valid", "valid", both.verdict)

	var moved, missing []string
	for table, module := range alone.modules {
		if both.modules[table] != module {
			moved = append(moved, table)
		}
	}
	m.judge("modules: each table of SONiC has the module that it had", "[]", fmt.Sprint(moved))
	for _, table := range slices.Sorted(maps.Keys(sluice())) {
		if both.modules[table] != "sonic-sluice" {
			missing = append(missing, table)
		}
	}
	m.judge("modules: each table of Sluice is of sonic-sluice", "[]", fmt.Sprint(missing))

	for _, bad := range []struct {
		name, part string
		change     tables
	}{
		{"a port that SONiC does not have", "Ethernet99", tables{"SLUICE_PORT": {"Ethernet99": {"role": "edge"}}}},
		{"a threshold that is not there", "none", tables{"SLUICE_PORT": {"Ethernet0": {"threshold": "none"}}}},
		{"a value that is not allowed", "fast", tables{"SLUICE_PORT": {"Ethernet0": {"role": "fast"}}}},
		{"stream ids of etcd without etcd", "stream_id_scope global needs etcd_endpoints", tables{"SLUICE": {"global": {"stream_id_scope": "global"}}}},
		{"one ICMPv6 type for two messages", "icmpv6_type must not be that of SLUICE_PFCM|global", tables{"SLUICE_PPFC": {"global": {"icmpv6_type": "200"}}}},
	} {
		got, err := m.load(ctx, sonic().plus(sluice()).plus(bad.change))
		if err != nil {
			return err
		}
		m.holds("modules: refuse "+bad.name, strings.Contains(got.verdict, bad.part), "refused: "+bad.part, got.verdict)
	}
	return nil
}
