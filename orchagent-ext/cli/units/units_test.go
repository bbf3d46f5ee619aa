// SPDX-License-Identifier: Apache-2.0

package units

import (
	"strings"
	"testing"

	"sluice/yang/rows"
)

func TestQuantitiesAreReadAsOperatorsWriteThem(t *testing.T) {
	for text, want := range map[string]struct {
		unit  string
		count uint64
	}{
		"25G": {"Mbit/s", 25_000}, "25Gbps": {"Mbit/s", 25_000}, "1Gbit": {"bit/s", 1e9}, "2.5 Gbit/s": {"Mbit/s", 2500}, "1g": {"Mbit/s", 1000},
		"40": {"Mbit/s", 40}, "500kbps": {"bit/s", 500_000}, "100k": {"octets", 100_000}, "1.5MB": {"octets", 1_500_000}, "64KiB": {"octets", 65_536},
		"5ms": {"microseconds", 5000}, "500": {"microseconds", 500}, "250us": {"microseconds", 250}, "2s": {"milliseconds", 2000}, "0x10": {"microseconds", 16},
		"20k": {"packets per second", 20_000}, "3kpps": {"packets per second", 3000}, "0": {"octets", 0}, "1.0": {"seconds", 1}, "5min": {"seconds", 300},
	} {
		if got, err := Parse(text, want.unit); err != nil || got != want.count {
			t.Errorf("%q: %d %s, %v; want %d", text, got, want.unit, err, want.count)
		}
	}
}

func TestOtherQuantitiesAreRefused(t *testing.T) {
	for text, unit := range map[string]string{
		"25GBps": "Mbit/s", "1MBps": "bit/s", "": "Mbit/s", "fast": "Mbit/s", "-1": "octets", "1e6": "octets", "1e999999999": "octets", "0x1p999999999": "octets", "1/2": "octets", "1_000": "octets", "5m": "microseconds",
		"10%": "octets", "1.5us": "microseconds", "1kbps": "Mbit/s", "5ms": "octets", "99999999999999999999": "octets", "1..2": "octets", "0x": "octets", "5 ms ": "microseconds",
	} {
		if got, err := Parse(text, unit); err == nil || !strings.Contains(err.Error(), unit) {
			t.Errorf("%q is %d %s, %v", text, got, unit, err)
		}
	}
}

// TestUnitsOfConfigurationAreKnown: a leaf of the model that has a unit can be written with
// one; parts are not quantities.
func TestUnitsOfConfigurationAreKnown(t *testing.T) {
	for _, table := range rows.Tables("CONFIG_DB") {
		d, _ := rows.Describe(table)
		for _, l := range d.Leaves {
			if l.Units != "" && l.Units != "percent" && !Known(l.Units) {
				t.Errorf("%s: %s: unit %q", table, l.Name, l.Units)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("2.5Gbps")
	f.Fuzz(func(t *testing.T, text string) {
		for unit := range units {
			if n, err := Parse(text, unit); err != nil && n != 0 {
				t.Errorf("%q: %d and %v", text, n, err)
			}
		}
	})
}
