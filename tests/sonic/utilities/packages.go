// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

const manager = "sonic-package-manager"

// Files of a package that install writes, below those of (*machine).plugins.
var packageFiles = []string{
	"/etc/sonic/sluice_reconcile", "/usr/bin/sluice.sh", "/usr/lib/systemd/system/sluice.service", "/usr/lib/systemd/system/sluice@.service",
	"/usr/local/bin/debug-dump/sluice", "/usr/local/bin/sluice.sh", "/usr/local/yang-models/sonic-sluice-state.yang", "/usr/local/yang-models/sonic-sluice.yang",
}

// changedFiles are files of SONiC that a package changes while it is installed. The last two
// remain, since the package manager writes them for all packages.
var changedFiles = []string{initCfg, generatedServices, "/etc/sonic/fast-reboot_order", "/etc/sonic/warm-reboot_order"}

// packageLife installs, upgrades, downgrades and removes the package.
func (m *machine) packageLife(ctx context.Context) error {
	if err := m.removeModels(); err != nil {
		return err
	}
	if err := m.begin(ctx, sonic()); err != nil {
		return err
	}
	if err := m.images(ctx); err != nil {
		return err
	}
	stop, err := m.featured(ctx) // uninstall waits for it
	if err != nil {
		return err
	}
	defer stop()
	version, err := m.version()
	if err != nil {
		return err
	}
	before, err := snapshot()
	if err != nil {
		return err
	}
	if err := m.overInvalidRows(ctx, before); err != nil {
		return err
	}
	if err := m.installed(ctx, before); err != nil {
		return err
	}
	if err := m.upgraded(ctx, version); err != nil {
		return err
	}
	if err := m.upgradeOverInvalidRow(ctx); err != nil {
		return err
	}
	return m.uninstalled(ctx, before)
}

// installed judges the installation of the older version.
func (m *machine) installed(ctx context.Context, before tree) error {
	if res := m.runs(ctx, "install: from a tarball", manager, "install", "-y", "--from-tarball", "/tmp/older.tar"); res.code != 0 {
		return errors.New(tail(res.output, 20))
	}
	m.listed(ctx, "install: the list has it", older+" Installed")
	after, err := snapshot()
	if err != nil {
		return err
	}
	want := slices.Clone(packageFiles)
	for _, command := range []string{"show", "config", "clear"} {
		files, err := filepath.Glob("/usr/local/lib/python3*/dist-packages/" + command + "/plugins")
		if err != nil || len(files) == 0 {
			return fmt.Errorf("no folder of plugins of %s: %v", command, err)
		}
		want = append(want, files[0]+"/sluice.py")
	}
	m.judge("install: writes exactly the files of a package", "", missing(want, after)+after.since(before, slices.Concat(want, changedFiles)...))
	for _, kind := range []string{"warm", "fast"} {
		text, err := os.ReadFile("/etc/sonic/" + kind + "-reboot_order")
		m.judge("install: sluiced ends before swss and syncd in a "+kind+" reboot", "sluice swss syncd <nil>", fmt.Sprint(string(text), " ", err))
	}
	text, err := os.ReadFile("/etc/sonic/sluice_reconcile")
	m.judge("install: a warm boot waits for sluiced alone", "sluiced <nil>", fmt.Sprint(string(text), " ", err))
	unit, err := os.ReadFile("/usr/lib/systemd/system/sluice.service")
	if err != nil {
		return err
	}
	for _, line := range []string{"Requires=database.service", "After=swss.service", "After=syncd.service"} {
		m.has("install: the unit has "+line, line+"\n", string(unit))
	}

	is, err := m.contents(ctx)
	if err != nil {
		return err
	}
	m.judge("install: the feature is off", "state=disabled", word(is["FEATURE|sluice"], "state="))
	m.judge("install: the feature is one per ASIC", "has_per_asic_scope=True", word(is["FEATURE|sluice"], "has_per_asic_scope="))
	m.judge("install: no row of Sluice: all is off", "0 rows ", is.ours())
	m.judge("install: SONiC's rows are as they were", "", is.minus(sonic().flat().plusAll(is.of("FEATURE|sluice"), is.of("AUTO_TECHSUPPORT_FEATURE|sluice"))))
	var initial map[string]map[string]any
	if text, err := os.ReadFile(initCfg); err != nil || json.Unmarshal(text, &initial) != nil {
		return fmt.Errorf("%s: %v", initCfg, err)
	}
	m.judge("install: a factory reset has the feature too", true, initial["FEATURE"]["sluice"] != nil)
	m.refuses(ctx, "install: the same version again", older+" is already installed", manager, "install", "-y", "--from-tarball", "/tmp/older.tar")
	return nil
}

