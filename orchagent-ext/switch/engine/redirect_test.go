// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"sluice/sai-shim/saiattr"
)

func redirecting(port uint16, to string) Redirection {
	return Redirection{Src: netip.MustParseAddr("10.0.0.1"), Dst: netip.MustParseAddr("10.1.0.2"), SrcPort: port, To: NextHop{netip.MustParseAddr("10.255.0.1"), to}}
}

// redirector is an engine whose method of placement is redirect.
func redirector(t *testing.T) (*Engine, *fakeSwitch, Policy, *fakeLedger) {
	t.Helper()
	f, l := newFakeSwitch(), &fakeLedger{}
	f.can[Redirect] = Ability{Can: true}
	e := newTestEngine(t, f, l)
	p := Policy{FlowCapacity: 64, Placement: &Placement{Sampling: 4, Ports: []string{"Ethernet0"}}}
	o, err := e.Reconcile(p)
	if err != nil || o.Method(NeedPlacement) != Redirect {
		t.Fatalf("the method is %s: %v", o.Method(NeedPlacement), err)
	}
	return e, f, p, l
}

func (f *fakeSwitch) redirected() (keys []string) {
	for _, r := range f.there {
		if strings.HasPrefix(r.Key, prefixRedirect) && r.Type == TypeACLEntry {
			keys = append(keys, strings.TrimPrefix(r.Key, prefixRedirect)+">"+r.Attr(saiattr.ACLEntryRedirect.Name))
		}
	}
	slices.Sort(keys)
	return keys
}

func TestRedirectMakesSetsAndRemovesEntries(t *testing.T) {
	e, f, p, _ := redirector(t)
	first := []Redirection{redirecting(1, "Ethernet4"), redirecting(2, "Ethernet4")}
	if refused, err := e.Redirect(first); err != nil || len(refused) > 0 || len(f.redirected()) != 2 {
		t.Fatalf("entries are %v: %v, %v", f.redirected(), refused, err)
	}
	before := len(f.calls)
	first[1].To.Port = "Ethernet8"
	if _, err := e.Redirect(first); err != nil {
		t.Fatal(err)
	}
	for _, call := range f.calls[before:] {
		if strings.HasPrefix(call, "remove "+prefixRedirect) {
			t.Errorf("an entry that goes to another next hop is removed meanwhile: %v", f.calls[before:])
		}
	}
	if is := f.redirected(); len(is) != 2 || !strings.Contains(is[1], "Ethernet8") {
		t.Errorf("entries are %v", is)
	}
	if _, err := e.Reconcile(p); err != nil || len(f.redirected()) != 2 {
		t.Errorf("a reconciliation takes entries away: %v, %v", f.redirected(), err)
	}
	if _, err := e.Redirect(nil); err != nil || len(f.redirected()) != 0 {
		t.Errorf("entries are %v: %v", f.redirected(), err)
	}
}

func TestRedirectReportsWhatTheSwitchRefuses(t *testing.T) {
	e, f, _, _ := redirector(t)
	f.full = len(f.there) + 3 // interface, next hop and an entry
	all := []Redirection{redirecting(1, "Ethernet4"), redirecting(2, "Ethernet4")}
	refused, err := e.Redirect(all)
	if err != nil || len(refused) == 0 || refused[all[1].Key()] == nil {
		t.Errorf("a full table: refused %v, %v", refused, err)
	}
	if len(f.redirected()) != 1 || e.outcome.Method(NeedPlacement) != Redirect {
		t.Errorf("entries are %v, by the method %s", f.redirected(), e.outcome.Method(NeedPlacement))
	}
}

func TestRedirectEntriesOfAKilledProcessStayUntilTheyAreDecided(t *testing.T) {
	e, f, p, l := redirector(t)
	v6 := Redirection{Src: netip.MustParseAddr("fc00:a::1"), Dst: netip.MustParseAddr("fc00:b::2"), SrcPort: 9, To: NextHop{netip.MustParseAddr("fe80::1"), "Ethernet4"}}
	all := []Redirection{redirecting(1, "Ethernet4"), v6}
	if _, err := e.Redirect(all); err != nil {
		t.Fatal(err)
	}
	next := newTestEngine(t, f, l)
	if _, err := next.Reconcile(p); err != nil || len(f.redirected()) != 2 {
		t.Errorf("entries are %v: %v", f.redirected(), err)
	}
	if adopted, err := next.Adopt(); err != nil || !slices.Equal(adopted, all) {
		t.Errorf("adopted %v, %v: want %v", adopted, err, all)
	}
	if _, err := next.Redirect(all[:1]); err != nil || len(f.redirected()) != 1 {
		t.Errorf("entries are %v: %v", f.redirected(), err)
	}
	last := newTestEngine(t, f, l)
	p.Placement = nil
	if _, err := last.Reconcile(p); err != nil || len(f.redirected()) != 0 {
		t.Errorf("placement is off, and entries are %v: %v", f.redirected(), err)
	}
}

func TestRedirectionsGoWhenPlacementIsSwitchedOff(t *testing.T) {
	e, f, p, _ := redirector(t)
	if _, err := e.Redirect([]Redirection{redirecting(1, "Ethernet4")}); err != nil {
		t.Fatal(err)
	}
	p.Placement = nil
	if _, err := e.Reconcile(p); err != nil || len(f.there) != 0 {
		t.Errorf("objects are left: %v, %v", fmt.Sprint(f.there), err)
	}
	if refused, err := e.Redirect([]Redirection{redirecting(1, "Ethernet4")}); err != nil || len(refused) > 0 || len(f.there) != 0 {
		t.Errorf("without the method an entry is made: %v, %v", refused, err)
	}
}

// Where entries write labels, these choose the path, and none redirects.
func TestRedirectIsNoMethodBesideEntriesOfLabels(t *testing.T) {
	for _, m := range []Method{Compute, Rewrite} {
		f := newFakeSwitch()
		f.can[Redirect] = Ability{Can: true}
		f.can[Entries] = Ability{Reason: "hidden"}
		if m == Rewrite {
			f.can[Compute] = Ability{Reason: "hidden"}
		}
		a, features, _ := f.Probe()
		a.Set(NeedPlacement, Rewrite, Ability{Reason: "hidden"})
		if c := Choose(a, placing(), features)[NeedPlacement]; c.Method == Redirect {
			t.Errorf("beside %s the method is %s", m, c.Method)
		}
	}
}
