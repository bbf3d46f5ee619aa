// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// theirHash creates a hash of another owner and sets it by a use.
func (p *place) theirHash(use *saiattr.Attr, fields ...string) sai.ObjectID {
	p.t.Helper()
	id, err := p.lib.Create(saiattr.Hash, saiattr.HashFields.Enum(fields...))
	if err == nil {
		err = p.lib.Set(saiattr.Switch, p.lib.Switch, use.Object(uint64(id)))
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return id
}

// TestKilledWhenAnotherOwnersHashWasPutBack: the next process sets its own by the same method,
// and puts the other owner's back again.
func TestKilledWhenAnotherOwnersHashWasPutBack(t *testing.T) {
	p := openPlace(t, saitest.New(t), "EXTENSION", "0")
	theirs := p.theirHash(saiattr.ECMPHashIPv6RDMA, "SRC_IP")
	ledger, options := &fakeLedger{}, Options{Connected: true}
	if o := settle(t, newTestEngine(t, p.driverWith(options), ledger), policy("Ethernet0")); o.Method(engine.NeedFlowLabel) != engine.Hash {
		t.Fatalf("%+v", o)
	}
	if err := p.lib.Set(saiattr.Switch, p.lib.Switch, saiattr.ECMPHashIPv6RDMA.Object(uint64(theirs))); err != nil {
		t.Fatal(err)
	}
	e := newTestEngine(t, p.driverWith(options), ledger)
	if o := reconcile(t, e, policy("Ethernet0")); o.Method(engine.NeedFlowLabel) != engine.Hash || o.Choices[engine.NeedFlowLabel].State != engine.Active {
		t.Errorf("%+v", o.Choices[engine.NeedFlowLabel])
	}
	if now, err := p.lib.GetObject(saiattr.Switch, p.lib.Switch, saiattr.ECMPHashIPv6RDMA); err != nil || now == theirs {
		t.Errorf("the hash in force is %s, %v", now, err)
	}
	reconcile(t, e, engine.Policy{})
	if now, err := p.lib.GetObject(saiattr.Switch, p.lib.Switch, saiattr.ECMPHashIPv6RDMA); err != nil || now != theirs {
		t.Errorf("put back is %s, %v; theirs is %s", now, err, theirs)
	}
}

// hashed are the fields of the hash that is in force by a use; nil: there is none.
func (p *place) hashed(use *saiattr.Attr) []string {
	p.t.Helper()
	id, err := p.lib.GetObject(saiattr.Switch, p.lib.Switch, use)
	if err != nil || id == sai.Null {
		return nil
	}
	list, err := p.lib.GetNumbers(saiattr.Hash, id, saiattr.HashFields)
	if err != nil {
		p.t.Fatal(err)
	}
	return strings.Split(saiattr.HashFields.Numbers(wide(list)...).Text, ",")
}

// TestHashExtendsWhatIsInForce: the fields that another owner has ECMP hash stay, those
// that the library refuses are dropped one by one, a use that it refuses gives way to the
// next one, and to the list of the default hash at last. The kill switch puts back what was
// there.
func TestHashExtendsWhatIsInForce(t *testing.T) {
	library := saitest.New(t)
	rdma, all := saiattr.ECMPHashIPv6RDMA, saiattr.ECMPHashIPv6
	refused := func(what ...string) string {
		for i := range what {
			what[i] = fmt.Sprintf("%s 0 %d", what[i], saitest.Failure)
		}
		return strings.Join(what, "; ")
	}
	for name, tt := range map[string]struct {
		profile []string
		theirs  map[*saiattr.Attr][]string
		use     *saiattr.Attr
		want    []string
	}{
		"nothing in force":      {nil, nil, rdma, append(slices.Clone(engine.FiveTuple), engine.HashDestQP)},
		"a use in force":        {nil, map[*saiattr.Attr][]string{all: {"L4_SRC_PORT", "SRC_IP"}}, rdma, []string{"L4_SRC_PORT", "SRC_IP", engine.HashDestQP}},
		"the default in force":  {nil, map[*saiattr.Attr][]string{saiattr.ECMPHash: {"DST_IP", engine.HashLabel}}, rdma, []string{"DST_IP", engine.HashLabel, engine.HashDestQP}},
		"the field is in force": {nil, map[*saiattr.Attr][]string{all: {engine.HashDestQP, "SRC_IP"}}, rdma, []string{"SRC_IP", engine.HashDestQP}},
		"a field is refused":    {[]string{"HASH_FIELDS", "0 1 7 8 35"}, nil, rdma, []string{"SRC_IP", "DST_IP", "L4_SRC_PORT", "L4_DST_PORT", engine.HashDestQP}},
		"two fields are refused": {[]string{"HASH_FIELDS", "0 1 8 35"}, nil, rdma,
			[]string{"SRC_IP", "DST_IP", "L4_DST_PORT", engine.HashDestQP}},
		"RDMA's use is refused":  {[]string{"FAIL", refused("set switch.ECMP_HASH_IPV6_RDMA")}, nil, all, append(slices.Clone(engine.FiveTuple), engine.HashDestQP)},
		"RDMA's use is dropped":  {[]string{"DROP", rdma.Name}, map[*saiattr.Attr][]string{rdma: nil}, rdma, nil},
		"both uses are refused":  {[]string{"FAIL", refused("set switch.ECMP_HASH_IPV6_RDMA", "set switch.ECMP_HASH_IPV6")}, map[*saiattr.Attr][]string{saiattr.ECMPHash: {"DST_IP"}}, saiattr.ECMPHash, []string{"DST_IP", engine.HashDestQP}},
		"a hash is refused":      {[]string{"FAIL", refused("create hash 1") + " "}, map[*saiattr.Attr][]string{saiattr.ECMPHash: {"DST_IP", "SRC_IP"}}, saiattr.ECMPHash, []string{"DST_IP", "SRC_IP", engine.HashDestQP}},
		"a hash cannot be bound": {[]string{"HIDE", rdma.Name + " " + all.Name}, map[*saiattr.Attr][]string{saiattr.ECMPHash: {"SRC_IP"}}, saiattr.ECMPHash, []string{"SRC_IP", engine.HashDestQP}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a hash is refused" { // but for the other owner's
				tt.profile[1] = fmt.Sprintf("create hash 1 %d", saitest.Failure)
			}
			p := openPlace(t, library, append(tt.profile, "EXTENSION", "0")...)
			for use, fields := range tt.theirs {
				if fields != nil {
					p.theirHash(use, fields...)
				}
			}
			before, was := p.there(), p.hashed(tt.use)
			ledger := &fakeLedger{}
			o := settle(t, newTestEngine(t, p.driver(), ledger), policy("Ethernet0"))
			state := engine.Active
			if tt.want == nil {
				state = engine.Unproven
			}
			if c := o.Choices[engine.NeedFlowLabel]; c.Method != engine.Hash || c.State != state {
				t.Errorf("%+v", c)
			}
			if diff := cmp.Diff(tt.want, p.hashed(tt.use)); diff != "" {
				t.Errorf("hashed (-want +got):\n%s", diff)
			}
			library.Calls()
			e := newTestEngine(t, p.driver(), ledger) // the next process changes nothing
			settle(t, e, policy("Ethernet0"))
			for _, call := range library.Calls() {
				if !onlyReads(call) && state == engine.Active && !strings.Contains(name, "refused") {
					t.Errorf("the next process: %s", call)
				}
			}
			reconcile(t, e, engine.Policy{})
			if diff := cmp.Diff(before, p.there()); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(was, p.hashed(tt.use)); diff != "" {
				t.Errorf("hashed without Sluice (-want +got):\n%s", diff)
			}
		})
	}
}

