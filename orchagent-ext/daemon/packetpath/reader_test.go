// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"testing"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/policy"
	"sluice/orchagent-ext/switch/engine"
	"sluice/tests/configtest"
)

// TestReaderSettings: what the modes of export make of the packet path.
func TestReaderSettings(t *testing.T) {
	for mode, want := range map[string]struct{ packet, biflow bool }{"flow": {}, "packet": {packet: true}, "biflow": {biflow: true}} {
		s := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, []string{"SLUICE_IPFIX", "global", "admin_state=enabled", "mode=" + mode}, []string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"})
		is := readerSettingsOf(s, policy.Of(s).Rated(engine.Features{}), nil, engine.CPU{})
		if !is.exports || is.meter.PerPacket != want.packet || is.biflow != want.biflow {
			t.Errorf("mode %s: %+v", mode, is)
		}
		if off := is.withoutExport(); off != (readerSettings{}) {
			t.Errorf("mode %s, and no exporter runs: %+v", mode, off)
		}
	}
}

// TestReaderTellsOfPSNsWhereEveryPacketComes: not of samples, nor where sFlow samples; and
// it goes by what the switch lets through at most, also where that was less when it was opened.
func TestReaderTellsOfPSNsWhereEveryPacketComes(t *testing.T) {
	sample := engine.Choices{engine.NeedExport: {Method: engine.Sample}}
	for name, tt := range map[string]struct {
		rate, driver string
		choices      engine.Choices
		want         bool
	}{
		"every packet":   {"1", "sai", sample, true},
		"samples":        {"2", "sai", sample, false},
		"sFlow":          {"1", "orchagent", engine.Choices{engine.NeedExport: {Method: engine.SFlow}}, false},
		"another method": {"1", "sai", engine.Choices{engine.NeedExport: {Method: engine.Mirror}}, false},
	} {
		s := configtest.Snapshot(t, configtest.Port0, configtest.Edge0, []string{"SLUICE", "global", "driver=" + tt.driver, "cpu_rate=5000", "cpu_burst=700"},
			[]string{"SLUICE_IPFIX", "global", "admin_state=enabled", "sampling_rate=" + tt.rate}, []string{"SLUICE_IPFIX_COLLECTOR", "c", "address=192.0.2.1"})
		want := packetio.Health{Whole: tt.want, Rate: 5000, Burst: 600}
		if got := readerSettingsOf(s, policy.Of(s), tt.choices, engine.CPU{Rate: 8000, Burst: 600}).health; got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
