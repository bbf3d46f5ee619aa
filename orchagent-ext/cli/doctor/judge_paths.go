// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"

	"sluice/orchagent-ext/cli/ways"
)

// Thresholds of max ÷ mean.
const (
	even   = 1.2 // below it paths are even enough
	uneven = 2.0 // from it on they ask for one
	// gain: a way helps that divides max ÷ mean by so much
	gain = 1.1
)

// figures are max ÷ mean of the ways to choose paths, over one number of them.
type figures struct {
	paths                               int
	tuple, now, label, redirect, placed float64
	floor, redirectFloor                float64
	labels, labelled, redirected        bool // ways that the packets and the switch leave
}

// figuresOf returns the figures of a switch; nil: of any.
func figuresOf(t *Traffic, r *ways.Result, on *Switch) figures {
	f := figures{
		paths: r.Paths, tuple: r.FiveTuple.WorstToMean, now: r.Packet.WorstToMean, label: r.ZeroOnly.WorstToMean,
		redirect: r.Redirected.WorstToMean, placed: r.Placed.WorstToMean, floor: r.PlacedFloor, redirectFloor: r.RedirectedFloor,
		labels: r.PlacedFloor > 0, labelled: t.Labeled > 0,
	}
	if f.labelled && on != nil && !on.HashesLabel {
		f.now = f.tuple
	}
	if f.floor == 0 {
		f.floor = f.redirectFloor
	}
	f.labels = f.labels && (on == nil || on.Labels)
	f.redirected = on == nil || on.Redirects
	return f
}

// best returns the least max ÷ mean that a way gives which is left.
func (f *figures) best() float64 {
	v := f.now
	if f.labels {
		v = min(v, f.label, f.placed)
	}
	if f.redirected {
		v = min(v, f.redirect)
	}
	return v
}

// least returns the floor of the ways that are left.
func (f *figures) least() float64 {
	if f.labels {
		return f.floor
	}
	return f.redirectFloor
}

// helps reports whether a way is worth its switching on.
func (f *figures) helps(v float64) bool { return v*gain <= f.now }

// String lists the ways that are left, and the floor of the best of them.
func (f *figures) String() string {
	text, lacks := fmt.Sprintf("%d uplinks, max ÷ mean: now %.2f", f.paths, f.now), ""
	if f.labels {
		text += fmt.Sprintf(" → label %.2f", f.label)
	} else {
		lacks = " (no labels here)"
	}
	if f.redirected {
		text += fmt.Sprintf(" → redirect %.2f", f.redirect)
	}
	if f.labels {
		text += fmt.Sprintf(" → placed %.2f", f.placed)
	}
	return fmt.Sprintf("%s%s; floor %.2f", text, lacks, f.least())
}

// helpsMore reports whether chosen labels are worth it beside those by hash.
func (f *figures) helpsMore() bool { return f.placed*gain <= f.label }

// paths judges the ways to choose paths, a verdict for each number of them.
func paths(t *Traffic, e *Entropy, on *Switch) (all []Verdict) {
	if t.Packets == t.Tunnelled {
		v := say("paths", Unknown, "all data is in tunnels, whose outer headers decide: not computed", "capture the packets before they enter the tunnel")
		v.Numbers = map[string]float64{"tunnelled_packets": float64(t.Tunnelled)}
		return []Verdict{v}
	}
	for i := range t.Paths {
		r := &t.Paths[i]
		f := figuresOf(t, r, on)
		numbers := map[string]float64{
			"uplinks": float64(r.Paths), "now": f.now, "five_tuple": f.tuple, "redirect": f.redirect, "redirect_rules": float64(r.Rules), "redirect_floor": f.redirectFloor, "floor": f.floor,
		}
		if r.PlacedFloor > 0 {
			numbers["label"], numbers["placed"], numbers["moves"] = f.label, f.placed, float64(r.Moves)
		}
		v := say("paths", OK, f.String(), "")
		v.Numbers = numbers
		switch {
		case e.QueuePairBits < spreadBits && e.HostPairs == 1:
			v.Do = "one queue pair has one path"
		case f.now < even:
		case f.helps(f.best()) && f.now >= uneven:
			v.Level = Act
		case f.helps(f.best()):
			v.Level = Note
		case f.least()*gain > f.now:
			v.Level, v.Do = Note, "too few flows for so many uplinks, as these ways divide them"
		default:
			v.Level, v.Do = Note, "no way that this switch has makes it more even"
		}
		all = append(all, v)
	}
	return all
}
