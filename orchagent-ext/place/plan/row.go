// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"sluice/orchagent-ext/place"
)

// A Row is what a leaf tells the planner, as JSON under its own name.
type Row struct {
	Leaf     string             `json:"leaf"`
	Spines   map[string]float64 `json:"spines"` // weight of its links to each spine, in any unit; 0: no link
	Demand   []Demand           `json:"demand"`
	Received map[string]float64 `json:"received,omitempty"` // octets/s from each spine
}

// Demand is how many flows of a size class ([place.Class]) go to a destination leaf.
type Demand struct {
	Leaf  string `json:"leaf"`
	Class int    `json:"class"`
	Flows uint32 `json:"flows"`
}

// Bounds of what others may write.
const (
	MaxRowOctets = 512 << 10
	MaxSpines    = 256
	MaxDemands   = 8192
	MaxFlows     = 1 << 20 // of one row
	MaxLeaves    = 1024
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

func (r *Row) check() error {
	if err := checkName("leaf", r.Leaf); err != nil {
		return err
	}
	if len(r.Spines) > MaxSpines || len(r.Received) > MaxSpines {
		return fmt.Errorf("%d spines, received of %d: at most %d are possible", len(r.Spines), len(r.Received), MaxSpines)
	}
	for _, numbers := range []map[string]float64{r.Spines, r.Received} {
		for spine, x := range numbers {
			if err := checkName("spine", spine); err != nil {
				return err
			}
			if !(x >= 0 && x <= maxWeight) {
				return fmt.Errorf("spine %q has %v: 0 to %v are possible", spine, x, float64(maxWeight))
			}
		}
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
		if d.Class < 0 || d.Class >= place.Classes {
			return fmt.Errorf("class %d: 0 to %d are possible", d.Class, place.Classes-1)
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

func checkName(what, name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("the name of a %s has %d octets: 1 to %d are possible", what, len(name), maxName)
	}
	return nil
}

// Uneven is the worst ÷ mean of what a leaf receives from its spines, by weight: the
// worst of all leaves that receive at least a tenth of what the busiest does. It says
// whether a new plan is worth its moves. 0: no leaf receives anything.
func Uneven(rows []Row) (worst float64) {
	total := func(r *Row) (sum, weight float64) {
		for spine, w := range r.Spines {
			if w > 0 {
				sum += r.Received[spine]
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
		if sum <= 0 || sum < busiest/10 {
			continue
		}
		for spine, w := range rows[i].Spines {
			if w > 0 {
				worst = max(worst, rows[i].Received[spine]/w/(sum/weight))
			}
		}
	}
	return worst
}
