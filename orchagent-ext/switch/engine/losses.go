// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/orchagent-ext/switch/drift"
)

// Limits of looks at the objects on a switch that is read back, so that it stays free for all else.
const (
	readsPerSecond = 200
	lookTime       = 10 * time.Millisecond // of one look: one read takes as long with some libraries
	turnTime       = 5 * time.Second       // between two begins of a turn through the objects, but for entries of flows
)

// losses are what other programs did to objects on the switch.
type losses struct {
	judge drift.Judge
	lost  map[drift.Part]string // keys of objects that are to be created or set again

	// Of a switch that is read back: the objects are read in turn.
	turn   []string // keys that are left
	began  time.Time
	flows  []FlowEntry              // with entries that are left
	found  map[drift.Part]foundLoss // objects that differ, as of the last time that each was read
	proven map[string]bool          // keys of objects that read as they were created: what never did is not judged
	labels bool                     // so do the entries of flows
	room   float64                  // reads that may follow
	last   time.Time                // of the last look
}

// foundLoss is the loss of an object.
type foundLoss struct {
	Loss
	key string
}

// Losses returns what other programs did to objects on the switch.
func (e *Engine) Losses() *drift.Judge { return &e.losses.judge }

// partOf is an object as rows and logs have it.
func partOf(r *Record) drift.Part { return drift.Part{Kind: string(r.Type), Place: r.Key} }

// judgeLosses takes the present losses, and returns which are to be put back now; may: some may be.
func (e *Engine) judgeLosses(found []drift.Finding, may bool) []drift.Finding {
	news, mend := e.losses.judge.Look(e.Now(), found, may)
	for _, f := range news {
		e.log.Warn("an object of the switch is other than Sluice made it", "object", f.Part, "fault", f.Fault)
	}
	return mend
}

// lose notes that an object is to be put back, by the next Reconcile.
func (l *losses) lose(p drift.Part, key string) {
	if l.lost == nil {
		l.lost = map[drift.Part]string{}
	}
	l.lost[p] = key
}

// putBack notes which objects are on the switch again; err: why others are not.
func (e *Engine) putBack(err error) {
	for part, key := range e.losses.lost {
		if e.sw.objects[key] == nil && !e.entries.has(key) && err == nil {
			delete(e.losses.lost, part) // it is not wanted any more, or the switch refused it, which is reported
			continue
		}
		if changed := e.losses.judge.Mended(e.Now(), part, err); err != nil {
			if changed {
				e.log.Warn("cannot be put back", "object", part, "error", err)
			}
			continue
		}
		e.log.Info("put back", "object", part)
		delete(e.losses.lost, part)
	}
}

// has reports whether the flow of a key has an entry.
func (x *flowEntries) has(key string) bool {
	f, ok := parseFlowKey(key)
	p := x.flows[f]
	return ok && p != nil && p.entry != ""
}

// checkObjects reads objects back, as many as the time since the last look allows, and gives up those that
// other programs took away or changed. It reports whether there are some.
func (e *Engine) checkObjects() (changed bool) {
	if e.auditor == nil {
		return false
	}
	l, began := &e.losses, e.Now()
	l.room = min(l.room+readsPerSecond*began.Sub(l.last).Seconds(), readsPerSecond)
	l.last = began
	l.refill(e, began)
	for e.Now().Sub(began) < lookTime {
		r := l.next(e)
		if r == nil {
			break
		}
		l.judgeOne(r, e.auditor.Audit(r, e.sw.objects))
	}
	var found []drift.Finding
	for _, part := range slices.SortedFunc(maps.Keys(l.found), drift.Part.Compare) {
		found = append(found, drift.Finding{Part: part, Fault: l.found[part].Fault, Mendable: !l.found[part].Another})
	}
	for _, f := range e.judgeLosses(found, true) {
		if err := e.giveUp(l.found[f.Part]); err != nil {
			if e.losses.judge.Mended(e.Now(), f.Part, err) {
				e.log.Warn("cannot be put back", "object", f.Part, "error", err)
			}
			continue
		}
		l.lose(f.Part, l.found[f.Part].key)
		delete(l.found, f.Part)
		changed = true
	}
	return changed
}

