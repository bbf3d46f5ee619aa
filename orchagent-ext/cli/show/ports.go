// SPDX-License-Identifier: Apache-2.0

package show

import (
	"maps"
	"strings"

	"sluice/yang/rows"
)

// ports answers `show ports`.
func ports(d *Data, o Options) (*Answer, error) {
	chosen, err := d.members(o.Port)
	if err != nil {
		return nil, err
	}
	config, stats := d.byKey("SLUICE_PORT"), d.byKey("SLUICE_PORT_STATS")
	t := Block{Header: []string{"Port", "Link", "Role", "Labels", "Threshold", "Rx packets", "Rx bytes", "Tx packets", "Tx bytes"}, Spare: []string{"Threshold", "Rx packets", "Tx packets", "Labels"}}
	out := make(map[string]any)
	for _, r := range d.rows("PORT") {
		if chosen != nil && !chosen[r.Key] {
			continue
		}
		c, of := known(config[r.Key]), stats[r.Key]
		out[r.Key] = map[string]any{"config": c, "stats": known(of)}
		role, labelled := or(c["role"], "-"), "-"
		if _, ours := config[r.Key]; ours {
			role, labelled = or(c["role"], "fabric"), "no"
			if labels(rows.Row{Fields: c}) {
				labelled = "yes"
			}
		}
		row := []string{r.Key, or(of["oper_status"], "-"), role, labelled, or(c["threshold"], "-")}
		for _, field := range []string{"rx_packets", "rx_bytes", "tx_packets", "tx_bytes"} {
			row = append(row, or(of[field], "-"))
		}
		t.Rows = append(t.Rows, row)
	}
	if t.Rows == nil {
		t = Block{Text: "No ports: the table PORT of CONFIG_DB is empty."}
	}
	return &Answer{JSON: out, Blocks: []Block{t}}, nil
}

// queues answers `show queues`; queues that never had a packet are counted instead of
// listed.
func queues(d *Data, o Options) (*Answer, error) {
	chosen, err := d.members(o.Port)
	if err != nil {
		return nil, err
	}
	t := Block{Header: []string{"Port", "Queue", "Bytes now", "Most", "Packets", "Bytes", "Dropped"}}
	out, idle := []map[string]string{}, 0
	for _, r := range d.rows("SLUICE_QUEUE_STATS") {
		port, queue, _ := strings.Cut(r.Key, "|")
		if chosen != nil && !chosen[port] {
			continue
		}
		f := maps.Clone(known(r.Fields))
		f["port"], f["queue"] = port, queue
		out = append(out, f)
		if number(f["packets"]) == 0 && number(f["dropped"]) == 0 && number(f["queued_bytes"]) == 0 && !o.All {
			idle++
			continue
		}
		t.Rows = append(t.Rows, []string{port, queue, or(f["queued_bytes"], "-"), or(f["watermark_bytes"], "-"), or(f["packets"], "-"), or(f["bytes"], "-"), or(f["dropped"], "-")})
	}
	a := &Answer{JSON: out}
	switch {
	case len(out) == 0:
		reason := d.only("SLUICE_CAPABILITY")["queues_reason"]
		a.Blocks = []Block{{Text: "No egress queues are known" + strings.TrimSuffix(": "+reason, ": ") + "."}}
	case t.Rows == nil:
		a.Blocks = []Block{{Text: "No queue had packets; --all lists them."}}
	default:
		a.Blocks = []Block{t}
	}
	return a, nil
}
