// SPDX-License-Identifier: Apache-2.0

package engine

import "testing"

// A hash takes the queue pair and not the octet before it, whose congestion bits
// change within a flow. ACL entries have masks of their own.
func TestOnlyTheQueuePairIsHashed(t *testing.T) {
	for method, want := range map[Method]string{UDFHash: "0x00ffffff", Rewrite: ""} {
		found := false
		for _, o := range Objects(policy("Ethernet0"), Chose(NeedFlowLabel, method), Features{}) {
			if o.Type != TypeUDF {
				continue
			}
			found = true
			mask := ""
			for _, a := range o.Attrs {
				if a.Name == "SAI_UDF_ATTR_HASH_MASK" {
					mask = a.Value
				}
			}
			if mask != want {
				t.Errorf("%s: mask %q, want %q", method, mask, want)
			}
		}
		if !found {
			t.Errorf("%s: no UDF", method)
		}
	}
}

// TestOnlyWhatIsPolicedHasAPolicer: samples are bound by their rate: where no entry copies
// to the CPU there is no policer, and each trap has its way to the CPU.
func TestOnlyWhatIsPolicedHasAPolicer(t *testing.T) {
	f := Features{PoliceCPU: true, TrapRoute: true, Opcode: true}
	for _, export := range []*Export{nil, {Rate: 1000, Ports: []string{"Ethernet0"}}, {Rate: 1000, CM: true, Ports: []string{"Ethernet0"}}} {
		for _, method := range append(NeedFlowLabel.Methods(), None) {
			p := policy("Ethernet0")
			p.CPU, p.Export = CPU{Rate: 100, Burst: 10}, export
			is := map[Type]int{}
			for _, o := range Objects(p, Chose(NeedFlowLabel, method), f) {
				is[o.Type]++
			}
			copies := 0
			if method == Rewrite || export != nil && export.CM {
				copies = 1
			}
			for _, kind := range []Type{TypeUserTrap, TypeTrapRoute, TypePolicer, TypeTrapGroup} {
				if is[kind] != copies {
					t.Errorf("%s, export %+v: %d objects %s, want %d", method, export, is[kind], kind, copies)
				}
			}
		}
	}
}
