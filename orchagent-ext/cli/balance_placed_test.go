// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
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
	if out, _ := good(t, "balance", captures+"rc-send-ipv4.pcap", "--placed"); !strings.Contains(out, "no flow label in 68 of 68 packets: IPv4 has none\nredirect (docs/redirect.md): max ÷ mean 7.98 with 1 rule; no rules are below 7.98, as a 5-tuple is one flow") {
		t.Errorf("of IPv4: %s", out)
	}
}
