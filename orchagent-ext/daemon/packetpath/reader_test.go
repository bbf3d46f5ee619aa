// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"testing"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/switch/engine"
)

// TestReaderSettings: the reader meters by the modes of export while an exporter runs.
func TestReaderSettings(t *testing.T) {
	for _, x := range []*Export{{}, {Meter: ipfix.MeterConfig{PerPacket: true}}, {Biflow: true}, {Exporter: Exporter{Health: true}}} {
		s := Settings{Export: x}
		is := s.reader(Inputs{Policy: engine.Policy{Export: &engine.Export{Rate: 1}}, Choices: engine.Choices{engine.NeedExport: {Method: engine.Sample}}})
		if !is.exports || is.meter != x.Meter || is.biflow != x.Biflow || is.healthRecord != x.Exporter.Health {
			t.Errorf("%+v: %+v", x, is)
		}
		if off := is.withoutExport(); off != (readerSettings{}) {
			t.Errorf("%+v, and no exporter runs: %+v", x, off)
		}
	}
}

// TestReaderFollowsPSNsWhereEveryPacketComes: not of samples, nor where sFlow samples; and
// it goes by how many packets the switch lets through at most, also where that was less when it was opened.
func TestReaderFollowsPSNsWhereEveryPacketComes(t *testing.T) {
	for name, tt := range map[string]struct {
		rate    uint32
		library bool
		method  engine.Method
		want    bool
	}{
		"every packet":   {1, true, engine.Sample, true},
		"samples":        {2, true, engine.Sample, false},
		"sFlow":          {1, false, engine.SFlow, false},
		"rows":           {1, false, engine.Sample, false},
		"another method": {1, true, engine.Mirror, false},
	} {
		s := Settings{Library: tt.library, Export: &Export{}}
		in := Inputs{
			Policy:  engine.Policy{Export: &engine.Export{Rate: tt.rate}, CPU: engine.CPU{Rate: 5000, Burst: 700}},
			Choices: engine.Choices{engine.NeedExport: {Method: tt.method}}, Opened: engine.CPU{Rate: 8000, Burst: 600},
		}
		want := packetio.Health{Whole: tt.want, Rate: 5000, Burst: 600}
		if got := s.reader(in).health; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
