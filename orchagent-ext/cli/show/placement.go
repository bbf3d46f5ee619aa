// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"strconv"
)

// placement answers `show placement`: groups of next hops with the load of their members.
func placement(d *Data, _ Options) (*Answer, error) {
	state, fabric := d.state(), known(d.only("SLUICE_PLACEMENT_FABRIC"))
	groups, members := d.rows("SLUICE_PLACEMENT_GROUP"), d.fields("SLUICE_PLACEMENT_MEMBER")
	a := &Answer{
		JSON: map[string]any{
			"placement": state["placement"], "reason": state["placement_reason"], "config": known(d.only("SLUICE_PLACEMENT")),
			"fabric": fabric,
			"groups": d.fields("SLUICE_PLACEMENT_GROUP"), "members": members,
		},
		Blocks: []Block{{Pairs: [][2]string{
			{"placement", or(state["placement"], "disabled")}, {"method", d.only("SLUICE_CAPABILITY")["placement_method"]}, {"reason", state["placement_reason"]},
			{"scope", fabric["scope"]}, {"why local", fabric["reason"]}, {"this leaf", fabric["leaf"]}, {"planner", fabric["planner"]},
			{"plan", fabric["plan"]}, {"leaves", fabric["leaves"]}, {"rows not used", fabric["rows_rejected"]},
		}}},
	}
	if len(groups) == 0 {
		if state["placement"] == "active" {
			a.Blocks = append(a.Blocks, Block{Text: "No flow that is placed goes to a group of several next hops."})
		}
		return a, nil
	}
	of := Block{Header: []string{"Next hops", "State", "Model", "Flows", "Max ÷ mean", "By hash", "Floor", "Moves", "Waiting", "Error %"}, Spare: []string{"Model", "Error %", "Floor", "Waiting", "Moves"}}
	var reasons []Block
	for _, r := range groups {
		row := []string{r.Key}
		for _, field := range []string{"state", "model", "flows", "worst_over_mean", "hash_worst_over_mean", "floor", "moves", "waiting", "model_error_percent"} {
			row = append(row, or(r.Fields[field], "-"))
		}
		of.Rows = append(of.Rows, row)
		if reason := r.Fields["reason"]; reason != "" {
			reasons = append(reasons, Block{Text: r.Key + ": " + reason, Joined: true})
		}
		if n := r.Fields["entries"]; n != "" {
			is := func(field string) string { return or(r.Fields[field], "0") }
			reasons = append(reasons,
				Block{Text: fmt.Sprintf("%s: %s entries redirect flows, the others are by hash; %s more may be made; a change takes %s ms; the switch refused %s", r.Key, n, is("entries_free"), is("entry_ms"), is("moves_refused")), Joined: true},
				Block{Text: fmt.Sprintf("%s: flows that would help elsewhere, and stay: held %s, not idle %s, refused by the switch %s, beyond a bound of entries %s; path unknown: %s", r.Key, is("held"), is("waiting"), is("refused"), is("bounded"), is("unknown")), Joined: true})
		}
		if reason := r.Fields["member_order_reason"]; reason != "" {
			reasons = append(reasons, Block{Text: r.Key + ": members are in the order of the kernel: " + reason, Joined: true})
		}
	}
	a.Blocks = append(append(a.Blocks, of), reasons...)
	hops := Block{Header: []string{"Next hops", "Port", "Weight", "Flows", "Predicted Mbit/s", "Measured", "By hash"}}
	for _, f := range members {
		hops.Rows = append(hops.Rows, []string{f["group"], f["name"], f["weight"], f["flows"], mbps(f["predicted_rate"]), mbps(f["measured_rate"]), mbps(f["hash_rate"])})
	}
	a.Blocks = append(a.Blocks, hops)
	return a, nil
}

// mbps is a rate in octets a second as Mbit/s.
func mbps(octets string) string {
	n, err := strconv.ParseUint(octets, 10, 64)
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", float64(n)*8/1e6)
}
