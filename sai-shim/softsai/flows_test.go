// SPDX-License-Identifier: Apache-2.0

package softsai_test

import "testing"

// Attributes of sai_sluice_ext.h.
const (
	attrExtension = "u64:0x10000000" // of the switch
)

// magic is the upper half of what the handshake answers.
const magic = 0x534c5549

// The switch answers the handshake of the extension, and does not where the profile
// hides it.
func TestHandshake(t *testing.T) {
	enterNamespace(t)
	link(t, "in", "source")
	d := startDriver(t)
	id := d.id("switch SLUICE_PORTS=in")
	if v := d.number("get switch %s %s", id, attrExtension); v>>32 != magic || uint32(v) != 1 {
		t.Errorf("handshake %#x", v)
	}
	d.do("remove-switch")
	d.stop()

	d = startDriver(t)
	id = d.id("switch SLUICE_PORTS=in SLUICE_HIDE=extension")
	if status, _ := d.try("get switch %s %s", id, attrExtension); status != -327680 {
		t.Errorf("status %d of what is hidden", status)
	}
}
