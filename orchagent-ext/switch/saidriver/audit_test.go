// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// looker looks at the objects of a library each second.
type looker struct {
	*testing.T
	library *saitest.Library
	p       *place
	d       *Driver
	e       *engine.Engine
	now     time.Time
	policy  engine.Policy
}

// look lets ten seconds pass, in none of which more attributes are read than allowed.
func (l *looker) look() {
	l.Helper()
	for range 10 {
		l.now = l.now.Add(time.Second)
		l.library.Calls()
		changed, err := l.e.CheckDrift()
		reads := l.library.Calls()
		if err != nil || len(reads) > 200 {
			l.Fatalf("%d reads, %v", len(reads), err)
		}
		for _, call := range reads {
			if !onlyReads(call) && !changed {
				l.Errorf("an audit that changes nothing calls %s", call)
			}
		}
		if changed {
			settle(l.T, l.e, l.policy)
		}
	}
}

// TestWhatOthersDoToALibraryIsUndone: an object that another program removes, and an attribute that it
// changes, are put back within ten seconds, and counted.
func TestWhatOthersDoToALibraryIsUndone(t *testing.T) {
	library := saitest.New(t)
	for _, profile := range [][]string{nil, {"GROUPED", "1"}, {"HIDE", "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL"}} {
		t.Run(strings.Join(profile, " "), func(t *testing.T) {
			l := &looker{T: t, library: library, p: openPlace(t, library, profile...), now: time.Unix(1000, 0), policy: policy("Ethernet0", "Ethernet4")}
			defer l.p.close()
			l.policy.CPU, l.policy.Export = engine.CPU{Rate: 100, Burst: 10}, &engine.Export{Rate: 1000, Ports: []string{"Ethernet0"}}
			l.d = l.p.driver()
			l.e = newTestEngine(t, l.d, &fakeLedger{})
			l.e.Now = func() time.Time { return l.now }
			o := settle(t, l.e, l.policy)
			lib, rewrites := l.p.lib, o.Method(engine.NeedFlowLabel) == engine.Rewrite
			if n, err := l.e.AddFlows(flows(20)); n > 0 || err != nil {
				t.Fatal(n, err)
			}
			l.look()
			if found, _ := l.e.Losses().Counts(); found > 0 {
				t.Fatalf("losses %q", l.e.Losses().Texts())
			}
			port := func(name string) sai.ObjectID { return l.d.Ports.PortID(name) }
			entry := "label/skipped"
			group := engine.KeyTable
			if len(profile) > 0 && profile[0] == "GROUPED" {
				group += engine.SuffixGroup
			}
			want := uint64(0)
			for what, act := range map[string]struct{ take, back func() error }{
				"a binding": {
					func() error {
						return lib.Set(saiattr.Port, port("Ethernet4"), saiattr.PortIngressACL.Object(uint64(sai.Null)))
					},
					func() error {
						return same(lib.GetObject(saiattr.Port, port("Ethernet4"), saiattr.PortIngressACL))(idOf(l.e, group))
					},
				},
				"an entry": {
					func() error { return lib.Remove(saiattr.ACLEntry, idOf(l.e, entry)) },
					func() error { return there(lib, saiattr.ACLEntry, idOf(l.e, entry)) },
				},
				"the priority of an entry": {
					func() error { return lib.Set(saiattr.ACLEntry, idOf(l.e, entry), saiattr.ACLEntryPriority.Of(777)) },
					func() error {
						if n, err := lib.Get(saiattr.ACLEntry, idOf(l.e, entry), saiattr.ACLEntryPriority); err != nil || n == 777 {
							return fmt.Errorf("priority %d, %v", n, err)
						}
						return nil
					},
				},
				"a use of the hash": {
					func() error {
						return lib.Set(saiattr.Switch, lib.Switch, saiattr.ECMPHashIPv6.Object(uint64(sai.Null)))
					},
					func() error {
						return same(lib.GetObject(saiattr.Switch, lib.Switch, saiattr.ECMPHashIPv6))(idOf(l.e, engine.KeyHash))
					},
				},
			} {
				if err := act.take(); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				want++
				l.look()
				if err := act.back(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if found, put := l.e.Losses().Counts(); found != want || put != want {
					t.Fatalf("%s: %d found, %d put back, want %d: %q", what, found, put, want, l.e.Losses().Texts())
				}
			}
			if !rewrites {
				return
			}
			all, err := lib.GetObjects(saiattr.ACLTable, idOf(l.e, engine.KeyTable), saiattr.ACLTableEntries)
			if err != nil {
				t.Fatal(err)
			}
			labels := map[sai.ObjectID]uint64{}
			for _, id := range all {
				if n, on, err := lib.Read(saiattr.ACLEntry, id, saiattr.ACLEntrySetLabel); err == nil && on {
					labels[id] = n
				}
			}
			if len(labels) != 20 {
				t.Fatalf("labels %v", labels)
			}
			n := 0
			for id := range labels { // one is removed, one has another label
				if n++; n == 1 {
					err = lib.Remove(saiattr.ACLEntry, id)
				} else if n == 2 {
					err = lib.Set(saiattr.ACLEntry, id, saiattr.ACLEntrySetLabel.Of(0xbad))
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			l.look()
			if found, put := l.e.Losses().Counts(); found != want+2 || put != want+2 || entries(l.e) != 20 {
				t.Errorf("%d found, %d put back, want %d; %d entries: %q", found, put, want+2, entries(l.e), l.e.Losses().Texts())
			}
		})
	}
}

// same compares an id that was read.
func same(is sai.ObjectID, err error) func(want sai.ObjectID) error {
	return func(want sai.ObjectID) error {
		if err != nil || is != want || is == sai.Null {
			return fmt.Errorf("it is %s, want %s: %w", is, want, err)
		}
		return nil
	}
}

// there reports an object that is not there.
func there(lib *sai.Library, kind saiattr.Kind, id sai.ObjectID) error {
	if !lib.Exists(kind, id) {
		return fmt.Errorf("%s is not there", id)
	}
	return nil
}
