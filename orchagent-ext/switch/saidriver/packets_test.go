// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/switch/engine"
	"sluice/sai-shim/saitest"
)

// Where the library refuses the callback for packets to the CPU, no method that lives on
// such packets is in force, and the reason names the callback. A failure that passes is
// repeated.
func TestMethodsThatNeedPacketsNeedTheCallback(t *testing.T) {
	library := saitest.New(t)
	const noCompute = "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"
	for name, tt := range map[string]struct {
		fail, hide     string
		label, export  engine.Method
		placement      engine.Method
		labelWhy, also string // in the reasons of labels, and of export
	}{
		"taken":                {"create hash 99 -1", noCompute, engine.Rewrite, engine.Sample, engine.Rewrite, "", ""},
		"passes":               {"set switch.PACKET_EVENT_NOTIFY 0 -1 1", noCompute, engine.Rewrite, engine.Sample, engine.Rewrite, "", ""},
		"refused":              {"set switch.PACKET_EVENT_NOTIFY 0 -2", noCompute, engine.Hash, engine.None, engine.None, "PACKET_EVENT_NOTIFY", "PACKET_EVENT_NOTIFY"},
		"fails":                {"set switch.PACKET_EVENT_NOTIFY 0 -1", noCompute, engine.Hash, engine.None, engine.None, "PACKET_EVENT_NOTIFY", "PACKET_EVENT_NOTIFY"},
		"refused with compute": {"set switch.PACKET_EVENT_NOTIFY 0 -15", "", engine.Compute, engine.None, engine.None, "", "PACKET_EVENT_NOTIFY"},
	} {
		t.Run(name, func(t *testing.T) {
			p := openPlace(t, library, "FAIL", tt.fail, "HIDE", tt.hide)
			e := newTestEngine(t, p.driver(), &fakeLedger{})
			o := settle(t, e, faultPolicy())
			label, export, placement := o.Choices[engine.NeedFlowLabel], o.Choices[engine.NeedExport], o.Choices[engine.NeedPlacement]
			if label.Method != tt.label || label.State != engine.Active || !strings.Contains(label.Reason, tt.labelWhy) {
				t.Errorf("labels by %+v", label)
			}
			if export.Method != tt.export || !strings.Contains(export.Reason, tt.also) {
				t.Errorf("export by %+v", export)
			}
			if placement.Method != tt.placement || !strings.Contains(placement.Reason, tt.also) {
				t.Errorf("placement by %+v", placement)
			}
		})
	}
}
