// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"sluice/yang/rows"
)

// sampled are recorded rows as they are with the method compute: flows have no entry, and
// one of rate packets comes to the CPU. now says that they are the later ones.
func sampled(all []rows.Row, rate uint64, now bool) []rows.Row {
	later := uint64(0)
	if now {
		later = 1
	}
	return change(all, func(r *rows.Row) {
		switch r.Table {
		case tableState:
			r.Fields["flow_label_method"] = "compute"
		case tablePortStats:
			r.Fields["oper_status"] = "up"
		case tableFlow:
			qp, _ := strconv.ParseUint(r.Fields["dest_qp"], 10, 32)
			packets, _ := strconv.ParseUint(r.Fields["packets"], 10, 64)
			octets, _ := strconv.ParseUint(r.Fields["bytes"], 10, 64)
			delete(r.Fields, "packets")
			delete(r.Fields, "bytes")
			for name, v := range map[string]uint64{
				"sampling_rate": rate, "seen_packets": packets / rate, "seen_bytes": octets / rate, "ce_packets": later * (qp % 4) * packets / rate / 20,
			} {
				r.Fields[name] = fmt.Sprint(v)
			}
			r.Fields["ingress_port"], r.Fields["egress_port"] = "Ethernet0", fmt.Sprintf("Ethernet%d", 4+4*(qp%4))
			if rate == 1 {
				r.Fields["retransmitted_bytes"] = fmt.Sprint(later * (qp % 3) * 4096)
			}
		}
	})
}

// TestFramesOfSampledFlows at three sizes.
func TestFramesOfSampledFlows(t *testing.T) {
	v := viewOf(sampled(recorded(t, "before.json"), 1, false), sampled(recorded(t, "now.json"), 1, true))
	for _, size := range [][2]int{{40, 10}, {80, 24}, {200, 60}} {
		l := Layout{Width: size[0], Height: size[1], UTF8: true, Order: ByRate, Footer: Footer(ByRate, false)}
		frame := v.Frame(l)
		fits(t, frame, l)
		golden(t, fmt.Sprintf("sampled-%dx%d.txt", l.Width, l.Height), frame)
		page, err := os.ReadFile("../../../docs/operations.md")
		if err != nil {
			t.Fatal(err)
		}
		if size[0] < 200 && !strings.Contains(string(page), "```\n"+frame+"```\n") {
			t.Errorf("docs/operations.md shows another frame than\n%s", frame)
		}
	}
}

// TestRatesOfSampledFlows are those of the packets that the samples stand for, and unknown
// between two rates of sampling; an entry of the switch counts itself.
func TestRatesOfSampledFlows(t *testing.T) {
	flow := func(second, rate, seen int, entry string) []rows.Row {
		return table(at(second), fmt.Sprintf("SLUICE_FLOW|a,b,000001 src=a dst=b dest_qp=1 sampling_rate=%d seen_packets=%d seen_bytes=%d ce_packets=%d %s", rate, seen, 1000*seen, seen/4, entry))
	}
	f := viewOf(flow(0, 10, 0, ""), flow(2, 10, 40, "")).Flows[0]
	if f.Packets != known(200) || f.Bits != known(1.6e6) || f.Bytes != known(400_000) || f.CE != known(0.25) || f.Sampled != known(10) || f.Resent.known {
		t.Errorf("%+v", f)
	}
	if f := viewOf(flow(0, 5, 0, ""), flow(2, 10, 40, "")).Flows[0]; f.Packets.known || f.Bits.known {
		t.Errorf("the rate of sampling changed: %+v", f)
	}
	if f := viewOf(flow(0, 10, 0, "packets=0 bytes=0"), flow(2, 10, 40, "packets=500 bytes=5000")).Flows[0]; f.Packets != known(250) || f.Bytes != known(5000) || f.Sampled.known || f.CE != known(0.25) {
		t.Errorf("with an entry: %+v", f)
	}
}

// TestSortByPort: by the port that flows come in by, then that they leave by, as people
// read numbers; those without one come last.
func TestSortByPort(t *testing.T) {
	v := viewOf(nil, table(at(0), "SLUICE_FLOW|a dest_qp=1", "SLUICE_FLOW|b dest_qp=2 ingress_port=Ethernet12 egress_port=Ethernet0", "SLUICE_FLOW|c dest_qp=3 ingress_port=Ethernet4 egress_port=Ethernet16",
		"SLUICE_FLOW|d dest_qp=4 ingress_port=Ethernet4 egress_port=Ethernet8", "SLUICE_FLOW|e dest_qp=5 ingress_port=Ethernet4"))
	v.Sort(ByPort)
	got := ""
	for _, f := range v.Flows {
		got += f.ID
	}
	if got != "dceba" {
		t.Errorf("order %s", got)
	}
	if frame := v.Frame(Layout{Width: 80, Order: ByPort}); !strings.Contains(frame, "  IN*  ") {
		t.Error(frame)
	}
}

// TestFindAndSkip: the frame says how many flows are above, and why there is none.
func TestFindAndSkip(t *testing.T) {
	v := viewOf(sampled(recorded(t, "before.json"), 1, false), sampled(recorded(t, "now.json"), 1, true))
	if v.Find("0X00010"); len(v.Flows) != 16 {
		t.Errorf("%d flows have 0x00010 in their queue pair", len(v.Flows))
	}
	l := Layout{Width: 80, Height: 24}
	if n := v.Skip(5); n != 5 || len(v.Flows) != 11 || !strings.Contains(v.Frame(l), "\nand 4 more, 5 above\n") {
		t.Errorf("skipped %d of 16:\n%s", n, v.Frame(l))
	}
	if n := v.Skip(99); n != 10 || len(v.Flows) != 1 || !strings.Contains(v.Frame(l), "\n10 above\n") {
		t.Errorf("skipped %d of 11:\n%s", n, v.Frame(l))
	}
	for text, want := range map[string]int{"ethernet12": 1, "ETHERNET0": 1, "::b": 1, "271": 1, "nowhere": 0} {
		w := *v
		w.Flows = []Flow{{Src: "::A", Dst: "::b", DestQP: known(271), Ingress: "Ethernet0", Egress: "Ethernet12"}}
		if w.Find(text); len(w.Flows) != want {
			t.Errorf("%q: %d flows, want %d", text, len(w.Flows), want)
		}
	}
	v.Find("nowhere")
	if n := v.Skip(3); n != 0 || !strings.Contains(v.Frame(l), `none of the 64 flows has "nowhere" in its addresses, ports or queue pair`) {
		t.Errorf("skipped %d of none:\n%s", n, v.Frame(l))
	}
}
