// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

// Headline returns one sentence about all loads: the feature by which their collectives gain most on the
// average beside the first one, and in which loads one is slower. It is "" with a single run.
func (d *Document) Headline() string {
	gains := map[string][]float64{} // by feature
	loads := 0
	var slower []string
	base := ""
	for _, load := range d.loads {
		all, _ := d.ended(load)
		if len(all) < 2 || all[0].CollectiveS == 0 {
			continue
		}
		loads++
		base = all[0].feature
		for _, c := range all[1:] {
			gain := c.against(all[0])
			gains[c.feature] = append(gains[c.feature], gain)
			if gain > noticed {
				slower = append(slower, fmt.Sprintf("%s in %s (%.0f %% more)", c.feature, load, percent*gain))
			}
		}
	}
	if loads == 0 {
		return ""
	}
	best, least := "", -noticed
	for _, f := range d.features {
		sum := 0.0
		for _, gain := range gains[f] {
			sum += gain
		}
		if mean := sum / float64(loads); len(gains[f]) == loads && mean < least {
			best, least = f, mean
		}
	}
	over := "the load"
	if loads > 1 {
		over = fmt.Sprintf("the %d loads", loads)
	}
	said := fmt.Sprintf("No feature makes %s faster than %s does", over, base)
	if best != "" {
		said = fmt.Sprintf("%s helps %s most: %.0f %% less time than %s", best, over, -percent*least, base)
		if loads > 1 {
			said += " on the average"
		}
	}
	if len(slower) > 0 {
		said += "; slower: " + strings.Join(slower, ", ")
	}
	return said + "."
}

// ended returns the runs of a load that ended, in the order of the file, and how many go on.
func (d *Document) ended(load string) (all []candidate, open int) {
	for _, f := range d.features {
		switch r := d.Runs[load][f]; {
		case r == nil:
		case r.Unfinished > 0:
			open++
		default:
			all = append(all, candidate{f, r})
		}
	}
	return all, open
}

// candidate is a run that ended, and its feature.
type candidate struct {
	feature string
	*run.Result
}

// conclusion is the sentence of a load, "" where there is nothing to compare.
func (d *Document) conclusion(load string) string {
	all, open := d.ended(load)
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
// direction of the time; or that other messages are the reason.
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
	if differs(c.DownWorst, base.DownWorst) {
		add("the fullest downlink %.2f in place of %.2f", c.DownWorst, base.DownWorst)
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
	if deepest := "the deepest queue has %.0f in place of %.0f kB"; said == "" && differs(float64(c.DeepestQueue), float64(base.DeepestQueue)) {
		add(deepest, float64(c.DeepestQueue)/1000, float64(base.DeepestQueue)/1000)
	}
	if said == "" {
		add("no link, mark, pause or drop explains it: other messages meet in the queues")
	}
	return said
}
