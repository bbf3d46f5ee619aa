// SPDX-License-Identifier: Apache-2.0

package simulated

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/sim/run"
	"sluice/orchagent-ext/sim/scenario"
	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

// ran runs a scenario with a feature, and returns its frames and its result.
func ran(t *testing.T, text, feature string, every time.Duration) ([]*frame.Frame, *run.Result) {
	t.Helper()
	s, err := scenario.Read(strings.NewReader(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := s.Run(s.Loads[0], feature)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := run.Do(t.Context(), spec, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all []*frame.Frame
	watched, err := Run(t.Context(), spec, every, func(f *frame.Frame) error { all = append(all, f); return nil })
	if err != nil {
		t.Fatal(err)
	}
	if plain.Octets != watched.Octets || plain.SlowestS != watched.SlowestS || plain.Drops != watched.Drops {
		t.Errorf("who watches changes the run: %+v and %+v", plain, watched)
	}
	return all, watched
}

// number is a number of a row.
func number(t *testing.T, r *rows.Row, field string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(r.Fields[field], 10, 64)
	if err != nil {
		t.Fatalf("%s: %s is %q", r.Name(), field, r.Fields[field])
	}
	return n
}

const incast = `
fabric: {tiers: 2, hosts: 16, hosts_per_leaf: 4, spines: 2, host_gbit: 100, fabric_gbit: 100}
loads: [{kind: incast, duration_ms: 0.5, size: 12, scattered: true}]
`

// TestRowsAreThoseOfTheModel, with values that fit the run's result.
func TestRowsAreThoseOfTheModel(t *testing.T) {
	for _, feature := range []string{"none", "placement", "plan", "redirect", "label+pfcm", "advice"} {
		frames, result := ran(t, incast, feature, 20*time.Microsecond)
		tables, last := map[string]int{}, map[string]uint64{}
		held, waited := 0, uint64(0)
		for i, f := range frames {
			if len(f.Switches) != 4 || i > 0 && !f.At.After(frames[i-1].At) {
				t.Fatalf("%s: frame %d at %v has %d switches", feature, i, f.At, len(f.Switches))
			}
			for _, s := range f.Switches {
				for j := range s.Rows {
					r := &s.Rows[j]
					if _, err := rows.Decode(*r); err != nil && r.Table != "PORT" {
						t.Fatalf("%s, frame %d, %s: %v", feature, i, s.Name, err)
					}
					tables[r.Table]++
					switch r.Table {
					case "SLUICE_PORT_STATS":
						name := s.Name + " " + r.Key
						n := number(t, r, "tx_bytes")
						if n < last[name] {
							t.Errorf("%s: %s sent %d, and %d before", feature, name, n, last[name])
						}
						last[name] = n
					case "SLUICE_QUEUE_STATS":
						waited = max(waited, number(t, r, "queued_bytes"))
						if number(t, r, "queued_bytes") > number(t, r, "watermark_bytes") {
							t.Errorf("%s: %s: %v", feature, r.Name(), r.Fields)
						}
					case "SLUICE_HOLD":
						held++
					}
				}
			}
		}
		sum := uint64(0)
		for name, n := range last {
			if strings.Contains(name, " host") {
				sum += n
			}
		}
		if sum < result.Octets { // headers are beside what arrived
			t.Errorf("%s: ports to hosts sent %d octets, of the application %d arrived", feature, sum, result.Octets)
		}
		for _, table := range []string{"SLUICE_STATE", "SLUICE_FLOW", "SLUICE_NEXT_HOP"} {
			if tables[table] == 0 {
				t.Errorf("%s: no row of %s", feature, table)
			}
		}
		if (tables["SLUICE_PLACEMENT_MEMBER"] > 0) != (feature == "placement" || feature == "plan") {
			t.Errorf("%s: %v", feature, tables)
		}
		if (held > 0) != (result.Holds > 0) || feature == "label+pfcm" && held == 0 || waited == 0 {
			t.Errorf("%s: %d rows of holds, and %d holds; %d octets waited at most", feature, held, result.Holds, waited)
		}
		if frames[0].At != Begin || len(frames) < 10 {
			t.Errorf("%s: %d frames from %v", feature, len(frames), frames[0].At)
		}
	}
}
