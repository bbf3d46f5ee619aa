// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Limits of a fight with another program.
const (
	Window = 10 * time.Minute // in which losses of a part are counted, and for which it is shown
	Losses = 3                // in a window, from which on another program is taken to do it
	Pause  = 10 * time.Second // between two repairs from then on
)

// Part is a part of the switch: its kind, such as clsact, and which of them, such as a netdev.
type Part struct{ Kind, Place string }

// String is the part as rows and logs have it.
func (p Part) String() string { return p.Kind + " " + p.Place }

// Compare orders parts by kind and place.
func (p Part) Compare(other Part) int {
	return cmp.Or(cmp.Compare(p.Kind, other.Kind), cmp.Compare(p.Place, other.Place))
}

// Finding is a part that is other than Sluice made it.
type Finding struct {
	Part
	Fault    string // what is there instead
	By       string // who did it; "": unknown
	Mendable bool   // Sluice can put it back; else it is another owner's
}

// record is the past of a part.
type record struct {
	last   Finding
	lost   []time.Time // within the window
	mended time.Time   // when it was put back last, or that was tried
	count  int         // how often it was put back
	is     bool        // the last audit found it
	failed string      // why it could not be put back; ""
}

// Judge decides by what it was told before. The zero value is ready. It is for one goroutine.
type Judge struct {
	parts map[Part]*record
	found uint64
	put   uint64
}

// Look takes the findings of an audit. It returns those that are new, and those to put back now:
// none with may false.
func (j *Judge) Look(now time.Time, found []Finding, may bool) (news, mend []Finding) {
	if j.parts == nil {
		j.parts = map[Part]*record{}
	}
	seen := map[Part]bool{}
	for _, f := range found {
		r := j.parts[f.Part]
		if r == nil {
			r = &record{}
			j.parts[f.Part] = r
		}
		seen[f.Part] = true
		if !r.is {
			r.is, r.failed = true, ""
			r.lost = append(r.lost, now)
			j.found++
			news = append(news, f)
		} else if f.By == "" {
			f.By = r.last.By
		}
		r.last = f
		r.lost = slices.DeleteFunc(r.lost, func(t time.Time) bool { return now.Sub(t) >= Window && t != now })
		if f.Mendable && may && (len(r.lost) < Losses || now.Sub(r.mended) >= Pause) {
			mend = append(mend, f)
		}
	}
	for p, r := range j.parts {
		if !seen[p] {
			r.is = false
		}
		if !r.is && (len(r.lost) == 0 || now.Sub(r.lost[len(r.lost)-1]) >= Window) {
			delete(j.parts, p)
		}
	}
	return news, mend
}

// Mended notes that a part was put back, or that this failed. It reports whether the outcome is
// another than that of the last attempt.
func (j *Judge) Mended(now time.Time, p Part, err error) (changed bool) {
	r := j.parts[p]
	if r == nil {
		return false
	}
	r.mended = now
	if err != nil {
		changed = r.failed != err.Error()
		r.failed = err.Error()
		return changed
	}
	r.is, r.failed = false, ""
	r.count++
	j.put++
	return true
}

// Summary is the texts and counts of a judge, for other goroutines.
type Summary struct {
	Texts      []string // of [Judge.Texts]
	Warnings   []string // of [Judge.Warnings]
	Found, Put uint64   // of [Judge.Counts]
}

// Summary returns a summary.
func (j *Judge) Summary() Summary { return Summary{j.Texts(), j.Warnings(), j.found, j.put} }

// Counts returns how many losses were found, and how many parts were put back.
func (j *Judge) Counts() (found, put uint64) { return j.found, j.put }

// all returns the parts in an order that stays.
func (j *Judge) all() (all []*record) {
	for _, r := range j.parts {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *record) int { return a.last.Compare(b.last.Part) })
	return all
}

func (r *record) fights() bool { return r.last.Mendable && len(r.lost) >= Losses }

func by(who string) string {
	if who == "" {
		return ""
	}
	return ", by " + who
}

// Texts describes each part that differs, or did within the window.
func (j *Judge) Texts() (all []string) {
	for _, r := range j.all() {
		text := fmt.Sprintf("%s: %s%s", r.last.Part, r.last.Fault, by(r.last.By))
		if r.count > 0 {
			text += fmt.Sprintf("; put back %d times, last at %s", r.count, r.mended.UTC().Format(time.RFC3339))
		}
		if r.failed != "" {
			text += "; cannot be put back: " + r.failed
		}
		all = append(all, text)
	}
	return all
}

// Warnings are for the operator: parts of another owner, parts that cannot be put back, and fights.
func (j *Judge) Warnings() (all []string) {
	for _, r := range j.all() {
		switch {
		case r.fights():
			all = append(all, fmt.Sprintf("another program%s takes away %s again and again (%d times in %v): it is put back every %v at most", by(r.last.By), r.last.Part, len(r.lost), Window, Pause))
		case r.is && !r.last.Mendable:
			all = append(all, fmt.Sprintf("%s: %s%s", r.last.Part, r.last.Fault, by(r.last.By)))
		case r.is && r.failed != "":
			all = append(all, fmt.Sprintf("%s cannot be put back: %s", r.last.Part, r.failed))
		}
	}
	return all
}
