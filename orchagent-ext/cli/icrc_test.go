// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFlowsCountWrongICRCs: an octet of a payload that changed makes one ICRC wrong, and
// nothing else is otherwise.
func TestFlowsCountWrongICRCs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "in.pcap")
	good(t, "gen", file, "--packets", "640", "--payload", "256")
	for _, options := range []string{"", "--health"} {
		args := append([]string{"decode", "--flows", "--icrc", file}, strings.Fields(options)...)
		out, said := good(t, args...)
		if !strings.Contains(said, "; ICRC: 800 right, 0 wrong, 0 cut; ") {
			t.Fatal(said)
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		const inPayload = 24 + 16 + 14 + 40 + 8 + 12 + 16 + 9 // of the first packet: headers of file, packet, Ethernet, IPv6, UDP, BTH, RETH
		content[inPayload] ^= 1
		changed := file + ".changed"
		if err := os.WriteFile(changed, content, 0o600); err != nil {
			t.Fatal(err)
		}
		args[3] = changed
		after, said := good(t, args...)
		if !strings.Contains(said, "; ICRC: 799 right, 1 wrong, 0 cut; ") || after != out {
			t.Errorf("%s; changed: %v", said, after != out)
		}
	}
}

func TestICRCNeedsFlows(t *testing.T) {
	if _, said, code := sluice(nil, "decode", "--icrc", captures+"rc-send-ipv4.pcap"); code == 0 || !strings.Contains(said, "--icrc goes with --flows") {
		t.Errorf("exit code %d, %s", code, said)
	}
}
