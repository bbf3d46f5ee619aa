// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"sluice/orchagent-ext/export/ipfix"
)

// TestPageHasEveryElement: the page and the files for collectors have every element, as it is.
func TestPageHasEveryElement(t *testing.T) {
	const docs = "../../../docs/ipfix/"
	read := func(name string) string {
		b, err := os.ReadFile(docs + name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(b)), " ")
	}
	page, healthPage, xml, primitives := read("README.md"), read("health.md"), read("elements.xml"), read("pmacct-primitives.map")
	lengths := map[ipfix.Type]int{ipfix.Unsigned8: 1, ipfix.Unsigned16: 2, ipfix.Unsigned32: 4}
	for i, e := range slices.Concat(ipfix.RDMA, ipfix.HealthElements) {
		page := &page
		if i >= len(ipfix.RDMA) {
			page = &healthPage
		}
		pen, id, _ := ipfix.DefaultRegistry.ID(e)
		for text, line := range map[*string]string{
			page:        fmt.Sprintf("| %d | %s | %s | %s |", id, e.Name, e.Type, e.Semantics),
			&xml:        fmt.Sprintf("<cert:enterpriseId>%d</cert:enterpriseId><elementId>%d</elementId><name>%s</name><dataType>%s</dataType><dataTypeSemantics>%s<", pen, id, e.Name, e.Type, e.Semantics),
			&primitives: fmt.Sprintf("name=%s field_type=%d:%d len=%d semantics=u_int", e.Name, pen, id, lengths[e.Type]),
		} {
			if text == &primitives && (i >= len(ipfix.RDMA) || e.Semantics == ipfix.DeltaCounter || e.Type == ipfix.IPv6Address) {
				continue // pmacct has no counters and no second addresses but its own
			}
			if !strings.Contains(*text, line) {
				t.Errorf("docs/ipfix lacks %q", line)
			}
		}
	}
}
