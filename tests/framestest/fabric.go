// SPDX-License-Identifier: Apache-2.0

package framestest

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

// Noon is when the frames begin.
var Noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// Fabric returns a fabric of so many leaves and spines at so many seconds after [Noon]: each leaf has an
// uplink to each spine and two hosts. leaf1 has most of its load on one uplink; a flow of it fills a
// queue of leaf3, which asked spine1, and that asked leaf1. The last leaf does not answer where
// silent is set.
func Fabric(seconds, leaves, spines int, silent bool) *frame.Frame {
	at := Noon.Add(time.Duration(seconds) * time.Second)
	f := &frame.Frame{At: at}
	stamp := func(ago time.Duration) string { return at.Add(-ago).Format(time.RFC3339Nano) }
	row := func(table, key string, pairs ...string) rows.Row {
		r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			r.Fields[pairs[i]] = pairs[i+1]
		}
		return r
	}
	num := func(n int) string { return fmt.Sprint(n) }
	state := []rows.Row{
		row("SLUICE_STATE", "global", "state", "running", "alive", stamp(300*time.Millisecond), "flow_label", "active", "flow_label_method", "compute", "pfcm", "active", "rate_advice", "active", "holds", "0", "flows", "64"),
		row("SLUICE_CAPABILITY", "switch", "flow_label_method", "compute", "flow_label_state", "active", "placement_method", "entries", "hold_method", "exact", "threshold_method", "exact", "export_method", "sample"),
		row("SLUICE_STATS", "global", "read_time", stamp(0)),
	}
	flow := func(src, dst, qp int, pairs ...string) rows.Row {
		return row("SLUICE_FLOW", fmt.Sprintf("fd00:%d::1,fd00:%d::2,%06x", src, dst, qp), append([]string{
			"src", fmt.Sprintf("fd00:%d::1", src), "dst", fmt.Sprintf("fd00:%d::2", dst), "dest_qp", num(qp), "src_qp", num(qp + 256), "flow_label", num(qp * 4099 % 0xfffff), "sampling_rate", "16",
			"seen_packets", num(1000 + 10*seconds), "ect_packets", num(1000 + 10*seconds), "ce_packets", num(qp % 7 * (3 + seconds)), "cnps", num(qp % 5), "naks_rnr", "0",
		}, pairs...)...)
	}
	held := func(port, from string) rows.Row {
		return row("SLUICE_HOLD", from+",5,3", "src", "fd00:1::1", "dst", "fd00:3::2", "dest_qp", "18", "stream_id", "1234", "message", "pfcm", "from", from, "port", port, "queue", "3", "state", "held", "action", "pause",
			"since", stamp(1700*time.Millisecond), "until", stamp(-300*time.Millisecond), "waiting_bytes", "131072", "method", "exact", "reason", "queue 3 of the neighbor is over its mark")
	}
	for l := 1; l <= leaves; l++ {
		s := frame.Switch{Name: fmt.Sprint("leaf", l), Address: fmt.Sprintf("192.0.2.%d:50070", l), At: at}
		if silent && l == leaves {
			s.At, s.Missing = time.Time{}, "deadline exceeded after 1.5 s"
			f.Switches = append(f.Switches, s)
			continue
		}
		s.Rows = append(s.Rows, state...)
		for u := range spines {
			port, load := fmt.Sprint("Ethernet", 4*u), 30+(7*l+5*u)%9
			if l == 1 {
				load = []int{95, 8, 12, 10}[u%4]
			}
			s.Rows = append(s.Rows,
				row("SLUICE_PORT_STATS", port, "role", "fabric", "oper_status", map[bool]string{true: "down", false: "up"}[l == 2 && u == 1], "tx_bytes", num(load*1_250_000*seconds), "rx_bytes", num(30*1_250_000*seconds)),
				row("SLUICE_QUEUE_STATS", port+"|3", "queued_bytes", num(load*100), "watermark_bytes", num(load*1000), "packets", num(load*100*seconds), "bytes", num(load*1_250_000*seconds), "dropped", num(max(0, load-90)*seconds)),
				row("SLUICE_NEXT_HOP", "fd00::/16|"+num(u), "port", port, "gateway", fmt.Sprintf("fe80::%x%02x", u+1, l), "neighbor", fmt.Sprint("spine", u+1), "neighbor_port", fmt.Sprint("Ethernet", 4*(l-1))),
				row("SLUICE_PLACEMENT_MEMBER", "fd00::/16|"+port, "weight", "1", "flows", "16"))
		}
		s.Rows = append(s.Rows, row("SLUICE_PLACEMENT_GROUP", "fd00::/16", "state", "active", "worst_over_mean", num(1)+".1"+num(l), "hash_worst_over_mean", "1.90"+num(l%9), "floor", "1.000", "flows", "64", "moves", num(l+seconds)))
		for e := range 2 {
			port := fmt.Sprint("Ethernet", 40+4*e)
			s.Rows = append(s.Rows, row("SLUICE_PORT_STATS", port, "role", "edge", "oper_status", "up", "tx_bytes", num(1000*seconds), "rx_bytes", num(1000*seconds)))
		}
		for q := range 4 {
			to, up := (l+q)%leaves+1, q%spines
			pairs := []string{"ingress_port", "Ethernet40", "egress_port", fmt.Sprint("Ethernet", 4*up), "path", fmt.Sprint("Ethernet", 4*up), "queue", "3", "rate_mbps", num(40 + 13*q + l), "state", "normal", "queue_bytes", "0"}
			if q == 3 {
				pairs = append(pairs, "moved_at", stamp(time.Duration(l)*time.Second))
			}
			s.Rows = append(s.Rows, flow(l, to, 32*l+q, pairs...))
		}
		switch l {
		case 1:
			s.Rows = append(s.Rows, held("Ethernet0", "fe80::101"), flow(1, 3, 18, "ingress_port", "Ethernet40", "egress_port", "Ethernet0", "path", "Ethernet0", "queue", "3", "rate_mbps", "760", "state", "held", "queue_bytes", "131072",
				"stream_id", "1234", "advised_mbps", "200", "not_following", "true", "psn_lost", "7", "naks_sequence", "2", "retransmitted_bytes", "28672"))
		case 3:
			s.Rows = append(s.Rows, flow(1, 3, 18, "ingress_port", "Ethernet0", "egress_port", "Ethernet44", "queue", "3", "rate_mbps", "760", "state", "congested", "queue_bytes", "524288", "notified_neighbor", "fe80::3", "stream_id", "1234", "method", "exact"),
				row("SLUICE_QUEUE_STATS", "Ethernet44|3", "queued_bytes", "560000", "watermark_bytes", "910000", "packets", num(5000*seconds), "bytes", num(95*1_250_000*seconds), "dropped", "0"))
		}
		s.Rows = frame.Sorted(s.Rows)
		f.Switches = append(f.Switches, s)
	}
	for p := 1; p <= spines; p++ {
		s := frame.Switch{Name: fmt.Sprint("spine", p), Address: fmt.Sprintf("192.0.2.%d:50070", 100+p), At: at, Rows: append([]rows.Row{}, state...)}
		for l := 1; l <= leaves; l++ {
			port := fmt.Sprint("Ethernet", 4*(l-1))
			s.Rows = append(s.Rows, row("SLUICE_PORT_STATS", port, "role", "fabric", "oper_status", "up", "tx_bytes", num((28+(3*l+p)%6)*1_250_000*seconds), "rx_bytes", num(30*1_250_000*seconds)),
				row("SLUICE_NEXT_HOP", fmt.Sprintf("fd00:%d::/32|0", l), "port", port, "gateway", fmt.Sprintf("fe80::%x", l), "neighbor", fmt.Sprint("leaf", l), "neighbor_port", fmt.Sprint("Ethernet", 4*(p-1))))
		}
		if p == 1 {
			s.Rows = append(s.Rows, held("Ethernet8", "fe80::3"), flow(1, 3, 18, "ingress_port", "Ethernet0", "egress_port", "Ethernet8", "queue", "3", "rate_mbps", "760", "state", "held", "queue_bytes", "65536", "notified_neighbor", "fe80::1", "stream_id", "1234"))
		}
		s.Rows = frame.Sorted(s.Rows)
		f.Switches = append(f.Switches, s)
	}
	return f
}
