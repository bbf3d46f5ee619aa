// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"sluice/orchagent-ext/flows/flow"
)

// TestPageDescribesTheCode: the page says what the code does.
func TestPageDescribesTheCode(t *testing.T) {
	b, err := os.ReadFile("../../../docs/stream-ids.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(b)), " ")
	k := flow.Key{FlowLabel: 0x6cb3e, SrcPort: 49152}
	copy(k.Src[:], []byte{0x20, 1, 0x0d, 0xb8, 15: 1})
	copy(k.Dst[:], []byte{0x20, 1, 0x0d, 0xb8, 15: 2})
	s := space{prefix: "/sluice/DOMAIN/"}
	lease := func(key string) string { return "`" + strings.Replace(key, "0000000000000000", "LEASE", 1) + "`" }
	_, noID, _ := strings.Cut(flow.ErrNoStreamID.Error(), ": ")
	for _, want := range []string{
		"`" + ByFlowLabel.name(&k) + "`",
		"`" + By5Tuple.name(&k) + "`",
		lease(s.node()), lease(s.ref(s.flows("FLOW"))), strings.Replace(lease(s.ref(s.ids(0xffff))), "ffff", "ID", 1),
		fmt.Sprintf("stays reserved for %s (the quarantine)", Quarantine),
		fmt.Sprintf("free %s after its last renewal", Validity+Quarantine),
		fmt.Sprintf("Stop the nodes for %s", Validity+Quarantine),
		fmt.Sprintf("%s after the last renewal, by its own clock", Validity),
		fmt.Sprintf("etcd frees them %s later at the earliest", Quarantine),
		fmt.Sprintf("renews its lease every %s", Validity/4),
		fmt.Sprintf("notice within %s and", Validity/4),
		fmt.Sprintf("at most %s and the time of a request", Validity/4),
		fmt.Sprintf("elect a leader within %s", Validity-Validity/4),
		fmt.Sprintf("at most %d flows in one transaction", batch),
		fmt.Sprintf("all %d ids are in use | `%s`; asked again after %s", maxClaims, noID, fullPause),
		"`" + ErrLost.Error() + "`",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/stream-ids.md lacks %q", want)
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("%.0f s and %.0f s", Validity.Seconds(), Quarantine.Seconds()); !strings.Contains(string(doc), want) {
		t.Errorf("doc.go lacks %q", want)
	}
}
