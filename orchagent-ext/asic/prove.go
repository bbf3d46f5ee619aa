// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// proofs are the objects that are read back before a method counts as in force.
var proofs = map[Need]map[Method][]string{
	NeedFlowLabel: {Compute: {keyCompute}, Rewrite: {keyCopied}, Hash: {keyHash, keySwitchHash + "-ipv6", keyHashList}, UDFHash: {keyHash, keySwitchHash + "-ipv6"}},
	NeedExport:    {Sample: {keySample}},
}

// wanted says whether the policy asks for a need that the engine meets.
func (e *Engine) wanted(n Need) bool {
	return n == NeedFlowLabel && e.policy.Label != nil || n == NeedExport && e.policy.Export != nil || n == NeedPlacement && e.policy.Placement != nil
}

// activate notes by which methods the switch does now what the policy asks for: those that
// are proven. What the switch took and does not have is a refusal.
func (e *Engine) activate() error {
	for n, c := range e.outcome.Choices {
		missing := slices.ContainsFunc(e.without, func(o Object) bool { return o.Meets == n })
		if !e.wanted(n) || missing || c.Method == None {
			continue
		}
		err := e.prove(n, c.Method)
		if errors.Is(err, ErrRefused) {
			return err
		}
		c.State = Active
		if err != nil {
			c.State, c.Reason = Unproven, fmt.Sprintf("unproven: %v", err)
			if better := e.outcome.Choices[n].Reason; better != preferred {
				c.Reason = better + "; " + c.Reason
			}
		}
		e.outcome.Choices[n] = c
	}
	return nil
}

// prove returns nil where a method is in force: at least one port is bound, and what the
// switch took is read back.
func (e *Engine) prove(n Need, m Method) error {
	if err := e.bound(n, m); err != nil {
		return err
	}
	for _, key := range proofs[n][m] {
		r := e.objects[key]
		if e.prover == nil || r == nil {
			continue // the driver has no objects of this kind
		}
		if err := e.prover.Prove(r, e.objects); err != nil {
			e.refused = &r.Object
			return fmt.Errorf("%s %s: %w", r.Type, key, err)
		}
	}
	return nil
}

// provable says whether a method is proven by now that was not.
func (e *Engine) provable() bool {
	for n, c := range e.outcome.Choices {
		if e.prover != nil && e.wanted(n) && c.Method != None && c.State == Unproven && e.prove(n, c.Method) == nil {
			return true
		}
	}
	return false
}

// bound returns an error where a method works on ports, and none is bound: a refusal, if
// the switch refused one.
func (e *Engine) bound(n Need, m Method) error {
	label, ports := keyTable, e.policy.Ports
	if n == NeedExport {
		label, ports = keyExportTable, e.policy.Export.Ports
	}
	if e.prover == nil || m != Compute && m != Rewrite && m != Sample {
		return nil
	}
	for _, port := range ports {
		if r := e.objects[prefixPort+port]; r != nil && r.Type == TypeBinding && (n == NeedExport || r.refersTo(label) || r.refersTo(label+suffixGroup)) {
			return nil
		}
	}
	if len(ports) == 0 {
		return errors.New("no port is configured for it")
	}
	var missing error
	for i, o := range e.without {
		err := e.withoutWhy[i]
		switch lacks := noPort(""); {
		case o.Type != TypeBinding || !slices.Contains(ports, boundPort(&o)):
		case errors.As(err, &lacks): // which is no refusal of the method
			missing = lacks
		default:
			e.refused = &Object{Key: o.Key, Type: o.Type, Attrs: o.Attrs, Meets: n}
			return fmt.Errorf("no port is bound: %w", err)
		}
	}
	if missing == nil {
		missing = errors.New("it is tried again")
	}
	return fmt.Errorf("no port is bound: %w", missing)
}

// refersTo says whether a record refers to an object.
func (r *Record) refersTo(key string) bool {
	return slices.ContainsFunc(r.Attrs, func(a Attr) bool { return refers(a.Value, key) })
}

// Prove implements [Prover]: it reads back what the library took. What it cannot read a
// counter of the object proves that has counted packets.
func (d *SAI) Prove(r *Record, existing map[string]*Record) error {
	if r.Type == TypeSwitchHash {
		return d.proveHash(r, existing)
	}
	if r.Type == TypeHashList {
		return d.proveList(r)
	}
	kind, known := kinds[r.Type]
	id, err := sai.ParseObjectID(string(r.ID))
	if !known || err != nil {
		return fmt.Errorf("%s cannot be read", r.ID)
	}
	is := d.compare(kind, id, r, existing)
	if is.same == 0 {
		if counter := existing[strings.TrimPrefix(r.Attr(saiattr.ACLEntryCounter.Name), "@")]; counter != nil {
			if packets, _, err := d.Count(counter); err == nil && packets > 0 {
				return nil
			}
		}
	}
	return is.verdict()
}

