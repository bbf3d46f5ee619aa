// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Need is a function that Sluice wants of a switch. A switch meets it by one of its
// methods, if any.
type Need string

// The needs.
const (
	NeedFlowLabel Need = "flow-label" // ECMP tells RDMA sessions apart
	NeedExport    Need = "export"     // samples of packets come to the CPU
	NeedThreshold Need = "threshold"  // the switch tells which flow fills a queue
	NeedHold      Need = "hold"       // the switch holds a single flow
	NeedPlacement Need = "placement"  // the paths of single flows are chosen
)

// Method is one way for the switch to meet a need.
type Method string

// The methods.
const (
	// flow label: one entry, the pipeline computes and writes the label
	Compute Method = "compute"
	Rewrite Method = "rewrite" // flow label: an entry a flow, the label is computed on the CPU
	// flow label: none is written, ECMP hashes the destination QP, natively
	Hash    Method = "hash"
	UDFHash Method = "udf-hash" // flow label: likewise, as user-defined field
	Sample  Method = "sample"   // export: entries sample what they match
	SFlow   Method = "sflow"    // export: the samples of SONiC's own sFlow
	// export: a mirror session to the CPU samples what comes in by ports
	Mirror Method = "mirror"
	// threshold, hold: of each single flow, by the extension of sai_sluice_ext.h
	Exact Method = "exact"
	// threshold: estimated from the depth of queues, and samples of the packets that go there
	Sampled Method = "sampled"
	// hold: at the sender of the flow, by Rate Advice or CNPs; a node further down passes PFCM on
	Source Method = "source"
	// placement: before the entry of compute, an entry for each of the largest flows; where labels are written by rewrite, its entries have the chosen ones
	Entries Method = "entries"
	// placement: no label is chosen; an entry sends a flow to a next hop, IPv4 and IPv6
	Redirect Method = "redirect"
	None     Method = "none" // no method
)

// methods are those of each need in order of preference.
var methods = map[Need][]Method{
	NeedFlowLabel: {Compute, Rewrite, Hash, UDFHash},
	NeedExport:    {Sample, SFlow, Mirror},
	NeedThreshold: {Exact, Sampled},
	NeedHold:      {Exact, Source},
	NeedPlacement: {Entries, Rewrite, Redirect},
}

// Needs returns all needs, sorted. The slice is the caller's.
func Needs() []Need { return slices.Sorted(maps.Keys(methods)) }

// Methods returns the methods of a need in order of preference. It is nil for an unknown
// need. The slice is shared: it is for reading only.
func (n Need) Methods() []Method { return methods[n] }

// Leaf is the name of the need in rows, which is followed by _method, _reason or _state.
// Leaves of YANG and fields of STATE_DB have underscores.
func (n Need) Leaf() string { return strings.ReplaceAll(string(n), "-", "_") }

// Check returns an error if m is outside the methods of the need. The text of the error
// lists them. [None] is outside.
func (n Need) Check(m Method) error {
	if slices.Contains(methods[n], m) {
		return nil
	}
	return fmt.Errorf("unknown method %q: allowed are %q", m, methods[n])
}

// Ability reports whether the switch supports a method, and the reason if it is
// unsupported.
type Ability struct {
	Can    bool
	Reason string // for the operator: why not; or how it is known
}

// Abilities has a driver's knowledge of the methods of each need. A missing method is
// unsupported.
type Abilities map[Need]map[Method]Ability

// Set records the ability of a method. It replaces a former answer. a must not be nil.
func (a Abilities) Set(n Need, m Method, is Ability) {
	if a[n] == nil {
		a[n] = map[Method]Ability{}
	}
	a[n][m] = is
}

// Equal reports whether others are the same. The reasons count, too.
func (a Abilities) Equal(others Abilities) bool {
	return maps.EqualFunc(a, others, maps.Equal[map[Method]Ability, map[Method]Ability])
}

// clone returns a deep copy.
func (a Abilities) clone() Abilities {
	if a == nil {
		return nil
	}
	all := Abilities{}
	for n, of := range a {
		all[n] = maps.Clone(of)
	}
	return all
}

// State is the degree to which a method is in use.
type State string

// The states.
const (
	Active State = "active" // the switch is as configured: it was read back
	// nothing has used the method yet, or the switch cannot show that it is in force
	Unproven State = "unproven"
	Unmet    State = "none" // there is no method
)

// Choice is the method of a need.
type Choice struct {
	Method Method
	Reason string // why no preferred one; and why it is unproven, where it is in use
	State  State
}

// Choices are those of all needs.
type Choices map[Need]Choice

// Method returns the method of a need. It is [None] for a need without a choice, also
// where c is nil.
func (c Choices) Method(n Need) Method {
	if c[n].Method == "" {
		return None
	}
	return c[n].Method
}

// Chose returns the choice of one method for one need. It has no state and no reason, and
// is for plans without a switch.
func Chose(n Need, m Method) Choices { return Choices{n: {Method: m}} }

