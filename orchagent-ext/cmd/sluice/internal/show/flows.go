// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/rows"
)

func flows(d *Data, o Options) (*Answer, error) {
	all := d.rows("SLUICE_FLOW")
	ports, err := d.members(o.Port)
	if err != nil {
		return nil, err
	}
	order := "bytes"
	if o.Congested {
		order = "queue_bytes"
	}
	var chosen []map[string]string
	for _, r := range all {
		f := r.Fields
		congested := f["state"] == "congested" || f["state"] == "held"
		if o.Congested && !congested || ports != nil && !ports[f["ingress_port"]] && !ports[f["egress_port"]] ||
			o.QP != nil && f["dest_qp"] != strconv.FormatUint(uint64(*o.QP), 10) {
			continue
		}
		chosen = append(chosen, f)
	}
	slices.SortStableFunc(chosen, func(a, b map[string]string) int {
		x, y := number(a[order]), number(b[order])
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	first := chosen
	if o.Top > 0 {
		first = chosen[:min(o.Top, len(chosen))]
	}
	a := &Answer{JSON: append([]map[string]string{}, first...)}
	switch {
	case len(first) == 0:
		a.Blocks = []Block{{Text: noFlows(d, o, len(all))}}
		return a, nil
	case o.Congested:
		a.Blocks = []Block{congestedTable(first)}
	default:
		a.Blocks = []Block{flowTable(first)}
	}
	if len(first) < len(chosen) {
		a.Blocks = append(a.Blocks, Block{Text: fmt.Sprintf("%d of %d flows", len(first), len(chosen))})
	}
	return a, nil
}

// noFlows says why there are none to show.
func noFlows(d *Data, o Options, known int) string {
	method := d.state()["flow_label_method"]
	switch {
	case o.Congested:
		return "No flow is congested or held."
	case known > 0 && o.QP != nil:
		return fmt.Sprintf("No flows: none of the %d is as asked for.", known)
	case known > 0:
		return fmt.Sprintf("No flows: none of the %d is seen at %s.", known, o.Port)
	case method != "" && method != "rewrite" && d.only("SLUICE_CAPABILITY")["placement_method"] != "entries":
		return fmt.Sprintf("No flows: with the method %s the switch keeps none, only with rewrite it does.", method)
	}
	return "No flows."
}

func flowTable(all []map[string]string) Block {
	t := Block{Header: []string{"Source", "Destination", "DestQP", "Label", "Stream", "Packets", "Bytes"}}
	var ports []string
	for _, p := range []struct{ title, field string }{{"In", "ingress_port"}, {"Out", "egress_port"}} {
		if slices.ContainsFunc(all, func(f map[string]string) bool { return f[p.field] != "" }) {
			t.Header = append(t.Header, p.title)
			ports = append(ports, p.field)
		}
	}
	for _, f := range all {
		row := []string{f["src"], f["dst"], hex(f["dest_qp"], 6), hex(f["flow_label"], 5), or(f["stream_id"], "-"), f["packets"], f["bytes"]}
		for _, field := range ports {
			row = append(row, f[field])
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func congestedTable(all []map[string]string) Block {
	t := Block{Header: []string{"Source", "Destination", "DestQP", "Stream", "State", "Since", "Out", "Queue", "Bytes in queue", "In", "Told"}}
	for _, f := range all {
		t.Rows = append(t.Rows, []string{
			f["src"], f["dst"], hex(f["dest_qp"], 6), or(f["stream_id"], "-"), f["state"], f["since"],
			f["egress_port"], f["queue"], or(f["queue_bytes"], "-"), f["ingress_port"], or(f["told"], "-"),
		})
	}
	return t
}

func holds(d *Data, _ Options) (*Answer, error) {
	a := &Answer{JSON: d.fields("SLUICE_HOLD")}
	state := d.state()
	t := Block{Header: []string{"By", "Port", "Queue", "Stream", "Source", "Destination", "State", "Action", "Since", "Until", "Packets", "Waiting", "Dropped"}}
	for _, r := range d.rows("SLUICE_HOLD") {
		f := r.Fields
		action := "pause"
		if f["action"] != "pause" {
			action = "reduce " + or(f["reduction"], "?") + " %"
		}
		t.Rows = append(t.Rows, []string{
			f["from"], f["port"], f["queue"], f["stream_id"], or(f["src"], "-"), or(f["dst"], "-"), f["state"], action,
			f["since"], f["until"], or(f["packets"], "-"), or(f["waiting_bytes"], "-"), or(f["dropped"], "-"),
		})
	}
	switch {
	case t.Rows != nil:
		a.Blocks = []Block{t}
	case state["pfcm"] == "active":
		a.Blocks = []Block{{Text: "Nothing is held."}}
	default:
		a.Blocks = []Block{{Text: "Nothing is held: PFCM is " + because(or(state["pfcm"], "disabled"), state["pfcm_reason"]) + "."}}
	}
	return a, nil
}

// because is a state and its reason.
func because(state, reason string) string {
	if reason == "" {
		return state
	}
	return state + ", " + reason
}

func advice(d *Data, _ Options) (*Answer, error) {
	state := d.state()
	config := known(d.only("SLUICE_RATE_ADVICE"))
	sent := map[string]string{}
	for _, r := range d.rows("SLUICE_NOTIFY_STATS") {
		if r.Key == "rate-advice" {
			sent = known(r.Fields)
		}
	}
	hosts := []string{}
	for _, r := range d.rows("SLUICE_RATE_ADVICE_HOST") {
		hosts = append(hosts, r.Key)
	}
	pairs := append([][2]string{{"rate advice", because(or(state["rate_advice"], "disabled"), state["rate_advice_reason"])}}, pairsOf(config)...)
	pairs = append(pairs, [2]string{"hosts", or(strings.Join(hosts, ", "), "none")})
	a := &Answer{
		JSON: map[string]any{
			"rate_advice": state["rate_advice"], "reason": state["rate_advice_reason"], "config": config, "hosts": hosts,
			"policies": d.byKey("SLUICE_RATE_POLICY"), "counters": sent,
		},
		Blocks: []Block{{Pairs: pairs}},
	}
	if policies := d.rows("SLUICE_RATE_POLICY"); len(policies) > 0 {
		t := Block{Header: []string{"Policy", "Source", "Destination", "DSCP", "Mbit/s"}}
		for _, r := range policies {
			f := r.Fields
			t.Rows = append(t.Rows, []string{r.Key, or(f["src_prefix"], "any"), or(f["dst_prefix"], "any"), or(f["dscp"], "any"), f["rate_mbps"]})
		}
		a.Blocks = append(a.Blocks, t)
	}
	a.Blocks = append(a.Blocks, counterTable(countersIn(rows.Row{Table: "SLUICE_NOTIFY_STATS", Fields: sent}), func(name string) bool { return sent[name] != "0" })...)
	return a, nil
}

// countersIn are the counters of a row that count, not those of times.
func countersIn(r rows.Row) map[string]uint64 {
	out := make(map[string]uint64)
	names, _ := leavesOf(r.Table)
	for _, name := range names {
		if n, err := strconv.ParseUint(r.Fields[name], 10, 64); err == nil && !strings.Contains(name, "_us_") {
			out[name] = n
		}
	}
	return out
}
