// SPDX-License-Identifier: Apache-2.0

package show

import (
	"slices"
	"strconv"
)

// notifications answers `show notifications`: state, counters by kind of message, and
// delays in µs.
func notifications(d *Data, o Options) (*Answer, error) {
	state, all := d.state(), d.rows("SLUICE_NOTIFY_STATS")
	a := &Answer{JSON: d.byKey("SLUICE_NOTIFY_STATS"), Blocks: []Block{{Pairs: [][2]string{
		{"pfcm", or(state["pfcm"], "disabled")}, {"ppfc", or(state["ppfc"], "disabled")}, {"rate-advice", or(state["rate_advice"], "disabled")},
		{"reason", state["pfcm_reason"]}, {"holds", state["holds"]},
	}}}}
	times := Block{Header: []string{"Time (us)", "n", "p50", "p99", "p99.9", "max"}}
	counted := Block{Header: []string{"Counter"}}
	var names []string
	counters := make([]map[string]uint64, len(all))
	for i, r := range all {
		counted.Header = append(counted.Header, r.Key)
		for _, name := range []string{"reaction", "enforce", "release_error"} {
			if or(r.Fields[name+"_us_n"], "0") == "0" {
				continue
			}
			row := []string{r.Key + " " + words(name)}
			for _, part := range []string{"n", "p50", "p99", "p999", "max"} {
				row = append(row, or(r.Fields[name+"_us_"+part], "-"))
			}
			times.Rows = append(times.Rows, row)
		}
		counters[i] = countersIn(r)
		for name, n := range counters[i] {
			if (o.All || n > 0) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		row := []string{words(name)}
		for i := range all {
			cell := ""
			if n, has := counters[i][name]; has {
				cell = strconv.FormatUint(n, 10)
			}
			row = append(row, cell)
		}
		counted.Rows = append(counted.Rows, row)
	}
	if times.Rows != nil {
		a.Blocks = append(a.Blocks, times)
	}
	if counted.Rows != nil {
		a.Blocks = append(a.Blocks, counted)
	}
	return a, nil
}