// Choose returns the preferred method of a need that the switch supports, or [None]. The
// reason names every better method, with the reason against it.
func (a Abilities) Choose(n Need) Choice {
	if a == nil {
		return Choice{None, "the switch has not been asked, since nothing is to be programmed", Unmet}
	}
	var reasons []string
	for _, m := range methods[n] {
		is, known := a[n][m]
		switch {
		case known && is.Can && reasons == nil:
			return Choice{m, Preferred, Unproven}
		case known && is.Can:
			return Choice{m, strings.Join(reasons, "; "), Unproven}
		case known:
			reasons = append(reasons, fmt.Sprintf("%s: %s", m, is.Reason))
		}
	}
	if reasons == nil {
		reasons = []string{"the driver has no method"}
	}
	return Choice{None, strings.Join(reasons, "; "), Unmet}
}

// Choose takes a method for each need, as far as the policy allows.
func Choose(a Abilities, p Policy, f Features) Choices {
	a = a.clone()
	forbid := func(n Need, m Method, why string) {
		if a[n][m].Can {
			a.Set(n, m, Ability{Reason: why})
		}
	}
	if !p.ManageHash {
		forbid(NeedFlowLabel, Hash, needsHash)
		forbid(NeedFlowLabel, UDFHash, needsHash)
	}
	if x := p.Export; x != nil && x.Rate < f.MinSampling {
		for _, m := range []Method{Sample, Mirror} {
			forbid(NeedExport, m, fmt.Sprintf("sampling_rate %d of SLUICE_IPFIX|global would drown the CPU: at least %d is taken here", x.Rate, f.MinSampling))
		}
	}
	all := Choices{NeedExport: a.Choose(NeedExport)}
	switch export := all[NeedExport]; {
	case !p.SlowsHosts:
		forbid(NeedHold, Source, "no host may be slowed: SLUICE_RATE_ADVICE_HOST has no row")
	case export.Method == None:
		forbid(NeedHold, Source, "samples show which flows the hosts send, and the switch has no method for them: "+export.Reason)
	}
	switch export := all[NeedExport]; {
	case p.Watch == 0:
		forbid(NeedThreshold, Sampled, "no row of SLUICE_THRESHOLD with a port has sampling_rate")
	case export.Method == None:
		forbid(NeedThreshold, Sampled, "samples show which flows go to a queue, and the switch has no method for them: "+export.Reason)
	}
	for n := range methods {
		all[n] = a.Choose(n)
	}
	if p.Label == nil {
		all[NeedFlowLabel] = Choice{None, "flow labels are not enabled", Unmet}
	}
	all[NeedPlacement] = a.choosePlacement(p, all)
	return all
}

// choosePlacement takes a method for placement, beside that of the flow label.
func (a Abilities) choosePlacement(p Policy, all Choices) Choice {
	if p.Placement == nil {
		return Choice{None, "placement is not enabled", Unmet}
	}
	label, export := all[NeedFlowLabel], all[NeedExport]
	a = a.clone()
	for m, over := range placedOver {
		switch is := a[NeedPlacement][m]; {
		case !is.Can:
		case p.Label == nil:
			a.Set(NeedPlacement, m, Ability{Reason: label.Reason})
		case label.Method != over:
			a.Set(NeedPlacement, m, Ability{Reason: fmt.Sprintf("needs the method %s of flow labels, which is %s here", over, label.Method)})
		case m == Entries && export.Method == None:
			a.Set(NeedPlacement, m, Ability{Reason: "samples show which flows are large, and the switch has no method for them: " + export.Reason})
		}
	}
	switch {
	case !a[NeedPlacement][Redirect].Can:
	case label.Method == Compute || label.Method == Rewrite: // a port takes one table, which is that of labels
		a.Set(NeedPlacement, Redirect, Ability{Reason: fmt.Sprintf("labels are written by the method %s, and packets are redirected where none are written", label.Method)})
	case export.Method == None:
		a.Set(NeedPlacement, Redirect, Ability{Reason: "samples show which flows are large, and the switch has no method for them: " + export.Reason})
	}
	return a.Choose(NeedPlacement)
}

// AndPlacement adds the method of placement beside that of the flow label, if the policy
// asks for it and the switch can.
func (c Choices) AndPlacement(p Policy) Choices {
	label := c.Method(NeedFlowLabel)
	for m, over := range placedOver {
		if p.Placement != nil && p.Label != nil && label == over {
			c[NeedPlacement] = Choice{Method: m}
		}
	}
	return c
}

// placedOver is beside which method of the flow label a method of placement works.
var placedOver = map[Method]Method{Entries: Compute, Rewrite: Rewrite}

// Pins reports whether single flows have entries. Then the ledger has a row for each of
// them.
func (c Choices) Pins() bool {
	return c.Method(NeedFlowLabel) == Rewrite || c.Method(NeedPlacement) == Entries
}

// Preferred is the reason of the first of the methods in order of preference.
const Preferred = "preferred method available"

// needsHash is the reason against methods that change the operator's list of hash fields.
const needsHash = "needs manage_switch_hash=true in SLUICE_FLOW_LABEL|global"
