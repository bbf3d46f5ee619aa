// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"reflect"
	"strings"
	"testing"

	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/switch/engine"
)

// TestExporterReadsOnlyFilesOfTheFolders: the exporter opens no other file that a row
// names.
func TestExporterReadsOnlyFilesOfTheFolders(t *testing.T) {
	c := (&Exporter{}).config(&Environment{Read: (&files.Reader{Folders: []string{"/etc/sluice"}}).Read})
	if _, err := c.Read("ca_file", "/etc/passwd"); err == nil || !strings.Contains(err.Error(), `ca_file "/etc/passwd": not below /etc/sluice`) {
		t.Errorf("%v", err)
	}
}

// TestExporterRestartsByItsSettings: another rate gives other settings, and so does the loss of the
// method for samples.
func TestExporterRestartsByItsSettings(t *testing.T) {
	s := Settings{Export: &Export{Exporter: Exporter{Domain: 7}}}
	in := func(rate uint32, m engine.Method) Inputs {
		return Inputs{Policy: engine.Policy{Export: &engine.Export{Rate: rate}}, Choices: engine.Choices{engine.NeedExport: {Method: m}}}
	}
	one := s.exporter(in(1, engine.Sample))
	if one.Domain != 7 || !reflect.DeepEqual(one, s.exporter(in(1, engine.Sample))) {
		t.Errorf("%+v", one)
	}
	for _, other := range []Exporter{s.exporter(in(2, engine.Sample)), (&Settings{Export: &Export{}}).exporter(in(1, engine.Sample))} {
		if reflect.DeepEqual(one, other) {
			t.Errorf("%+v does not restart the exporter", other)
		}
	}
	for name, off := range map[string]Exporter{
		"no method": s.exporter(in(1, engine.None)), "no policy": s.exporter(Inputs{Choices: in(1, engine.Sample).Choices}), "not configured": (&Settings{}).exporter(in(1, engine.Sample)),
	} {
		if !reflect.DeepEqual(off, Exporter{}) {
			t.Errorf("%s: %+v", name, off)
		}
	}
}
