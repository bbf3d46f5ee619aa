// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"

	"sluice/orchagent-ext/sim/run"
)

// Parts of a difference, as a share of the time without a feature.
const (
	noticed = 0.01 // a smaller one is none
	percent = 100
)

// Conclusions returns a sentence for each load that ran with two features at least: the fastest one
// and the slowest one, beside the first of the file, by the mean time of the collectives, and what
// of the figures explains it.
func (d *Document) Conclusions() (sentences []string) {
	for _, load := range d.loads {
		if s := d.conclusion(load); s != "" {
			sentences = append(sentences, s)
		}
	}
	return sentences
}

// candidate is a run that ended, and its feature.
type candidate struct {
	feature string
	*run.Result
}

// conclusion is the sentence of a load, "" where there is nothing to compare.
func (d *Document) conclusion(load string) string {
	var all []candidate
	open := 0
	for _, f := range d.features {
		switch r := d.Runs[load][f]; {
		case r == nil:
		case r.Unfinished > 0:
			open++
		default:
			all = append(all, candidate{f, r})
		}
	}
	if len(all)+open < 2 {
		return ""
	}
	if len(all) < 2 || all[0].CollectiveS == 0 {
		return fmt.Sprintf("%s: %d of %d runs did not end within the limit, so that there is nothing to compare.", load, open, len(all)+open)
	}
	base := all[0]
	byTime := func(a, b candidate) int { return cmp.Compare(a.CollectiveS, b.CollectiveS) }
	best, worst := slices.MinFunc(all, byTime), slices.MaxFunc(all, byTime)
	said := fmt.Sprintf("%s: no feature is faster than %s, %s", load, base.feature, span(base.CollectiveS))
	if best.against(base) < -noticed {
		said = fmt.Sprintf("%s: %s is the fastest, %s in place of %s (%.0f %% less)%s",
			load, best.feature, span(best.CollectiveS), span(base.CollectiveS), -percent*best.against(base), best.why(base, true))
	}
	if worst.against(base) > noticed {
		said += fmt.Sprintf("; %s is slower than %s, %s (%.0f %% more)%s", worst.feature, base.feature, span(worst.CollectiveS), percent*worst.against(base), worst.why(base, false))
	}
	if open > 0 {
		said += fmt.Sprintf("; %d of %d runs did not end within the limit", open, len(all)+open)
	}
	return said + "."
}

// against is how much longer a run takes than another one, as a share of that one's time.
func (c candidate) against(base candidate) float64 { return c.CollectiveS/base.CollectiveS - 1 }

// why names the figures by which a run that is faster, or slower, differs from another one, in the
// direction of the time; "" where none does.
func (c candidate) why(base candidate, faster bool) string {
	differs := func(is, was float64) bool {
		if faster {
			is, was = was, is
		}
		return is > was+noticed*max(is, 1)
	}
	said := ""
	add := func(format string, args ...any) {
		if said == "" {
			said = ": "
		} else {
			said += ", "
		}
		said += fmt.Sprintf(format, args...)
	}
	if differs(c.UpWorst, base.UpWorst) {
		add("the fullest uplink has %.2f in place of %.2f times the mean", c.UpWorst, base.UpWorst)
	}
	for _, one := range []struct {
		name    string
		is, was uint64
	}{
		{"drops", c.Drops + c.HoldDrops, base.Drops + base.HoldDrops}, {"repeated packets", c.Repeated, base.Repeated},
		{"pauses", c.Pauses, base.Pauses}, {"CE marks", c.Marks, base.Marks},
	} {
		if differs(float64(one.is), float64(one.was)) {
			add("%d in place of %d %s", one.is, one.was, one.name)
		}
	}
	return said
}
