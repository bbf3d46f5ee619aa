// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"
)

func TestNearestNameIsWhatWasMeant(t *testing.T) {
	names := []string{"SLUICE", "SLUICE_FLOW_LABEL", "SLUICE_PORT", "SLUICE_PPFC", "SLUICE_PFCM"}
	for name, want := range map[string]string{
		"SLUICE_FLOWLABEL": "SLUICE_FLOW_LABEL", "sluice-flow-label": "SLUICE_FLOW_LABEL", "SLUICE_PORTS": "SLUICE_PORT",
		"SLUICE_PROT": "SLUICE_PORT", "SLUICE_PFC": "SLUICE_PPFC", "foo": "", "SLUICE_COLLECTORS_OF_IPFIX": "", "": "", "x": "", strings.Repeat("SLUICE", 50): "",
	} {
		if got := Nearest(name, names); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := Nearest("x", nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
}
