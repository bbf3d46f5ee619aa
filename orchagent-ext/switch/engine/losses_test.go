// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/sai-shim/saiattr"
)

// auditedSwitch is a switch on which other programs take away and change objects.
type auditedSwitch struct {
	*fakeSwitch
	reads   int
	another map[string]bool // keys of objects in whose place another owner's is
	opaque  Type            // objects that never read as they were created
}

func (a *auditedSwitch) Audit(r *Record, _ map[string]*Record) Loss {
	a.reads += max(len(r.Attrs), 1)
	is := a.there[r.ID]
	switch {
	case a.another[r.Key]:
		return Loss{Fault: "another owner's", Another: true}
	case is == nil:
		return Loss{Fault: "it is gone"}
	case is.Type == a.opaque:
		return Loss{Fault: "as ever", Attr: r.Attrs[0].Name}
	}
	for _, attr := range r.Attrs {
		if now, _ := is.Value(attr.Name); now != attr.Value && !strings.Contains(attr.Value, ValueUnknown) {
			return Loss{Fault: attr.Name + " is " + now, Attr: attr.Name}
		}
	}
	return Loss{}
}

// audited is an engine of such a switch, with a clock.
func audited(t *testing.T, f *fakeSwitch) (*Engine, *auditedSwitch, *time.Time) {
	a, now := &auditedSwitch{fakeSwitch: f, another: map[string]bool{}}, time.Unix(1000, 0)
	e := newTestEngine(t, a, &fakeLedger{})
	e.Now = func() time.Time { return now }
	return e, a, &now
}

// look lets some seconds pass, in each of which the engine looks, and reconciles where it is to. No
// second may have more reads than allowed.
func look(t *testing.T, e *Engine, a *auditedSwitch, now *time.Time, seconds int, p Policy) {
	t.Helper()
	for range seconds {
		*now = now.Add(time.Second)
		a.reads = 0
		changed, err := e.CheckDrift()
		if err != nil {
			t.Fatal(err)
		}
		if a.reads > readsPerSecond {
			t.Fatalf("%d reads in a second", a.reads)
		}
		if changed {
			reconcile(t, e, p)
		}
	}
}

// attrsOf are the attributes of all objects on the switch, without ids.
func attrsOf(f *fakeSwitch) (all []string) {
	for _, r := range f.there {
		if flow, ok := strings.CutSuffix(r.Key, suffixCounter); ok && strings.HasPrefix(flow, PrefixFlow) {
			continue
		}
		all = append(all, fmt.Sprint(r.Key, r.Attrs))
	}
	slices.Sort(all)
	return all
}

// TestEachObjectThatIsTakenAwayIsPutBack within ten seconds, however many objects and flows there are, at
// 200 reads a second at most; so is an attribute that is changed. It is counted, and shown.
func TestEachObjectThatIsTakenAwayIsPutBack(t *testing.T) {
	for _, method := range []Method{Compute, Rewrite} {
		f := newFakeSwitch()
		f.can[Compute] = Ability{Can: method == Compute}
		e, a, now := audited(t, f)
		ports := make([]string, 300)
		for i := range ports {
			ports[i] = fmt.Sprintf("Ethernet%d", i)
		}
		p := policy(ports...)
		p.Export = &Export{Rate: 1000, Ports: ports}
		reconcile(t, e, p)
		if n, err := e.AddFlows(flows(50)); n > 0 || err != nil {
			t.Fatal(n, err)
		}
		look(t, e, a, now, 20, p)
		want := attrsOf(f)
		if found, put := e.Losses().Counts(); found+put > 0 {
			t.Fatalf("%d losses, %d put back: %q", found, put, e.Losses().Texts())
		}
		taken := uint64(0)
		for _, id := range slices.Sorted(maps.Keys(f.there)) {
			r := f.there[id]
			if r == nil || r.Type == TypeACLCounter || r.Type == TypeBinding && r.Key != PrefixPort+"Ethernet299" || strings.HasPrefix(r.Key, PrefixFlow) && taken%3 > 0 {
				continue
			}
			used := slices.ContainsFunc(slices.Collect(maps.Values(f.there)), func(other *Record) bool { return other.refersTo(r.Key) })
			if used { // such an object no switch removes
				continue
			}
			delete(f.there, id)
			taken++
			look(t, e, a, now, 10, p)
			if got := attrsOf(f); !slices.Equal(got, want) {
				t.Fatalf("%s: %s was taken away: %d objects, want %d", method, r.Key, len(got), len(want))
			}
			if found, put := e.Losses().Counts(); found != taken || put != taken {
				t.Fatalf("%s: %s was taken away: %d found, %d put back, want %d", method, r.Key, found, put, taken)
			}
		}
		if taken < 4 {
			t.Errorf("%s: %d objects were taken away", method, taken)
		}
		if texts := strings.Join(e.Losses().Texts(), "; "); !strings.Contains(texts, "it is gone; put back 1 times") {
			t.Errorf("texts %q", texts)
		}
	}
}

