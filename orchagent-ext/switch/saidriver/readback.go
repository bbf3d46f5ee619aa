// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// readBack is the result of reading the attributes of an object back.
type readBack struct {
	same    int
	empty   error // one reads as if it had never been set
	differs error // one has another value
	unread  error // one could not be read

	differing string // the attribute of differs, else of empty
}

// add adds an attribute; what has its name and value.
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

// verdict returns nil where an object is as recorded, [engine.ErrRefused] where it
// differs, and another error where it is unknown. A library that returns the value of a
// new object for all attributes hides the values that it took.
func (b *readBack) verdict() error {
	switch {
	case b.differs != nil:
		return fmt.Errorf("%w: the switch has another value than it took: %w", engine.ErrRefused, b.differs)
	case b.same > 0 && b.empty != nil:
		return fmt.Errorf("%w: the switch does not have what it took: %w", engine.ErrRefused, b.empty)
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
func compare(lib *sai.Library, kind saiattr.Kind, id sai.ObjectID, r *engine.Record, at refs) (all readBack) {
	for _, attr := range r.Attrs {
		a := saiattr.ByName(attr.Name)
		if a == nil || a == saiattr.ACLTableSize || strings.Contains(attr.Value, engine.ValueUnknown) {
			continue
		}
		what := fmt.Errorf("%s of %s, set was %s", a.Name, id, attr.Value)
		if same, empty, known, err := compareOne(lib, kind, id, a, attr.Value, at); known || err != nil {
			all.add(same, empty, what, err)
			if err == nil && !same && (all.differing == "" || !empty) {
				all.differing = a.Name
			}
		}
	}
	return all
}

// compareOne reads an attribute back; empty is true for the value of a new object. known
// is false for an attribute that is known in part only.
func compareOne(lib *sai.Library, kind saiattr.Kind, id sai.ObjectID, a *saiattr.Attr, text string, at refs) (same, empty, known bool, err error) {
	words := strings.Split(text, ",")
	switch a.Form {
	case saiattr.S32s:
		is, err := lib.GetNumbers(kind, id, a)
		lacks := slices.ContainsFunc(words, func(w string) bool {
			n, ok := a.Parse(w)
			return !ok || !slices.Contains(is, uint32(n))
		})
		return !lacks && len(is) == len(words), len(is) == 0, true, err
	case saiattr.OIDs:
		is, err := lib.GetObjects(kind, id, a)
		want := at.id(strings.TrimPrefix(words[0], "@"))
		return slices.Contains(is, want), len(is) == 0, len(words) == 1 && want != sai.Null, err
	case saiattr.OID, saiattr.ActionOID:
		is, err := lib.GetObject(kind, id, a)
		want := at.id(strings.TrimPrefix(text, "@"))
		return is == want, is == sai.Null, want != sai.Null, err
	case saiattr.U32, saiattr.U64:
		is, _, err := lib.Read(kind, id, a)
		want, ok := a.Parse(text)
		// as the ASIC can
		rounded := a == saiattr.PolicerRate || a == saiattr.PolicerBurst || a == saiattr.SampleRate
		return is == want || rounded && is >= want-want/8 && is <= want+want/8, is == 0, ok && want != 0, err
	case saiattr.Bool, saiattr.U16, saiattr.S32, saiattr.FieldU8, saiattr.FieldU16, saiattr.FieldU32, saiattr.ActionU32, saiattr.ActionS32:
		is, on, err := lib.Read(kind, id, a)
		want, ok := a.Parse(text)
		same = on && (is == want || !ok) // not ok: a text of its own
		return same, is == 0, ok && want != 0 || a.IsAction(), err
	}
	return false, false, false, nil // addresses and octets
}