// TestListOfTheDefaultHashIsPutBack: as it was, or, where another owner has changed it
// meanwhile, less Sluice's field alone.
func TestListOfTheDefaultHashIsPutBack(t *testing.T) {
	library := saitest.New(t)
	for name, tt := range map[string]struct{ before, meanwhile, after []string }{
		"nothing changed":              {[]string{"DST_IP", "SRC_IP"}, nil, []string{"DST_IP", "SRC_IP"}},
		"another field was added":      {[]string{"DST_IP"}, []string{"DST_IP", engine.HashDestQP, "L4_SRC_PORT"}, []string{"DST_IP", "L4_SRC_PORT"}},
		"Sluice's field was taken":     {[]string{"DST_IP"}, []string{"SRC_IP"}, []string{"SRC_IP"}},
		"the other owner's from first": {[]string{engine.HashDestQP, "DST_IP"}, nil, []string{engine.HashDestQP, "DST_IP"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := openPlace(t, library, "EXTENSION", "0", "HIDE", saiattr.ECMPHashIPv6RDMA.Name+" "+saiattr.ECMPHashIPv6.Name)
			id := p.theirHash(saiattr.ECMPHash, tt.before...)
			ledger := &fakeLedger{}
			settle(t, newTestEngine(t, p.driverWith(Options{Connected: true}), ledger), policy("Ethernet0"))
			if !slices.Contains(p.hashed(saiattr.ECMPHash), engine.HashDestQP) {
				t.Errorf("hashed: %q", p.hashed(saiattr.ECMPHash))
			}
			if tt.meanwhile != nil {
				if err := p.lib.Set(saiattr.Hash, id, saiattr.HashFields.Enum(tt.meanwhile...)); err != nil {
					t.Fatal(err)
				}
			}
			reconcile(t, newTestEngine(t, p.driverWith(Options{Connected: true}), ledger), engine.Policy{})
			if diff := cmp.Diff(tt.after, p.hashed(saiattr.ECMPHash)); diff != "" {
				t.Errorf("hashed (-want +got):\n%s", diff)
			}
			if len(ledger.rows) > 0 {
				t.Errorf("in the ledger: %v", ledger.rows)
			}
		})
	}
}
