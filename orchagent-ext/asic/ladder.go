package asic

import (
	"fmt"
	"maps"
	"slices"
)

// Rung is one means to a need, of a ladder whose best means stands first.
type Rung string

// The rungs of the flow label.
const (
	Compute Rung = "compute"  // one entry: the pipeline computes and writes the label
	Rewrite Rung = "rewrite"  // an entry a flow: the label is computed on the CPU
	Hash    Rung = "hash"     // no label: ECMP hashes the destination QP, natively
	UDFHash Rung = "udf-hash" // no label: ECMP hashes the destination QP as user-defined field
	None    Rung = "none"     // nothing helps
)

// The means to sample packets to the CPU for export.
const (
	Sample Rung = "sample" // entries sample what they match
	Mirror Rung = "mirror" // a mirror session to the CPU samples what comes in by ports
	SFlow  Rung = "sflow"  // the samples of SONiC's own sFlow
)

// FlowLabelRungs is the ladder of the flow label.
var FlowLabelRungs = []Rung{Compute, Rewrite, Hash, UDFHash}

// Ability says whether the switch can do what a rung takes.
type Ability struct {
	Can    bool
	Reason string // for the operator: why not; or how it is known
}

// Ladder is what is known of each rung of one need.
type Ladder struct {
	rungs     []Rung
	abilities map[Rung]Ability
}

// NewLadder returns a ladder of which nothing is known: every rung may be tried.
func NewLadder(rungs []Rung) Ladder {
	return Ladder{rungs, map[Rung]Ability{}}
}

func (l Ladder) clone() Ladder { return Ladder{l.rungs, maps.Clone(l.abilities)} }

// Set notes what is known of a rung.
func (l Ladder) Set(r Rung, a Ability) { l.abilities[r] = a }

// Choose returns the best rung that is not known to fail, [None] where all do.
// The reason names every better rung, and why it is not taken.
func (l Ladder) Choose() (Rung, string) {
	reason := ""
	for _, r := range l.rungs {
		a, known := l.abilities[r]
		if !known || a.Can {
			if reason == "" {
				reason = "the best there is"
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

// Only returns a ladder of one rung, for operators that want no other.
func (l Ladder) Only(r Rung) (Ladder, error) {
	if !slices.Contains(l.rungs, r) {
		return l, fmt.Errorf("%q is no rung: it is one of %q", r, l.rungs)
	}
	return Ladder{[]Rung{r}, l.abilities}, nil
}
