// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"slices"
	"testing"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
	"sluice/sai-shim/saitest"
)

// TestHashUseAlonePutsBackTheFormerHash: the kind needs the library and the hashes of Sluice
// alone. A hash that another owner has put there meanwhile stays.
func TestHashUseAlonePutsBackTheFormerHash(t *testing.T) {
	p := newPlace(t, saitest.New(t), "")
	former, err := hashOf(p.lib, saiattr.ECMPHashIPv6)
	if err != nil || former == sai.Null {
		t.Fatalf("%s: %v", former, err)
	}
	own := owned{}
	k := &hashUses{lib: p.lib, own: own}
	create := func() sai.ObjectID {
		t.Helper()
		id, err := p.lib.Create(saiattr.Hash, saiattr.HashFields.Enum("DST_IP"))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	hash := create()
	own.note(nil, hash)
	at := refs{map[string]*engine.Record{engine.KeyHash: {ID: engine.ID(hash.String())}}}
	o := engine.NewObject("use", engine.TypeSwitchHash, saiattr.ECMPHashIPv6.Ref(engine.KeyHash))
	for _, another := range []bool{false, true} {
		r := &engine.Record{Object: o}
		if err := k.create(&o, at, r); err != nil || !k.exists(r) || k.prove(r, at) != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		want := former
		if another {
			want = create()
			if err := k.put(saiattr.ECMPHashIPv6, want); err != nil {
				t.Fatal(err)
			}
		}
		if k.exists(r) == another {
			t.Errorf("another owner's %v: the use exists: %v", another, !another)
		}
		if err := k.remove(r); err != nil {
			t.Error(err)
		}
		if is, err := hashOf(p.lib, saiattr.ECMPHashIPv6); is != want || err != nil {
			t.Errorf("after the removal: %s, want %s: %v", is, want, err)
		}
	}
}

// TestAdoptionAloneFindsTheObjectThatWasBeingCreated: by the objects of the type that there
// were before; an object that another process has created since is certain for a switch of
// Sluice's own alone.
func TestAdoptionAloneFindsTheObjectThatWasBeingCreated(t *testing.T) {
	p := newPlace(t, saitest.New(t), "")
	create := func(rate uint64) sai.ObjectID {
		t.Helper()
		id, err := p.lib.Create(saiattr.Sample, saiattr.SampleRate.Of(rate))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	create(100)
	o := engine.NewObject("sample", engine.TypeSample, saiattr.SampleRate.Of(100))
	adoption := func(connected bool) *adoption {
		return &adoption{lib: p.lib, options: Options{Connected: connected}, own: owned{}, adopted: map[string]*engine.Record{}, flows: map[engine.ID]bool{}}
	}
	before := engine.Record{Object: o}
	if !adoption(false).before(saiattr.Sample, &before) {
		t.Fatal("samples are found without a record")
	}
	if r := before; adoption(false).find(saiattr.Sample, &r) != sai.Null {
		t.Errorf("found before it was created: %s", r.ID)
	}
	id := create(100)
	if r := before; adoption(false).find(saiattr.Sample, &r) != id || r.ID != engine.ID(id.String()) || r.Previous != "" {
		t.Errorf("%+v, want %s", r, id)
	}
	shared := adoption(true)
	shared.adopted["other"] = &engine.Record{}
	if r := before; shared.find(saiattr.Sample, &r) != sai.Null || len(shared.uncertain()) != 1 {
		t.Errorf("%+v was taken, where others create samples, too; left: %q", r, shared.uncertain())
	}
	more := create(100)
	if r := before; adoption(false).find(saiattr.Sample, &r) != sai.Null {
		t.Errorf("one of two was taken: %+v", r)
	}
	if ids, err := p.lib.Objects(saiattr.Sample); err != nil || !slices.Contains(ids, id) || !slices.Contains(ids, more) {
		t.Errorf("of %s and %s there are %v: %v", id, more, ids, err)
	}
}

// TestCPUAloneKnowsCopiesByTheirTrap: the policy's trap marks copies; other traps, and that of
// no entry, mark samples.
func TestCPUAloneKnowsCopiesByTheirTrap(t *testing.T) {
	c := &CPU{}
	if c.Copies(sai.Null) || c.Copies(7) || c.Policed() != 0 {
		t.Error("there are copies before there is a trap")
	}
	c.note(&engine.Record{Object: engine.Object{Key: engine.KeyTrap}}, 7)
	c.note(&engine.Record{Object: engine.Object{Key: "other"}}, 8)
	if !c.Copies(7) || c.Copies(8) || c.Copies(sai.Null) {
		t.Error("the trap of copies is another")
	}
}