// upgraded judges upgrades over rows that the older version wrote, and a downgrade.
func (m *machine) upgraded(ctx context.Context, version string) error {
	old, err := m.olderRows()
	if err != nil {
		return err
	}
	for _, r := range old {
		if err := m.config.Write(ctx, sonicdb.Change{Row: r}); err != nil {
			return err
		}
	}
	was, err := m.contents(ctx)
	if err != nil {
		return err
	}
	m.runs(ctx, "upgrade: over rows of an older version", manager, "install", "-y", "--from-tarball", m.image)
	m.listed(ctx, "upgrade: the list has it", version+" Installed")
	if err := m.same(ctx, "upgrade: every row is as it was", was); err != nil {
		return err
	}
	m.judge("upgrade: the models are this tree's", "", m.modelsDiffer())
	m.runs(ctx, "upgrade: to a later version", manager, "install", "-y", "--from-tarball", "/tmp/newer.tar")
	m.refuses(ctx, "downgrade: is refused unless it is allowed", "Request to downgrade from "+newer+" to "+version, manager, "install", "-y", "--from-tarball", m.image)
	m.runs(ctx, "downgrade: is done where it is allowed", manager, "install", "-y", "--allow-downgrade", "--from-tarball", m.image)
	m.listed(ctx, "downgrade: the list has it", version+" Installed")
	return m.same(ctx, "downgrade: every row is as it was", was)
}

// refused is a row that SONiC's YANG refuses, and orchagent takes: a rule that copies.
var refused = tables{"ACL_RULE": {"DATAACL|RULE_2": {"PRIORITY": "9998", "PACKET_ACTION": "COPY", "SRC_IP": "10.8.0.0/16"}}}

// overInvalidRows judges an installation over rows that SONiC's YANG refuses, and its removal.
func (m *machine) overInvalidRows(ctx context.Context, before tree) error {
	if err := m.begin(ctx, sonic().plus(refused)); err != nil {
		return err
	}
	verdict, err := m.load(ctx, sonic().plus(refused))
	if err != nil {
		return err
	}
	m.holds("install: SONiC's YANG refuses a rule that copies", verdict.verdict != "valid", "not valid", verdict.verdict)
	m.runs(ctx, "install: over a CONFIG_DB with it", manager, "install", "-y", "--from-tarball", "/tmp/older.tar")
	m.listed(ctx, "install: the list has it over such a row", older+" Installed")
	m.runs(ctx, "install: remove it", manager, "uninstall", "-y", "sluice")
	if err := m.same(ctx, "install: the rows stay", sonic().plus(refused).flat()); err != nil {
		return err
	}
	return m.begin(ctx, sonic())
}

// upgradeOverInvalidRow judges an upgrade over a row of Sluice that is not valid.
func (m *machine) upgradeOverInvalidRow(ctx context.Context) error {
	bad := rows.Row{Table: "SLUICE_PORT", Key: "Ethernet0", Fields: map[string]string{"role": "magic"}}
	good, err := m.config.Get(ctx, rows.Row{Table: bad.Table, Key: bad.Key})
	if err != nil || len(good) != 1 {
		return fmt.Errorf("read %s|%s: %d rows: %w", bad.Table, bad.Key, len(good), err)
	}
	if err := m.config.Write(ctx, sonicdb.Change{Row: bad}); err != nil {
		return err
	}
	m.runs(ctx, "upgrade: over a row that is not valid", manager, "install", "-y", "--from-tarball", "/tmp/newer.tar")
	m.listed(ctx, "upgrade: the list has the later version", newer+" Installed")
	is, err := snapshot()
	if err != nil {
		return err
	}
	m.judge("upgrade: the unit and all other files are there", "", missing(packageFiles, is))
	return m.config.Write(ctx, sonicdb.Change{Row: good[0]})
}

