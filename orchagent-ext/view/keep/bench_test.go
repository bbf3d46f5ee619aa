// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"testing"
	"time"

	"sluice/orchagent-ext/view/frame"
	"sluice/yang/rows"
)

// leaf makes the rows of a leaf of 32 ports with 8 queues each and 64 shown flows, as reading them
// does: again each second.
type leaf struct {
	*rand.Rand
	name  string
	rates []uint64 // octets/s, by port and flow
	n     uint64   // seconds
	sent  []uint64
}

const (
	benchPorts  = 32
	benchQueues = 8
	benchFlows  = 64
)

func newLeaf(i int) *leaf {
	l := &leaf{Rand: rand.New(rand.NewPCG(uint64(i), 9)), name: fmt.Sprint("leaf", i)}
	for range benchPorts + benchFlows {
		l.rates = append(l.rates, l.Uint64N(25e9))
		l.sent = append(l.sent, l.Uint64N(1e15))
	}
	return l
}

func row(table, key string, fields ...any) rows.Row {
	r := rows.Row{Table: table, Key: key, Fields: make(map[string]string, len(fields)/2)}
	for i := 0; i < len(fields); i += 2 {
		r.Fields[fields[i].(string)] = text(fields[i+1])
	}
	return r
}

// text is fmt.Sprint, faster for the kinds that a leaf's rows have thousands of.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case int:
		return strconv.Itoa(v)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	return fmt.Sprint(v)
}

// next returns the switch after another second.
func (l *leaf) next(at time.Time) frame.Switch {
	l.n++
	for i := range l.sent { // rates vary by some percent
		l.sent[i] += l.rates[i] + l.Uint64N(l.rates[i]/16+1)
	}
	stamp := at.Format(time.RFC3339)
	all := []rows.Row{
		row("SLUICE", "global", "admin_state", "enabled", "publish_next_hops", "enabled"),
		row("SLUICE_CAPABILITY", "switch", "flow_label_method", "compute", "hold_method", "exact", "threshold_method", "exact", "placement_method", "entries"),
		row("SLUICE_STATE", "global", "state", "running", "version", "0.1.0", "flow_label", "active", "placement", "active", "pfcm", "active", "flows", 60_000+l.IntN(2000), "objects", 812, "alive", stamp, "since", "2026-11-27T08:00:00Z"),
		row("SLUICE_STATS", "global", "read_time", stamp, "label_written", l.sent[0]/4096, "label_skipped", 17, "label_skipped_percent", "0.0", "cpu_copied", l.sent[1]/1e6, "cpu_roce", l.sent[1]/1e6, "cpu_flows", 60_000+l.IntN(2000), "rtt_samples", l.sent[2]/1e9, "drift_found", 0),
		row("SLUICE_PLACEMENT_GROUP", "10.0.0.0/8", "state", "active", "scope", "local", "model", "linux", "flows", 5000+l.IntN(50), "worst_over_mean", fmt.Sprintf("1.%03d", l.IntN(90)), "hash_worst_over_mean", fmt.Sprintf("1.%03d", 300+l.IntN(90)), "moves", l.n/7, "placed", l.n*3, "by_hash", l.n/5),
	}
	for m := range 6 {
		fields := []any{}
		for c := range 40 {
			fields = append(fields, "dropped_reason_"+strconv.Itoa(c), 0)
		}
		all = append(all, row("SLUICE_NOTIFY_STATS", []string{"pfcm", "ppfc", "cnp", "rate_advice", "pfc", "peer"}[m], append(fields, "sent", l.sent[m]/1e8, "received", l.sent[m]/2e8, "reaction_us_p50", fmt.Sprintf("%d.5", 100+l.IntN(20)))...))
	}
	for p := range benchPorts {
		name := "Ethernet" + strconv.Itoa(4*p)
		role := "edge"
		if p < benchPorts/4 {
			role = "fabric"
			all = append(all, row("SLUICE_NEXT_HOP", fmt.Sprint("10.0.0.0/8|", p), "port", name, "weight", 1, "state", "up", "role", role, "neighbor", fmt.Sprint("spine", p), "neighbor_port", "Ethernet0", "neighbor_address", fmt.Sprint("10.1.0.", p)),
				row("SLUICE_PLACEMENT_MEMBER", "10.0.0.0/8|"+name, "weight", "1.0", "predicted_rate", l.rates[p], "hash_rate", l.rates[p]/2, "measured_rate", l.rates[p]+l.Uint64N(1e9), "flows", 600+l.IntN(30)))
		}
		all = append(all,
			row("PORT", name, "admin_status", "up", "alias", fmt.Sprint("etp", p), "index", p, "lanes", fmt.Sprint(8*p, ",", 8*p+1), "mtu", 9100, "pfc_asym", "off", "speed", 400000, "tpid", "0x8100"),
			row("SLUICE_PORT_STATS", name, "oper_status", "up", "role", role, "tx_bytes", l.sent[p], "tx_packets", l.sent[p]/4096, "rx_bytes", l.sent[p]*7/8, "rx_packets", l.sent[p]/5000))
		for q := range benchQueues {
			n, waits := uint64(0), 0
			if q == 3 || q == 0 {
				n, waits = l.sent[p]>>uint(3-q), l.IntN(200_000)
			}
			all = append(all, row("SLUICE_QUEUE_STATS", name+"|"+strconv.Itoa(q), "queued_bytes", waits, "watermark_bytes", n>>40, "packets", n/4096, "bytes", n, "dropped", 0))
		}
	}
	for f := range benchFlows {
		n := l.sent[benchPorts+f]
		src, dst := "2001:db8:1::"+strconv.Itoa(f+1), "2001:db8:2::"+strconv.Itoa(f+1)
		all = append(all, row("SLUICE_FLOW", fmt.Sprintf("%s,%s,%06x", src, dst, 17*f), "src", src, "dst", dst, "dest_qp", 17*f, "src_qp", 19*f, "flow_label", 4242*f, "stream_id", f+1, "ingress_port", "Ethernet64", "egress_port", "Ethernet0", "path", "Ethernet0",
			"queue", 3, "queue_bytes", l.IntN(100_000), "exact", true, "rate_mbps", l.rates[benchPorts+f]/125_000+l.Uint64N(500), "packets", n/4096, "bytes", n, "state", "normal", "since", "2026-11-27T13:00:00Z", "seen_packets", n/400_000, "ce_packets", n/4e8, "psn_gaps", n/1e13))
	}
	return frame.Switch{Name: l.name, Address: "192.0.2.1:50051", At: at, Rows: frame.Sorted(all)}
}

