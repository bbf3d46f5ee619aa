// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"

	"sluice/yang/text"
)

// Validate judges rows together: each on its own, its references, and whether two have
// the same key. A reference is good if it leads to one of the rows, or to one that there
// reports for SONiC's tables, such as PORT. The result has at most one error a row, in
// the order of the rows' names.
func Validate(all []Row, there func(table, key string) bool) []*Error {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b Row) int { return strings.Compare(a.Name(), b.Name()) })
	names := make(map[string]bool)
	for _, r := range all {
		names[r.Name()] = true
	}
	known := func(table, key string) bool { return names[table+keySeparator+key] || there(table, key) }

	var errs []*Error
	first := make(map[string]string) // key as written, by canonical name
	for _, r := range all {
		if _, err := Decode(r); err != nil {
			errs = append(errs, AsError(err))
			continue
		}
		refs := r.References()
		if i := slices.IndexFunc(refs, func(f Reference) bool { return !f.Good(known) }); i >= 0 {
			errs = append(errs, r.Missing(refs[i]))
			continue
		}
		canonical := r.Table + keySeparator + r.CanonicalKey()
		if other, ok := first[canonical]; ok {
			errs = append(errs, r.Twice(other))
			continue
		}
		first[canonical] = r.Key
		if err := r.Clash(func(table string) (Row, bool) { return find(all, table) }); err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// find returns the only row of a table; false where Decode rejects it.
func find(all []Row, table string) (Row, bool) {
	i := slices.IndexFunc(all, func(r Row) bool { return r.Table == table })
	if i < 0 {
		return Row{Table: table, Key: byName()[table].only}, true
	}
	_, err := Decode(all[i])
	return all[i], err == nil
}

// Twice returns the error of a row whose key means the same as that of another. other is
// the key of that row, which stays in force.
func (r Row) Twice(other string) *Error {
	return r.wrong("", "", "is the same as %s|%s", r.Table, text.Cut(other, LongestQuote))
}

// CanonicalKey returns the key of a row that [Decode] accepts in the form by which keys
// are compared, each value as [Canonical] returns it. It is for comparison; rows keep their
// names.
func (r Row) CanonicalKey() string {
	t, ok := byName()[r.Table]
	if !ok || t.only != "" {
		return r.Key
	}
	parts := strings.SplitN(r.Key, keySeparator, len(t.keys))
	for i := range parts {
		parts[i] = Canonical(t.entry.Dir[t.keys[i]].Type, parts[i])
	}
	return strings.Join(parts, keySeparator)
}

// Spelled reports whether values of a type have several spellings.
func Spelled(t *yang.YangType) bool { return t.Name == "ip-prefix" || t.Name == "ip-address-no-zone" }

// Canonical returns the canonical form of a value (RFC 6991 section 4): addresses in their
// shortest spelling (RFC 5952), and prefixes with bits of 0 after their length. Values of other
// types, and those that their type refuses, are as they are.
func Canonical(t *yang.YangType, value string) string {
	if !Spelled(t) {
		return value
	}
	if p, err := netip.ParsePrefix(value); err == nil && t.Name == "ip-prefix" {
		return p.Masked().String()
	}
	if a, err := netip.ParseAddr(value); err == nil && t.Name == "ip-address-no-zone" {
		return a.String()
	}
	return value
}
