// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"reflect"
	"strings"
	"testing"

	"sluice/tests/configtest"

	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/files"
)

// TestExporterReadsOnlyFilesOfTheFolders: the exporter opens no other file that a row
// names.
func TestExporterReadsOnlyFilesOfTheFolders(t *testing.T) {
	snapshot, _ := config.New().Apply([]sonicdb.Change{})
	settings := exporterSettingsOf(snapshot, 1)
	c := settings.config(&Environment{Read: (&files.Reader{Folders: []string{"/etc/sluice"}}).Read})
	if _, err := c.Read("ca_file", "/etc/passwd"); err == nil || !strings.Contains(err.Error(), `ca_file "/etc/passwd": not below /etc/sluice`) {
		t.Errorf("%v", err)
	}
}

// TestExporterSettings: the same rows give equal settings, and another collector, file or
// rate gives others, which restart the exporter.
func TestExporterSettings(t *testing.T) {
	is := func(collector []string, more ...string) exporterSettings {
		s := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, append([]string{"SLUICE_IPFIX", "global", "admin_state=enabled"}, more...), collector)
		return exporterSettingsOf(s, policy.Of(s).Export.Rate)
	}
	one := []string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"}
	if !reflect.DeepEqual(is(one), is(one)) {
		t.Error("the same rows restart the exporter")
	}
	for _, other := range []exporterSettings{
		is(one, "sampling_rate=7"), is(one, "health=enabled"), is([]string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.2"}), is([]string{"SLUICE_IPFIX_COLLECTOR", "d", "address=192.0.2.1"}),
		is([]string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1", "path_mtu=1500"}), {},
	} {
		if reflect.DeepEqual(is(one), other) {
			t.Errorf("%+v does not restart the exporter", other)
		}
	}
}
