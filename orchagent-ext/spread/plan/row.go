// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"

	"sluice/orchagent-ext/spread/placement"
)

// A Row is a leaf's report to the planner, as JSON under its own name.
type Row struct {
	Leaf string `json:"leaf"`
	// weight of its links to each spine, in any unit; 0: no link
	Spines   map[string]float64 `json:"spines"`
	Demand   []Demand           `json:"demand"`
	Received map[string]float64 `json:"received,omitempty"` // octets/s from each spine
	Sent     map[string]float64 `json:"sent,omitempty"`     // likewise to each
	Prefixes []string           `json:"prefixes,omitempty"` // of IPv6, behind the leaf

	// Placed has the octets/s of the demand, by size class, that go by each spine to each
	// leaf now: the part that a plan could change. It is empty where it would exceed the
	// bounds.
	Placed map[string]map[string]float64 `json:"placed,omitempty"`
}

// Demand is how many flows of a size class ([placement.Class]) go to a destination leaf.
type Demand struct {
	Leaf  string `json:"leaf"`
	Class int    `json:"class"`
	Flows uint32 `json:"flows"`
}

// Bounds of the rows of others.
const (
	MaxRowOctets = 512 << 10
	MaxSpines    = 256
	MaxDemands   = 8192
	MaxFlows     = 1 << 20 // of one row
	MaxLeaves    = 1024
	MaxPrefixes  = 4096 // of one row
	MaxPlaced    = 4096 // numbers of one row
	maxName      = 255
	maxWeight    = 1e15
)

// An Aside is a row that was set aside, and why.
type Aside struct {
	Key    string
	Reason error
}

// Read returns the rows that can be used, ordered by leaf, and those that cannot. rows
// are by key, which is the leaf's name.
func Read(rows map[string][]byte) (good []Row, aside []Aside) {
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		row, err := ParseRow(rows[key])
		switch {
		case err == nil && row.Leaf != key:
			err = fmt.Errorf("it is of leaf %.255q", row.Leaf)
		case err == nil && len(good) == MaxLeaves:
			err = fmt.Errorf("more than %d leaves", MaxLeaves)
		}
		if err != nil {
			aside = append(aside, Aside{key, err})
			continue
		}
		good = append(good, row)
	}
	return good, aside
}

// ParseRow decodes a row and checks every bound.
func ParseRow(text []byte) (r Row, err error) {
	if err := decode(text, &r); err != nil {
		return Row{}, err
	}
	if err := r.check(); err != nil {
		return Row{}, err
	}
	return r, nil
}

// decode parses JSON of at most MaxRowOctets, which other leaves write; data after the
// value is an error.
func decode(text []byte, to any) error {
	if len(text) > MaxRowOctets {
		return fmt.Errorf("%d octets: at most %d are possible", len(text), MaxRowOctets)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more text after the JSON object")
	}
	return nil
}

// check returns the first value of the row that is out of bounds, or nil.
func (r *Row) check() error {
	if err := checkName("leaf", r.Leaf); err != nil {
		return err
	}
	if len(r.Spines) > MaxSpines || len(r.Received) > MaxSpines || len(r.Sent) > MaxSpines {
		return fmt.Errorf("%d spines, received of %d, sent to %d: at most %d are possible", len(r.Spines), len(r.Received), len(r.Sent), MaxSpines)
	}
	if len(r.Prefixes) > MaxPrefixes {
		return fmt.Errorf("%d prefixes: at most %d are possible", len(r.Prefixes), MaxPrefixes)
	}
	for _, text := range r.Prefixes {
		if p, err := netip.ParsePrefix(text); err != nil || !p.Addr().Is6() || p.Bits() == 0 || p != p.Masked() {
			return fmt.Errorf("%.50q: a prefix of IPv6, longer than 0, whose other bits are 0, is possible", text)
		}
	}
	for _, numbers := range []map[string]float64{r.Spines, r.Received, r.Sent} {
		if err := checkSpines(numbers); err != nil {
			return err
		}
	}
	if err := r.checkPlaced(); err != nil {
		return err
	}
	if len(r.Demand) > MaxDemands {
		return fmt.Errorf("%d demands: at most %d are possible", len(r.Demand), MaxDemands)
	}
	flows := uint64(0)
	seen := make(map[Demand]bool, len(r.Demand))
	for _, d := range r.Demand {
		if err := checkName("destination leaf", d.Leaf); err != nil {
			return err
		}
		if d.Class < 0 || d.Class >= placement.Classes {
			return fmt.Errorf("class %d: 0 to %d are possible", d.Class, placement.Classes-1)
		}
		if flows += uint64(d.Flows); flows > MaxFlows {
			return fmt.Errorf("more than %d flows", MaxFlows)
		}
		d.Flows = 0
		if seen[d] {
			return fmt.Errorf("class %d to leaf %q is there twice", d.Class, d.Leaf)
		}
		seen[d] = true
	}
	return nil
}

