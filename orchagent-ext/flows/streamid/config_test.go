// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/host/etcd"
)

func TestBadConfigurationsAreRefused(t *testing.T) {
	good := etcd.Config{Endpoints: []string{"http://10.0.0.1:2379"}}
	for want, c := range map[string]Config{
		"": {Config: good},
		"classification 2: 0 (flow label) and 1 (5-tuple) are allowed":                 {Config: good, Classification: 2},
		"global stream ids: no endpoint of etcd: one at least is needed, like http://": {},
	} {
		_, err := New(c)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

//conformance:draft-yang/by-5-tuple
func TestNamesAreCanonical(t *testing.T) {
	k := flow.Key{FlowLabel: 0xabc, DestQP: 7, SrcQP: 8, SrcPort: 49152, PKey: 9}
	k.Src, k.Dst = [16]byte{0x20, 1, 15: 1}, [16]byte{10: 0xff, 11: 0xff, 12: 10, 15: 2}
	for c, want := range map[Classification]string{
		ByFlowLabel: "2001::1,10.0.0.2,label=0x00abc",
		By5Tuple:    "2001::1,10.0.0.2,port=49152",
	} {
		if got := c.name(&k); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	other := k
	other.DestQP, other.SrcQP, other.PKey = 1, 2, 3
	for _, c := range []Classification{ByFlowLabel, By5Tuple} {
		if c.name(&k) != c.name(&other) || c.first(5, &k) != c.first(5, &other) {
			t.Errorf("classification %d: queue pairs tell flows apart", c)
		}
	}
	if got, want := ByFlowLabel.first(5, &k), flow.HashStreamID(5, k.Src, k.Dst, k.FlowLabel); got != want {
		t.Errorf("the first id is %d, want %d as in scope hash", got, want)
	}
}
