// SPDX-License-Identifier: Apache-2.0

package packetpath

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"sluice/orchagent-ext/cpu/packetio"
	"sluice/orchagent-ext/daemon/status"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/rows"
)

// heard is a source of one burst of frames, which ends the reader after a few calls.
type heard struct {
	frames []packetio.Frame
	ends   int // calls of Receive
	cancel context.CancelFunc
}

func (h *heard) Receive(ctx context.Context, frames []packetio.Frame) (int, error) {
	if h.ends--; h.ends < 0 {
		h.cancel()
		return 0, ctx.Err()
	}
	n := copy(frames, h.frames)
	h.frames = h.frames[n:]
	return n, nil
}

func datagram(t *testing.T, srcQP, dstQP uint32) packetio.Frame {
	t.Helper()
	return packetTo(t, roce.BTH{Opcode: roce.UDSendOnly, DestQP: dstQP}, roce.DETH{SrcQP: srcQP}.Append(nil))
}

func packetTo(t *testing.T, h roce.BTH, behind []byte) packetio.Frame {
	t.Helper()
	b := roce.Ethernet{EtherType: roce.EtherTypeIPv6}.Append(nil)
	ip := len(b)
	b = roce.IPv6Header{TrafficClass: 3, FlowLabel: 5, NextHeader: 17, HopLimit: 64, Src: [16]byte{0: 0x20, 15: 1}, Dst: [16]byte{0: 0x20, 15: 2}}.Append(b)
	b = roce.UDPHeader{SrcPort: 50000, DstPort: roce.UDPPort}.Append(b)
	b, err := roce.Finish(append(append(h.Append(b), behind...), make([]byte, 64)...), ip)
	if err != nil {
		t.Fatal(err)
	}
	return packetio.Frame{Data: b, Length: len(b), From: 7}
}

// TestHealthRows: the row of a flow with an entry has how it fares beside what it had; the
// heaviest of the others have rows of their own, up to as many as there may be; datagrams
// of several queue pairs to one are one row, of one its source queue pair is told, and how it
// is known; samples tell nothing of PSNs.
func TestHealthRows(t *testing.T) {
	frames := []packetio.Frame{datagram(t, 0x70, 0x33), datagram(t, 0x71, 0x33), datagram(t, 0x70, 0x55)}
	for psn := range uint32(5) {
		if psn != 3 {
			frames = append(frames, packetTo(t, roce.BTH{Opcode: roce.RCSendOnly, DestQP: 0x11, PSN: psn}, nil), packetTo(t, roce.BTH{Opcode: roce.RCSendOnly, DestQP: 0x22, PSN: psn}, nil))
		}
	}
	frames = append(frames, packetTo(t, roce.BTH{Opcode: roce.RCAck, DestQP: 0x44}, roce.AETH{Syndrome: 0x20}.Append(nil)))
	for _, whole := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		settings := &readerSettings{chance: 1, health: packetio.Health{Whole: whole}}
		source := &heard{frames: frames, ends: 3, cancel: cancel}
		r := &reader{Reader: packetio.New(source, packetio.Config{Health: &settings.health}), settings: settings}
		port := func(n uint64) string { return fmt.Sprintf("Ethernet%d", n) }
		entry, zero := "2000::1,2000::2,000011", uint64(0)
		known := func() []*telemetry.Flow {
			return []*telemetry.Flow{{Id: &entry, Src: telemetry.Text("2000::1"), Dst: telemetry.Text("2000::2"), Packets: &zero, IngressPort: telemetry.Text("Ethernet4")}}
		}
		if got := r.health(known(), port); len(got) != 1 || got[0].SeenPackets != nil {
			t.Fatalf("before there is a report: %+v", got)
		}
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a report that is shown twice counts once
			got := map[string]map[string]string{}
			for _, f := range r.health(known(), port) {
				row, err := rows.Encode(f)
				if err != nil {
					t.Fatal(err)
				}
				got[row.Key] = row.Fields
			}
			expect := func(key string, want map[string]string) {
				t.Helper()
				for name, v := range want {
					if got[key][name] != v {
						t.Errorf("whole %v: %s: %s is %q, want %q", whole, key, name, got[key][name], v)
					}
				}
			}
			psn := map[string]string{"psn_gaps": "1", "psn_missing": "1", "psn_lost": "1", "psn_resumed": "0", "messages": "4", "message_bytes_p50": "64", "payload_bytes": "256"}
			if !whole {
				for name := range psn {
					psn[name] = ""
				}
			}
			expect(entry, psn)
			expect(entry, map[string]string{"packets": "0", "ingress_port": "Ethernet4", "seen_packets": "4", "ce_packets": "4", "sampling_rate": "1", "flow_label": ""})
			expect("2000::1,2000::2,000022", psn)
			expect("2000::1,2000::2,000022", map[string]string{"packets": "", "src": "2000::1", "dest_qp": "34", "flow_label": "5", "src_port": "50000", "ingress_port": "Ethernet7", "naks_rnr": "0"})
			expect("2000::1,2000::2,000033", map[string]string{"seen_packets": "2", "src_qp": "", "src_qp_from": "", "psn_gaps": map[bool]string{true: "0"}[whole]})
			expect("2000::1,2000::2,000055", map[string]string{"seen_packets": "1", "src_qp": "112", "src_qp_from": "deth"})
			expect("2000::1,2000::2,000044", map[string]string{"naks_rnr": "1", "acks": "0"})
			if len(got) != 5 {
				text, _ := json.Marshal(got)
				t.Errorf("%s", text)
			}
		}
		full := make([]*telemetry.Flow, status.FlowRows-1)
		for i := range full {
			id := fmt.Sprint(i)
			full[i] = &telemetry.Flow{Id: &id}
		}
		if got := r.health(full, port); len(got) != status.FlowRows || *got[status.FlowRows-1].DestQp == 0x44 {
			t.Errorf("%d rows, the last of %v", len(got), got[len(got)-1].DestQp)
		}
	}
	if got := new(Path).Health(nil, nil); got != nil {
		t.Errorf("%v", got)
	}
}