// BenchmarkHistory128 is the history of 128 switches at a frame a second: the time that a frame takes, as
// a part of a core, with one who looks at another time each ten seconds, and the memory of the process at
// most, with the reading of frames. It goes on for some minutes after the history is full: with -benchtime 20x
// for an hour and a half. s-all is the time of which it has all frames.
func BenchmarkHistory128(b *testing.B) {
	const switches, looks, thinned = 128, 10, 240
	var leaves []*leaf
	for i := range switches {
		leaves = append(leaves, newLeaf(i))
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	h := New(Options{Heap: func(octets int64) { debug.SetMemoryLimit(octets) }})
	defer h.Close()
	debug.FreeOSMemory()
	forget(b)
	n, took := 0, time.Duration(0)
	for b.Loop() {
		for end := n + thinned; n < end || h.thinned == 0; n++ {
			at := begin.Add(time.Duration(n) * time.Second)
			f := &frame.Frame{At: at}
			for _, l := range leaves {
				f.Switches = append(f.Switches, l.next(at))
			}
			before := used(b)
			if err := h.Add(f); err != nil {
				b.Fatal(err)
			}
			first, last, _ := h.Span()
			if n%looks == 0 {
				if f, _, err := h.At(b.Context(), first.Add(last.Sub(first)/2)); err != nil || len(f.Switches) != switches {
					b.Fatal(err)
				}
			}
			took += used(b) - before
		}
	}
	first, last, _ := h.Span()
	all := last
	if h.thinned < len(h.blocks) {
		all, _ = h.blocks[h.thinned].Span()
	}
	b.ReportMetric(last.Sub(all).Seconds(), "s-all")
	b.ReportMetric(100*took.Seconds()/float64(n), "cpu-percent")
	b.ReportMetric(last.Sub(first).Seconds(), "s-kept")
	b.ReportMetric(float64(peak(b))/(1<<20), "MiB")
}

// used is the time of a core that the process had.
func used(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// forget resets the peak of memory.
func forget(b *testing.B) {
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
		b.Fatal(err)
	}
}

// peak is the most memory that the process had, octets.
func peak(b *testing.B) int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(text, []byte("VmHWM:"))
	n, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n << 10
}
