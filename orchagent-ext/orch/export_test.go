// SPDX-License-Identifier: Apache-2.0

package orch

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/config"
	"sluice/orchagent-ext/leaffile"
	"sluice/orchagent-ext/sonicdb"
)

// TestExporterReadsOnlyFilesOfTheFolders: the exporter opens no other file that a row
// names.
func TestExporterReadsOnlyFilesOfTheFolders(t *testing.T) {
	snapshot, _ := config.New().Apply([]sonicdb.Change{})
	c := exporterConfig(snapshot, &Config{Files: leaffile.Folders{"/etc/sluice"}})
	if _, err := c.Read("ca_file", "/etc/passwd"); err == nil || !strings.Contains(err.Error(), `ca_file "/etc/passwd": not below /etc/sluice`) {
		t.Errorf("%v", err)
	}
}
