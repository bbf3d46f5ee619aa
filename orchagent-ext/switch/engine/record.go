// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"slices"
	"strings"
)

// ID names an object on the switch: "oid:0x…" as SONiC writes it, or, for a setting of
// another owner's object, that object and the attribute.
type ID string

// Record is an object on the switch, as the ledger has it.
type Record struct {
	Object
	ID ID

	// Previous is the value before a binding or a switch setting, which removal restores, or
	// "".
	Previous ID
}

// before is 1 for a record that was written before its object was created, else 0.
func (r *Record) before() int {
	if strings.HasPrefix(string(r.ID), PrefixUnknown) {
		return 1
	}
	return 0
}

// adoptLast is the last place in the order of adoption.
const adoptLast = 5

// order is the order of adoption: an object after those that it refers to, then flows.
// Records that were written before their object was created are last: an object whose id
// the ledger has is found by that first.
func (r *Record) order() int {
	switch {
	case r.before() == 1:
		return adoptLast
	case strings.HasPrefix(r.Key, PrefixFlow):
		return 4
	case slices.Contains([]Type{TypeInterface, TypePolicer, TypeSample, TypeUDFMatch, TypeUDFGroup, TypeACLGroup, TypeHopGroup}, r.Type):
		return 0
	case slices.Contains([]Type{TypeNextHop, TypeACLTable, TypeTrapGroup, TypeUDF, TypeHash}, r.Type):
		return 1
	case r.Type == TypeACLEntry:
		return 3
	}
	return 2
}

// leastAttrs are the types that drivers create, and how many attributes each has at
// least.
var leastAttrs = map[Type]int{
	TypeTrapRoute: 0, TypeACLTable: 0, TypeACLGroup: 0, TypeACLMember: 0, TypeACLCounter: 0, TypeACLEntry: 0, TypeSample: 0, TypeUserTrap: 0, TypePolicer: 0, TypeTrapGroup: 0, TypeInterface: 0, TypeNextHop: 0, TypeHopGroup: 0, TypeHopMember: 0,
	TypeUDFMatch: 0, TypeUDFGroup: 0, TypeUDF: 0, TypeHash: 0, TypeBinding: 0, TypeSwitchHash: 1, TypeHashList: 1, TypeSwitchSeed: 1, TypeRow: 0, TypeHashField: 1, typeChanging: 0,
}

// In a row blanks separate attributes, and a value may have one: operators write rows
// of CONFIG_DB, too.
var (
	escape   = strings.NewReplacer("%", "%25", " ", "%20")
	unescape = strings.NewReplacer("%25", "%", "%20", " ")
)

// Fields is the record as a row of STATE_DB's SLUICE_ASIC_OBJECT, whose key is
// the ID.
func (r *Record) Fields() map[string]string {
	words := make([]string, len(r.Attrs))
	for i, a := range r.Attrs {
		words[i] = a.Name + "=" + escape.Replace(a.Value)
	}
	fields := map[string]string{"key": r.Key, "type": string(r.Type), "attributes": strings.Join(words, " ")}
	if r.Previous != "" {
		fields["previous"] = string(r.Previous)
	}
	return fields
}

// ParseRecord reads a row that [Record.Fields] made. A row without key or type, of a type
// that no driver creates, or with fewer attributes than its type needs is an error: a
// driver would index into them.
func ParseRecord(id ID, fields map[string]string) (*Record, error) {
	r := &Record{ID: id, Previous: ID(fields["previous"])}
	r.Key, r.Type = fields["key"], Type(fields["type"])
	if id == "" || r.Key == "" || r.Type == "" {
		return nil, fmt.Errorf("ledger: object %q has no key or no type", id)
	}
	for word := range strings.SplitSeq(fields["attributes"], " ") {
		if word == "" {
			continue
		}
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			return nil, fmt.Errorf("ledger: object %q: %q is no attribute", id, word)
		}
		r.Attrs = append(r.Attrs, Attr{name, unescape.Replace(value)})
	}
	switch attrs, known := leastAttrs[r.Type]; {
	case !known:
		return nil, fmt.Errorf("ledger: object %q: no driver creates the type %.100q", id, r.Type)
	case len(r.Attrs) < attrs:
		return nil, fmt.Errorf("ledger: object %q: a %s has %d attributes or more", id, r.Type, attrs)
	}
	return r, nil
}

// PrefixUnknown begins the id of a record that was written before its object was created.
// Its Previous is the state at that time: the objects of the type, with commas between,
// or, without lists, the one that Sluice created last; or the value of the attribute.
const PrefixUnknown = "unknown:"
