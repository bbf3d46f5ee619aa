// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"testing"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/switch/engine"
)

// TestReaderSettings: the reader meters by the modes of export while an exporter runs; without one
// it shows flows.
func TestReaderSettings(t *testing.T) {
	for _, x := range []*Export{{}, {Meter: ipfix.MeterConfig{PerPacket: true}}, {Biflow: true}, {Exporter: Exporter{Health: true}}} {
		s := Settings{Export: x}
		is := s.reader(Inputs{Policy: engine.Policy{Export: &engine.Export{Rate: 1}}, Choices: engine.Choices{engine.NeedExport: {Method: engine.Sample}}})
		if !is.exports || is.meter != x.Meter || is.biflow != x.Biflow || is.healthRecord != x.Exporter.Health {
			t.Errorf("%+v: %+v", x, is)
		}
		if off, want := is.withoutExport(), (readerSettings{shows: true}); off != want {
			t.Errorf("%+v, and no exporter runs: %+v, want %+v", x, off, want)
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

// TestReaderShowsFlows wherever samples come, for whatever purpose. The estimates have the share that
// comes by chance; acknowledgements that come at another rate have none.
func TestReaderShowsFlows(t *testing.T) {
	sample := engine.Choice{Method: engine.Sample}
	for name, tt := range map[string]struct {
		policy  engine.Policy
		choices engine.Choices
		chance  uint32
		want    readerSettings
	}{
		"nothing":     {choices: engine.Choices{engine.NeedExport: sample}},
		"labels":      {choices: engine.Choices{engine.NeedExport: sample}, chance: 256, want: readerSettings{shows: true, chance: 256}},
		"learning":    {policy: engine.Policy{Export: &engine.Export{Rate: 256, Answers: 16}}, choices: engine.Choices{engine.NeedExport: sample}, chance: 256, want: readerSettings{shows: true, chance: 256, answered: true}},
		"no method":   {policy: engine.Policy{Export: &engine.Export{Rate: 256}}},
		"redirection": {choices: engine.Choices{engine.NeedExport: sample, engine.NeedPlacement: {Method: engine.Redirect}}, chance: 512, want: readerSettings{redirects: true, shows: true, chance: 512}},
	} {
		if got := new(Settings).reader(Inputs{Policy: tt.policy, Choices: tt.choices, Chance: tt.chance}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
