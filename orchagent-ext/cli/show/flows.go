// SPDX-License-Identifier: Apache-2.0

package show

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/rows"
)

// flows answers `show flows`: the heaviest ones, or those of a port, a queue pair or with
// --congested.
func flows(d *Data, o Options) (*Answer, error) {
	all := d.rows("SLUICE_FLOW")
	ports, err := d.members(o.Port)
	if err != nil {
		return nil, err
	}
	order := func(f map[string]string) uint64 { return carried(f, "bytes", "seen_bytes") }
	if o.Congested {
		order = func(f map[string]string) uint64 { return number(f["queue_bytes"]) }
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
		return cmp.Compare(order(b), order(a))
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

// noFlows returns the reason of an empty list of flows.
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
		return "No flows: " + unsampled(d, method)
	}
	return "No flows."
}

// unsampled is why no flow is known where the switch keeps none, and the setting that shows them.
func unsampled(d *Data, method string) string {
	switch export := d.only("SLUICE_CAPABILITY"); {
	case export["export_method"] == "none":
		return "the CPU gets no samples by which flows are known: " + or(export["export_reason"], "the switch has no method for them") + "."
	case method == "compute":
		return "one of 256 labelled packets comes to the CPU, and none came lately. SLUICE_IPFIX|global admin_state=enabled samples IPv4 and all ports, too; it needs no collector."
	default:
		return fmt.Sprintf("the method %s keeps none. Set admin_state=enabled in SLUICE_IPFIX|global: flows are sampled and shown, also without a collector.", method)
	}
}

// carried returns the packets or octets that a flow has sent: the count of its entry, or
// an estimate by the CPU's samples, each of which counts for as many packets as the
// sampling interval. Without an interval it is what the CPU saw, at least.
func carried(f map[string]string, counted, seen string) uint64 {
	if f[counted] != "" {
		return number(f[counted])
	}
	if f["sampling_rate"] == "" {
		return number(f[seen])
	}
	return number(f[seen]) * number(f["sampling_rate"])
}

// carriedText is that as text; "~" where it is an estimate, and "+" where it is more.
func carriedText(f map[string]string, counted, seen string) string {
	switch {
	case f[counted] != "" || f[seen] == "":
		return f[counted]
	case f["sampling_rate"] == "1":
		return f[seen]
	case f["sampling_rate"] == "":
		return f[seen] + "+"
	}
	return fmt.Sprintf("~%d", carried(f, counted, seen))
}

