// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestObserveFilters: a filter shows those records of decode --json that it names, whole.
func TestObserveFilters(t *testing.T) {
	type object = map[string]any
	for _, tt := range []struct {
		file, args string
		want       func(r object) bool
	}{
		{"rc-send-ipv4.pcap", "", func(object) bool { return true }},
		{"rc-send-ipv4.pcap", "--qp 0x45 --src 192.168.70.4", func(r object) bool { return r["src_qp"] == 69.0 }},
		{"rc-send-ipv4.pcap", "--qp 72", func(r object) bool { return r["dst_qp"] == 72.0 || r["src_qp"] == 72.0 }},
		{"rc-send-ipv4.pcap", "--dst 192.168.70.6/32", func(r object) bool { return r["dst"] == "192.168.70.6" }},
		{"rc-send-ipv4.pcap", "--opcode 0x11,send_only", func(r object) bool {
			name := r["opcode_name"].(string)
			return r["opcode"] == 17.0 || strings.Contains(name, "SEND_ONLY")
		}},
		{"cm-rc-write-read-ipv4.pcap", "--opcode read", func(r object) bool { return strings.Contains(r["opcode_name"].(string), "READ") }},
		{"cm-rc-write-read-ipv4.pcap", "--ecn ect0 --ecn ce", func(r object) bool { return r["ecn"] == "ect0" || r["ecn"] == "ce" }},
		{"cnp-uc-icrc-vectors-ipv4.pcap", "--cnp --nak", func(r object) bool { return r["opcode"] == 129.0 }},
	} {
		var want, got []object
		for _, r := range records(t, captures+tt.file) {
			if tt.want(r) {
				want = append(want, r)
			}
		}
		out, _ := good(t, append(strings.Fields("observe --json "+tt.args), captures+tt.file)...)
		for line := range strings.Lines(out) {
			var r object
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			got = append(got, r)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: decode (-), observe %s (+):\n%s", tt.file, tt.args, diff)
		}
		text, summary := good(t, append(strings.Fields("observe "+tt.args), captures+tt.file)...)
		if lines := strings.Count(text, "\n") - 1; lines != len(want) {
			t.Errorf("%s: observe %s: %d lines, want %d", tt.file, tt.args, lines, len(want))
		}
		if shown := fmt.Sprintf("; %d shown", len(want)); tt.args != "" && !strings.Contains(summary, shown) {
			t.Errorf("%s: observe %s: %q does not say %q", tt.file, tt.args, summary, shown)
		}
	}
	if out, _ := good(t, "observe", "--count", "3", captures+"rc-send-ipv4.pcap"); strings.Count(out, "\n") != 4 {
		t.Errorf("--count 3:\n%s", out)
	}
}
