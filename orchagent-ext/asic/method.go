// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"fmt"
	"maps"
	"slices"
)

// Method is one way for the switch to meet a need.
type Method string

// The methods of the flow label.
const (
	Compute Method = "compute"  // one entry: the pipeline computes and writes the label
	Rewrite Method = "rewrite"  // an entry a flow: the label is computed on the CPU
	Hash    Method = "hash"     // no label: ECMP hashes the destination QP, natively
	UDFHash Method = "udf-hash" // no label: ECMP hashes the destination QP as user-defined field
	None    Method = "none"     // no method
)

// The methods that sample packets to the CPU for export.
const (
	Sample Method = "sample" // entries sample what they match
	Mirror Method = "mirror" // a mirror session to the CPU samples what comes in by ports
	SFlow  Method = "sflow"  // the samples of SONiC's own sFlow
)

// FlowLabelMethods lists the methods of the flow label in order of preference.
var FlowLabelMethods = []Method{Compute, Rewrite, Hash, UDFHash}

// Ability says whether the switch can do what a method takes.
type Ability struct {
	Can    bool
	Reason string // for the operator: why not; or how it is known
}

// Methods has what is known of each method of one need, in order of preference.
type Methods struct {
	methods   []Method
	abilities map[Method]Ability
}

// NewMethods returns methods whose abilities are unknown: every method may be tried.
func NewMethods(methods []Method) Methods {
	return Methods{methods, map[Method]Ability{}}
}

func (l Methods) clone() Methods { return Methods{l.methods, maps.Clone(l.abilities)} }

// Set records what is known of a method.
func (l Methods) Set(r Method, a Ability) { l.abilities[r] = a }

// Choose returns the best method that is not known to fail, [None] where all do.
// The reason names every better method, and why it is not taken.
func (l Methods) Choose() (Method, string) {
	reason := ""
	for _, r := range l.methods {
		a, known := l.abilities[r]
		if !known || a.Can {
			if reason == "" {
				reason = "preferred method available"
			}
			return r, reason
		}
		if reason != "" {
			reason += "; "
		}
		reason += fmt.Sprintf("%s: %s", r, a.Reason)
	}
	return None, reason
}

// Only restricts the choice to one method.
func (l Methods) Only(r Method) (Methods, error) {
	if !slices.Contains(l.methods, r) {
		return l, fmt.Errorf("unknown method %q: allowed are %q", r, l.methods)
	}
	return Methods{[]Method{r}, l.abilities}, nil
}
