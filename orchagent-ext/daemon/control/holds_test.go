// SPDX-License-Identifier: Apache-2.0

package control

import (
	"net/netip"
	"testing"

	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// A flow is held, and so does not move, where a hold names its Stream ID, its label, its
// hosts or its class; not where the hold is ignored.
func TestHoldsThatKeepAFlowFromMoving(t *testing.T) {
	f := engine.FlowEntry{Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), DestQP: 5, Label: 0x12345}
	for name, tt := range map[string]struct {
		hold flowcontrol.Hold
		want bool
	}{
		"stream":          {flowcontrol.Hold{Stream: 77}, true},
		"another stream":  {flowcontrol.Hold{Stream: 78}, false},
		"ignored":         {flowcontrol.Hold{Stream: 77, Ignored: true}, false},
		"hosts":           {flowcontrol.Hold{Source: f.Src, Destination: f.Dst}, true},
		"other direction": {flowcontrol.Hold{Source: f.Dst, Destination: f.Src}, false},
		"label":           {flowcontrol.Hold{Match: sai.HoldMatch{Kind: sai.HoldLabel, Value: f.Label}}, true},
		"another label":   {flowcontrol.Hold{Match: sai.HoldMatch{Kind: sai.HoldLabel, Value: 1}}, false},
		"pair":            {flowcontrol.Hold{Match: sai.HoldMatch{Kind: sai.HoldPair, Src: f.Src, Dst: f.Dst}}, true},
		"class":           {flowcontrol.Hold{Match: sai.HoldMatch{Kind: sai.HoldClass, Value: 3}}, true},
	} {
		if got := holds(&flowcontrol.Report{Holds: []flowcontrol.Hold{tt.hold}}, f, 77); got != tt.want {
			t.Errorf("%s: held %v, want %v", name, got, tt.want)
		}
	}
}