// flowTable returns the table of flows; columns that are empty in all rows are left out.
func flowTable(all []map[string]string) Block {
	t := Block{Header: []string{"Source", "Destination", "DestQP", "Label"}, Spare: []string{"Stream", "Resent", "Label", "Packets", "In", "CNPs", "Out"}}
	type column struct {
		title, field string
		cell         func(map[string]string) string
	}
	of := func(title, field string) column {
		return column{title, field, func(f map[string]string) string { return f[field] }}
	}
	named := func(title, field string) column {
		return column{title, field, func(f map[string]string) string { return or(f[field], "-") }}
	}
	columns := []column{
		named("In", "ingress_port"), named("Out", "egress_port"), named("Stream", "stream_id"),
		{"Packets", "", func(f map[string]string) string { return carriedText(f, "packets", "seen_packets") }},
		{"Bytes", "", func(f map[string]string) string { return carriedText(f, "bytes", "seen_bytes") }}, {"Marked", "seen_packets", marked},
		of("Lost", "psn_lost"), of("Resent", "retransmitted_bytes"), {"NAKs", "seen_packets", naks}, of("CNPs", "cnps"),
	}
	columns = slices.DeleteFunc(columns, func(c column) bool {
		return c.field != "" && !slices.ContainsFunc(all, func(f map[string]string) bool { return f[c.field] != "" })
	})
	for _, c := range columns {
		t.Header = append(t.Header, c.title)
	}
	for _, f := range all {
		row := []string{f["src"], f["dst"], hex(f["dest_qp"], 6), hex(f["flow_label"], 5)}
		for _, c := range columns {
			row = append(row, c.cell(f))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// marked is the share of packets with a congestion mark.
func marked(f map[string]string) string {
	seen := number(f["seen_packets"])
	if seen == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f%%", 100*float64(number(f["ce_packets"]))/float64(seen))
}

// naks are the refusals that a flow carries, by reason.
func naks(f map[string]string) string {
	var list []string
	for _, why := range []string{"rnr", "sequence", "invalid", "access", "operation", "other"} {
		if n := f["naks_"+why]; number(n) > 0 {
			list = append(list, why+":"+n)
		}
	}
	return strings.Join(list, ",")
}

// congestedTable returns the table of flows that are congested or held.
func congestedTable(all []map[string]string) Block {
	t := Block{Header: []string{"Source", "Destination", "DestQP", "State", "Since", "Out", "Queue", "Bytes in queue", "By", "In", "Stream", "Notified", "Advised"}, Spare: []string{"Since", "Stream", "Queue", "Advised", "In", "By"}}
	for _, f := range all {
		t.Rows = append(t.Rows, []string{
			f["src"], f["dst"], hex(f["dest_qp"], 6), f["state"], f["since"],
			f["egress_port"], f["queue"], or(f["queue_bytes"], "-"), foundBy(f), f["ingress_port"], or(f["stream_id"], "-"), or(f["notified_neighbor"], "-"), advised(f),
		})
	}
	return t
}

// foundBy is how a flow is known to be in the queue.
func foundBy(f map[string]string) string {
	switch {
	case f["method"] == "sampled" && f["confidence_percent"] != "":
		return "sampled, " + f["confidence_percent"] + "%"
	case f["method"] == "" && f["exact"] == "true": // of a version that lacks the field
		return "exact"
	}
	return or(f["method"], "-")
}

// advised is the rate that a flow's sender was advised, in Mbit/s.
func advised(f map[string]string) string {
	switch rate := f["advised_mbps"]; {
	case rate == "":
		return "-"
	case f["not_following"] == "true":
		return rate + " (not followed)"
	default:
		return rate
	}
}

// holds answers with the holds in force at each port, by whom they were asked for.
func holds(d *Data, _ Options) (*Answer, error) {
	a := &Answer{JSON: d.fields("SLUICE_HOLD")}
	state := d.state()
	t := Block{Header: []string{"By", "Port", "Queue", "Stream", "Source", "Destination", "State", "Action", "Since", "Until", "Packets", "Waiting", "Dropped"}, Spare: []string{"Since", "Queue", "Packets", "Stream", "Until"}}
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

// hosts answers `show hosts`.
func hosts(d *Data, o Options) (*Answer, error) {
	all := d.fields("SLUICE_HOST")
	microseconds := func(f map[string]string) float64 {
		v, _ := strconv.ParseFloat(f["rtt_us"], 64) // or 0
		return v
	}
	slices.SortStableFunc(all, func(a, b map[string]string) int { return cmp.Compare(microseconds(b), microseconds(a)) })
	if o.Top > 0 {
		all = all[:min(o.Top, len(all))]
	}
	t := Block{Header: []string{"Host", "RTT us", "From", "Samples", "Last"}}
	for _, f := range all {
		t.Rows = append(t.Rows, []string{f["address"], f["rtt_us"], f["rtt_from"], f["samples"], f["measured_at"]})
	}
	if t.Rows == nil {
		t = Block{Text: "No round-trip time is known: it takes SLUICE_RATE_ADVICE, SLUICE_PPFC or SLUICE_IPFIX, and packets in both directions."}
	}
	return &Answer{JSON: all, Blocks: []Block{t}}, nil
}

// because is a state and its reason.
func because(state, reason string) string {
	if reason == "" {
		return state
	}
	return state + ", " + reason
}

// advice answers `show rate-advice`: settings, counters of messages, and the advised
// flows.
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
		t := Block{Header: []string{"Policy", "Source", "Destination", "DSCP", "Mbit/s", "Port %"}}
		for _, r := range policies {
			f := r.Fields
			t.Rows = append(t.Rows, []string{r.Key, or(f["src_prefix"], "any"), or(f["dst_prefix"], "any"), or(f["dscp"], "any"), or(f["rate_mbps"], "-"), or(f["port_percent"], "-")})
		}
		a.Blocks = append(a.Blocks, t)
	}
	a.Blocks = append(a.Blocks, counterTable(countersIn(rows.Row{Table: "SLUICE_NOTIFY_STATS", Fields: sent}), func(name string) bool { return sent[name] != "0" })...)
	return a, nil
}

// countersIn returns the counters of a row without the fields that are times.
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