// refill begins a turn through the objects, or through the entries of flows, where the last one has
// ended.
func (l *losses) refill(e *Engine, now time.Time) {
	if len(l.turn) == 0 && now.Sub(l.began) >= turnTime {
		l.turn, l.began = slices.Sorted(maps.Keys(e.sw.objects)), now
		if l.proven == nil {
			l.proven, l.found = map[string]bool{}, map[drift.Part]foundLoss{}
		}
		back := slices.Collect(maps.Values(l.lost))
		maps.DeleteFunc(l.proven, func(key string, _ bool) bool { return e.sw.objects[key] == nil && !slices.Contains(back, key) })
		maps.DeleteFunc(l.found, func(_ drift.Part, f foundLoss) bool { return e.sw.objects[f.key] == nil && !e.entries.has(f.key) })
	}
	if len(l.flows) == 0 {
		l.flows = e.entries.where(func(p *pinned) bool { return p.entry != "" })
	}
}

// next returns the record of the object whose turn it is; nil: there is none, or no room for its reads.
func (l *losses) next(e *Engine) (r *Record) {
	for len(l.turn) > 0 {
		if r = e.sw.objects[l.turn[0]]; r == nil {
			l.turn = l.turn[1:]
			continue
		}
		if reads := float64(max(len(r.Attrs), 1)); reads <= l.room {
			l.room -= reads
			l.turn = l.turn[1:]
			return r
		}
		return nil
	}
	for len(l.flows) > 0 && l.room >= 1 {
		f := l.flows[0]
		l.flows = l.flows[1:]
		if p := e.entries.flows[f]; p != nil && p.entry != "" && p.from == 0 {
			l.room--
			r = p.record(f)
			r.Attrs = r.Attrs[:1] // the label
			return r
		}
	}
	return nil
}

// judgeOne notes what was read of an object.
func (l *losses) judgeOne(r *Record, is Loss) {
	_, ofFlow := parseFlowKey(r.Key)
	switch {
	case is.Fault == "":
		l.labels = l.labels || ofFlow
		if !ofFlow {
			l.proven[r.Key] = true
		}
		delete(l.found, partOf(r))
	case l.proven[r.Key] || ofFlow && l.labels:
		l.found[partOf(r)] = foundLoss{is, r.Key}
	}
}

// giveUp has the next Reconcile put an object back: it is forgotten, or its attribute is unknown.
func (e *Engine) giveUp(l foundLoss) error {
	r := e.sw.objects[l.key]
	if r == nil {
		f, _ := parseFlowKey(l.key)
		if p := e.entries.flows[f]; p != nil {
			return e.entries.removeEntry(f, p)
		}
		return nil
	}
	if l.Attr == "" {
		e.sw.missing(l.key)
		return nil
	}
	unknown := *r
	unknown.Attrs = slices.Clone(r.Attrs)
	for i := range unknown.Attrs {
		if a := &unknown.Attrs[i]; a.Name == l.Attr {
			a.Value = unsettled(a.Value, "")
		}
	}
	e.sw.objects[l.key] = &unknown
	e.sw.ledger.add(&unknown)
	return nil
}

// checkRows looks which rows of a shared switch other programs took away or changed, and gives up those that
// are to be put back now. It reports whether there are some.
func (e *Engine) checkRows() (changed bool, err error) {
	type present struct {
		key   string
		there bool
		is    Object
	}
	var found []drift.Finding
	now := map[drift.Part]present{}
	for _, key := range slices.Sorted(maps.Keys(e.sw.objects)) {
		r := e.sw.objects[key]
		was := r.Object
		there, err := e.sw.driver.Exists(r)
		if err != nil {
			return changed, fmt.Errorf("look for %s: %w", r.ID, err)
		}
		fault := "it was changed"
		switch {
		case there && r.same(&was):
			continue
		case !there:
			fault = "it is gone"
			if _, err := e.sw.shared.Foresee(&was); errors.Is(err, ErrRefused) { // it has no room there any more
				e.sw.missing(key)
				changed = true
				continue
			}
		}
		now[partOf(r)] = present{key, there, r.Object}
		r.Object = was
		found = append(found, drift.Finding{Part: partOf(r), Fault: fault, Mendable: true})
	}
	may := len(found) == 0
	if !may {
		why := e.sw.shared.Answers()
		may = why == nil
	}
	for _, f := range e.judgeLosses(found, may) {
		is := now[f.Part]
		if is.there {
			e.sw.objects[is.key].Object = is.is
		} else {
			e.sw.missing(is.key)
		}
		e.losses.lose(f.Part, is.key)
		changed = true
	}
	return changed, nil
}