// checkSpines returns an error for a name or a number that is out of bounds; NaN is.
func checkSpines(numbers map[string]float64) error {
	for spine, x := range numbers {
		if err := checkName("spine", spine); err != nil {
			return err
		}
		if !(x >= 0 && x <= maxWeight) {
			return fmt.Errorf("spine %q has %v: 0 to %v are possible", spine, x, float64(maxWeight))
		}
	}
	return nil
}

// placed is how many numbers Placed has.
func (r *Row) placed() (n int) {
	for _, by := range r.Placed {
		n += len(by)
	}
	return n
}

// checkPlaced is check for Placed.
func (r *Row) checkPlaced() error {
	for leaf, by := range r.Placed {
		if err := checkName("destination leaf", leaf); err != nil {
			return err
		}
		if err := checkSpines(by); err != nil {
			return err
		}
	}
	if n := r.placed(); n > MaxPlaced {
		return fmt.Errorf("placed has %d numbers: at most %d are possible", n, MaxPlaced)
	}
	return nil
}

// Trim orders the demand, and leaves out the smallest flows above the bounds of a row.
// Placed is kept as a whole, or dropped.
func (r *Row) Trim() {
	slices.SortFunc(r.Demand, func(a, b Demand) int { return cmp.Or(b.Class-a.Class, cmp.Compare(a.Leaf, b.Leaf)) })
	r.Demand = r.Demand[:min(len(r.Demand), MaxDemands)]
	room := uint32(MaxFlows)
	for i := range r.Demand {
		r.Demand[i].Flows = min(r.Demand[i].Flows, room)
		room -= r.Demand[i].Flows
	}
	if r.placed() > MaxPlaced {
		r.Placed = nil
	}
}

// checkName returns an error for an empty or a long name; what is the kind of name.
func checkName(what, name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("the name of a %s has %d octets: 1 to %d are possible", what, len(name), maxName)
	}
	return nil
}

// Uneven returns max ÷ mean of a leaf's rates from its spines, or to them, by weight:
// the worst of all leaves with at least a tenth of the busiest one's rate. It decides
// whether a new plan is worth its moves. It is 0 without load.
func Uneven(rows []Row) float64 {
	received := func(r *Row) map[string]float64 { return r.Received }
	sent := func(r *Row) map[string]float64 { return r.Sent }
	return max(unevenly(rows, received), unevenly(rows, sent))
}

// UnevenPlaced returns the [Uneven] of the flows that a plan can move, by size class: as
// much as a plan can change. It is 0 without such flows, and if Placed is missing in a
// row.
func UnevenPlaced(rows []Row) float64 {
	placed := make([]Row, len(rows))
	at := make(map[string]int, len(rows))
	for i := range rows {
		at[rows[i].Leaf] = i
		placed[i] = Row{Spines: rows[i].Spines, Sent: map[string]float64{}, Received: map[string]float64{}}
	}
	for i := range rows {
		if len(rows[i].Placed) == 0 && len(rows[i].Demand) > 0 { // there is more than fits
			return 0
		}
		for leaf, by := range rows[i].Placed {
			to, known := at[leaf]
			if !known || to == i {
				continue
			}
			for spine, x := range by {
				placed[i].Sent[spine] += x
				placed[to].Received[spine] += x
			}
		}
	}
	return Uneven(placed)
}

// idleShare is the part of the busiest leaf's load below which a leaf is ignored.
const idleShare = 0.1

// unevenly returns the max ÷ mean of load by weight over all rows. It sums in a fixed
// order, so that all leaves get the same result.
func unevenly(rows []Row, load func(*Row) map[string]float64) (worst float64) {
	total := func(r *Row) (sum, weight float64) {
		// in order: a sum depends on it
		for _, spine := range slices.Sorted(maps.Keys(r.Spines)) {
			if w := r.Spines[spine]; w > 0 {
				sum += load(r)[spine]
				weight += w
			}
		}
		return sum, weight
	}
	busiest := 0.0
	for i := range rows {
		sum, _ := total(&rows[i])
		busiest = max(busiest, sum)
	}
	for i := range rows {
		sum, weight := total(&rows[i])
		if sum <= 0 || sum < busiest*idleShare {
			continue
		}
		for spine, w := range rows[i].Spines {
			if w > 0 {
				worst = max(worst, load(&rows[i])[spine]/w/(sum/weight))
			}
		}
	}
	return worst
}
