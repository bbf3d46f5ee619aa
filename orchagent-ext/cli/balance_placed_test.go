// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/evenness"
	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/wire/roce"
)

func TestBalancePlacedIsEven(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.pcap")
	for _, tt := range []struct{ pairs, qps, paths, hash string }{
		{"1", "64", "8", "linux"}, {"1", "64", "8", "crc32"}, {"1", "64", "8", "crc16"}, {"4", "48", "12", "linux"}, {"2", "32", "64", "crc32"},
	} {
		good(t, "gen", file, "--force", "--pairs", tt.pairs, "--qps", tt.qps, "--packets", "3072", "--payload", "4")
		out, _ := good(t, "balance", file, "--json", "--placed", "--paths", tt.paths, "--hash", tt.hash, "--weights", "packets")
		var b balance
		if err := json.Unmarshal([]byte(out), &b); err != nil {
			t.Fatal(err)
		}
		last, hash := b.Spreads[len(b.Spreads)-1], b.Spreads[2]
		if last.By != "5-tuple + placed label" || last.WorstToMean > 1.05 || last.WorstToMean > hash.WorstToMean || b.Placed == nil || b.Placed.Floor != 1 {
			t.Errorf("%+v: %s %.2f, by hash %.2f, placed %+v", tt, last.By, last.WorstToMean, hash.WorstToMean, b.Placed)
		}
	}
	if out, _ := good(t, "balance", file); strings.Contains(out, "placed") {
		t.Errorf("placed without --placed: %s", out)
	}
	if out, _ := good(t, "balance", captures+"rc-send-ipv4.pcap", "--placed"); !strings.Contains(out, "no flow label") {
		t.Errorf("of IPv4: %s", out)
	}
}

// Sizes by Zipf's law, in bursts with pauses: flows move in the pauses, and only then.
func TestBalancePlacedMovesIdleFlows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.pcap")
	good(t, "gen", file, "--qps", "64", "--packets", "1280", "--payload", "4")
	rank := map[uint32]uint64{} // of queue pairs
	for pause, want := range map[int64]bool{100e6: true, 20e6: false} {
		p, err := newPlacement(nil, ecmp.CRC32{}, 4)
		if err != nil {
			t.Fatal(err)
		}
		last := make([]uint64, 4)
		now := int64(1)
		for range 30 {
			clear(last)
			for range 3 { // a burst: every flow, each 1 ms
				now += 1e6
				r, err := capture.Open(t.Context(), file, nil)
				if err != nil {
					t.Fatal(err)
				}
				var packet roce.Packet
				seen := map[uint32]bool{}
				for {
					f, err := r.Next()
					if err == io.EOF {
						break
					}
					if err := f.Parse(&packet, roce.LookLink); err != nil {
						t.Fatal(err)
					}
					weight := uint64(0)
					if qp := packet.DestQP(); packet.Opcode().CarriesData() && !seen[qp] {
						seen[qp] = true
						if rank[qp] == 0 {
							rank[qp] = uint64(len(rank) + 1)
						}
						weight = 100000 / rank[qp]
					}
					label := p.label(&packet, now, weight)
					tuple := ecmp.Tuple{Src: packet.Src(), Dst: packet.Dst(), Proto: 17, SrcPort: packet.SrcPort(), DstPort: roce.UDPPort, FlowLabel: label}
					if weight > 0 {
						last[ecmp.CRC32{}.Path(tuple, true, 4)] += weight
					}
				}
				_ = r.Close()
			}
			now += pause
		}
		got, floor := evenness.Of(last).WorstToMean, p.floor(4)
		moves := p.table.Report().Moves
		if (moves > 0) != want || want && got > 1.05 || floor != 1 {
			t.Errorf("pauses of %d ms: max ÷ mean %.3f after %d moves, floor %.3f", pause/1e6, got, moves, floor)
		}
	}
}