func (d *SAI) proveHash(r *Record, existing map[string]*Record) error {
	use, err := hashUseOf(r.Attrs[0].Name)
	if err != nil {
		return err
	}
	want := refs{existing}.id(keyHash)
	now, err := d.hashOf(use)
	var is readBack
	is.add(now == want, now == sai.Null, fmt.Errorf("%s is %s, set was %s", use.Name, now, want), err)
	return is.verdict()
}

// readBack is what came of reading the attributes of an object back.
type readBack struct {
	same    int
	empty   error // one reads as if it had never been set
	differs error // one has another value
	unread  error // one could not be read
}

// add adds an attribute; what says which, and what it is.
func (b *readBack) add(same, empty bool, what, err error) {
	switch {
	case err != nil:
		b.unread = err
	case same:
		b.same++
	case empty:
		b.empty = what
	default:
		b.differs = what
	}
}

// verdict returns nil where an object is as recorded, [ErrRefused] where it is not, and
// another error where that cannot be known. A library of which all reads as if it had never
// been set does not show what it took.
func (b *readBack) verdict() error {
	switch {
	case b.differs != nil:
		return fmt.Errorf("%w: the switch has another value than it took: %w", ErrRefused, b.differs)
	case b.same > 0 && b.empty != nil:
		return fmt.Errorf("%w: the switch does not have what it took: %w", ErrRefused, b.empty)
	case b.same > 0:
		return nil
	case b.empty != nil:
		return fmt.Errorf("the SAI library does not read back what it took: %w", b.empty)
	case b.unread != nil:
		return fmt.Errorf("the SAI library does not read back what it took: %w", b.unread)
	}
	return errors.New("it has no attribute that can be read back")
}

// compare reads the attributes of an object back.
func (d *SAI) compare(kind saiattr.Kind, id sai.ObjectID, r *Record, existing map[string]*Record) (all readBack) {
	for _, attr := range r.Attrs {
		a := saiattr.ByName(attr.Name)
		if a == nil || a == saiattr.ACLTableSize || strings.Contains(attr.Value, valueUnknown) {
			continue
		}
		what := fmt.Errorf("%s of %s, set was %s", a.Name, id, attr.Value)
		if same, empty, known, err := d.compareOne(kind, id, a, attr.Value, refs{existing}); known || err != nil {
			all.add(same, empty, what, err)
		}
	}
	return all
}

// compareOne reads an attribute back; empty: it reads as if it had never been set. known is
// false for one of which not all is known.
func (d *SAI) compareOne(kind saiattr.Kind, id sai.ObjectID, a *saiattr.Attr, text string, at refs) (same, empty, known bool, err error) {
	words := strings.Split(text, ",")
	switch a.Form {
	case saiattr.S32s:
		is, err := d.lib.GetNumbers(kind, id, a)
		lacks := slices.ContainsFunc(words, func(w string) bool {
			n, ok := a.Parse(w)
			return !ok || !slices.Contains(is, uint32(n))
		})
		return !lacks && len(is) == len(words), len(is) == 0, true, err
	case saiattr.OIDs:
		is, err := d.lib.GetObjects(kind, id, a)
		want := at.id(strings.TrimPrefix(words[0], "@"))
		return slices.Contains(is, want), len(is) == 0, len(words) == 1 && want != sai.Null, err
	case saiattr.OID, saiattr.ActionOID:
		is, err := d.lib.GetObject(kind, id, a)
		want := at.id(strings.TrimPrefix(text, "@"))
		return is == want, is == sai.Null, want != sai.Null, err
	case saiattr.U32, saiattr.U64:
		is, _, err := d.lib.Read(kind, id, a)
		want, ok := a.Parse(text)
		rounded := a == saiattr.PolicerRate || a == saiattr.PolicerBurst || a == saiattr.SampleRate // as the ASIC can
		return is == want || rounded && is >= want-want/8 && is <= want+want/8, is == 0, ok && want != 0, err
	case saiattr.Bool, saiattr.U16, saiattr.S32, saiattr.FieldU8, saiattr.FieldU16, saiattr.FieldU32, saiattr.ActionU32, saiattr.ActionS32:
		is, on, err := d.lib.Read(kind, id, a)
		want, ok := a.Parse(text)
		same = on && (is == want || !ok) // not ok: a text of its own
		return same, is == 0, ok && want != 0 || a.IsAction(), err
	}
	return false, false, false, nil // addresses and octets
}