// uninstalled judges the removal of the package.
func (m *machine) uninstalled(ctx context.Context, before tree) error {
	m.runs(ctx, "uninstall: with --keep-config", manager, "uninstall", "-y", "--keep-config", "sluice")
	is, err := m.contents(ctx)
	if err != nil {
		return err
	}
	m.judge("uninstall: --keep-config keeps rows of Sluice", true, len(is.ours()) > 2)
	m.runs(ctx, "uninstall: install again over the rows", manager, "install", "-y", "--from-tarball", m.image)
	again, err := m.contents(ctx)
	if err != nil {
		return err
	}
	m.judge("uninstall: the rows are those that were kept", "", again.ours().minus(is.ours()))
	m.runs(ctx, "uninstall: removes the package", manager, "uninstall", "-y", "sluice")
	if err := m.same(ctx, "uninstall: CONFIG_DB is as it was before", sonic().flat()); err != nil {
		return err
	}
	after, err := snapshot()
	if err != nil {
		return err
	}
	m.judge("uninstall: the files are those from before", "", after.since(before, changedFiles[2:]...))
	images, err := docker(ctx, "images", "-q", imageName)
	m.judge("uninstall: no image is left", " <nil>", fmt.Sprint(images, " ", err))
	m.refuses(ctx, "uninstall: what is not installed", "sluice is not installed", manager, "uninstall", "-y", "sluice")
	return nil
}

// listed judges that the package manager's list has a text behind the name of the package.
func (m *machine) listed(ctx context.Context, check, want string) {
	got := "no line of sluice"
	for line := range strings.Lines(m.run(ctx, manager, "list").output) {
		if words := strings.Fields(line); len(words) > 3 && words[0] == "sluice" {
			got = strings.Join(words[len(words)-2:], " ")
		}
	}
	m.judge(check, want, got)
}

// missing returns the files that are not there.
func missing(want []string, is tree) string {
	var all []string
	for _, file := range want {
		if _, ok := is[file]; !ok {
			all = append(all, "missing "+file+" ")
		}
	}
	return strings.Join(all, "")
}

// modelsDiffer returns the models of SONiC's folder that are not as in this tree.
func (m *machine) modelsDiffer() string {
	var all []string
	files, err := filepath.Glob(filepath.Join(m.repo, ourModels))
	if err != nil || len(files) == 0 {
		return "no models in " + ourModels
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		is, isErr := os.ReadFile(filepath.Join(modelsFolder, filepath.Base(file)))
		if err != nil || isErr != nil || strings.TrimSpace(string(text)) != strings.TrimSpace(string(is)) {
			all = append(all, filepath.Base(file))
		}
	}
	return strings.Join(all, " ")
}

// olderRows returns rows of CONFIG_DB of the older version, as tests/upgrade has recorded them.
func (m *machine) olderRows() (all []rows.Row, err error) {
	text, err := os.ReadFile(filepath.Join(m.repo, "tests/upgrade/testdata", olderFrom, "placement.json"))
	if err != nil {
		return nil, err
	}
	var of map[string]map[string]map[string]map[string]string
	if err := json.Unmarshal(text, &of); err != nil {
		return nil, err
	}
	for name, keys := range of["CONFIG_DB"] {
		for key, fields := range keys {
			if strings.HasPrefix(name, "SLUICE") {
				all = append(all, rows.Row{Table: name, Key: key, Fields: fields})
			}
		}
	}
	if len(all) < 5 {
		return nil, fmt.Errorf("the older version has only %d rows", len(all))
	}
	return all, nil
}