// TestAttributesThatAreChangedAreSetAgain in place, where the switch takes that.
func TestAttributesThatAreChangedAreSetAgain(t *testing.T) {
	f := newFakeSwitch()
	f.can[Compute] = Ability{}
	e, a, now := audited(t, f)
	p := policy("Ethernet0")
	reconcile(t, e, p)
	if n, err := e.AddFlows(flows(3)); n > 0 || err != nil {
		t.Fatal(n, err)
	}
	look(t, e, a, now, 10, p)
	want := attrsOf(f)
	change := func(attr string, keys ...string) (n uint64) {
		for id, r := range f.there {
			if _, has := r.Value(attr); has && (len(keys) == 0 || slices.Contains(keys, r.Key)) {
				other := *r
				other.Attrs = slices.Clone(r.Attrs)
				for i := range other.Attrs {
					if other.Attrs[i].Name == attr {
						other.Attrs[i].Value = "0x00bad"
					}
				}
				f.there[id] = &other
				n++
			}
		}
		return n
	}
	n := change(saiattr.ACLEntrySetLabel.Name, flowKey(unlabelled(flows(3)[1])))
	n += change(saiattr.ACLEntryPriority.Name, keyCopied)
	look(t, e, a, now, 10, p)
	if got := attrsOf(f); !slices.Equal(got, want) {
		t.Errorf("objects %q, want %q", got, want)
	}
	if found, put := e.Losses().Counts(); n != 2 || found != n || put != n {
		t.Errorf("%d changed, %d found, %d put back", n, found, put)
	}
}

// TestAnotherOwnersObjectStays: it is reported, and nothing is put in its place.
func TestAnotherOwnersObjectStays(t *testing.T) {
	e, a, now := audited(t, newFakeSwitch())
	p := policy("Ethernet0")
	reconcile(t, e, p)
	look(t, e, a, now, 10, p)
	a.another[PrefixPort+"Ethernet0"] = true
	calls := len(a.calls)
	look(t, e, a, now, 60, p)
	if len(a.calls) > calls {
		t.Errorf("calls %q", a.calls[calls:])
	}
	if w := e.Losses().Warnings(); len(w) != 1 || !strings.Contains(w[0], "another owner's") {
		t.Errorf("warnings %q", w)
	}
	delete(a.another, PrefixPort+"Ethernet0")
	look(t, e, a, now, 10, p)
	if w := e.Losses().Warnings(); len(w) > 0 {
		t.Errorf("warnings %q", w)
	}
}

// TestObjectsThatNeverReadBackAreNotJudged: a library that reads another value than it took is no other
// program.
func TestObjectsThatNeverReadBackAreNotJudged(t *testing.T) {
	e, a, now := audited(t, newFakeSwitch())
	a.opaque = TypeACLTable
	p := policy("Ethernet0")
	reconcile(t, e, p)
	calls := len(a.calls)
	look(t, e, a, now, 60, p)
	if found, _ := e.Losses().Counts(); found > 0 || len(a.calls) > calls {
		t.Errorf("%d losses, calls %q", found, a.calls[calls:])
	}
}

// TestAFightIsSlow: what another program takes away again and again is put back each ten seconds.
func TestAFightIsSlow(t *testing.T) {
	e, a, now := audited(t, newFakeSwitch())
	p := policy("Ethernet0")
	reconcile(t, e, p)
	look(t, e, a, now, 10, p)
	for range 300 {
		for id, r := range a.there {
			if r.Key == PrefixPort+"Ethernet0" {
				delete(a.there, id)
			}
		}
		look(t, e, a, now, 1, p)
	}
	if _, put := e.Losses().Counts(); put < 20 || put > 32 {
		t.Errorf("put back %d times in 300 s", put)
	}
	if w := strings.Join(e.Losses().Warnings(), "; "); !strings.Contains(w, "again and again") {
		t.Errorf("warnings %q", w)
	}
}
