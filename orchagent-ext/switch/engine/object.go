// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"sluice/sai-shim/saiattr"
)

// Type is the kind of an object. The ledger has it as text, so a value keeps its name
// between versions.
type Type string

// The objects of the driver sai. A binding and a switch setting are attributes of objects
// of other owners: to remove them restores the value before.
const (
	TypeACLTable   Type = "acl-table"
	TypeACLGroup   Type = "acl-table-group"
	TypeACLMember  Type = "acl-table-group-member"
	TypeACLCounter Type = "acl-counter"
	TypeACLEntry   Type = "acl-entry"
	TypeSample     Type = "samplepacket"
	TypeUserTrap   Type = "user-defined-trap"
	TypeTrapRoute  Type = "host-interface-table-entry"
	TypePolicer    Type = "policer"
	TypeTrapGroup  Type = "trap-group"
	TypeInterface  Type = "router-interface"
	TypeNextHop    Type = "next-hop"
	TypeHopGroup   Type = "next-hop-group"
	TypeHopMember  Type = "next-hop-group-member"
	TypeUDFMatch   Type = "udf-match"
	TypeUDFGroup   Type = "udf-group"
	TypeUDF        Type = "udf"
	TypeHash       Type = "hash"
	TypeBinding    Type = "port-binding"
	TypeSwitchHash Type = "switch-hash"
	TypeHashList   Type = "hash-list" // a field in the list of the default hash
	TypeSwitchSeed Type = "switch-seed"
)

// The objects of the driver orchagent: a row of CONFIG_DB, and a field that is
// added to a list of hash fields.
const (
	TypeRow       Type = "row"
	TypeHashField Type = "hash-field"
)

// ValueUnknown is the value of an attribute in the ledger while it is being set.
const ValueUnknown = "unknown"

// Attr is an attribute as text: its SAI name, and the value as `show` prints it.
// A value that begins with @ is the key of another object.
type Attr struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Object is an object on the switch, or one to create there.
type Object struct {
	Key   string `json:"key"` // names it within Sluice, whatever its id
	Type  Type   `json:"type"`
	Attrs []Attr `json:"attributes"`

	// Optional objects are left out where the switch refuses them: the operator gets a
	// warning, and the rest is created.
	Optional bool `json:"-"`

	// Meets is the need whose method depends on this object; "" for other objects.
	Meets Need `json:"-"`

	Values []saiattr.Value // typed, as Attrs are their text; nil for what another process created
}

// Attr returns the value of an attribute, or "". [Object.Value] distinguishes an
// attribute that is empty.
func (o *Object) Attr(name string) string {
	for _, a := range o.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// Typed returns the value of an attribute to be set; for one that the object lacks, the
// value that switches an action off. known is false for an attribute without a type.
func (o *Object) Typed(name string) (v saiattr.Value, known bool) {
	for i := range o.Values {
		if o.Values[i].Name == name {
			return o.Values[i], true
		}
	}
	a := saiattr.ByName(name)
	if a == nil {
		return v, false
	}
	return a.Disabled(), true
}

// same reports whether two objects are alike on the switch. The key is ignored, and so
// are Optional, Meets and Values.
func (o *Object) same(other *Object) bool {
	return o.Type == other.Type && slices.Equal(o.Attrs, other.Attrs)
}

// changes are the attributes that differ between an object on the switch and the
// wanted one. ok is false where one of them cannot be set in place.
func (o *Object) changes(want *Object, settable func(attr string) bool) (names []string, ok bool) {
	if o.Type != want.Type {
		return nil, false
	}
	differ := func(name string) {
		is, there := o.Value(name)
		wanted, toBe := want.Value(name)
		if name != saiattr.ACLTableSize.Name && !slices.Contains(names, name) && (is != wanted || there != toBe) {
			names = append(names, name)
		}
	}
	for _, a := range o.Attrs {
		differ(a.Name)
	}
	for _, a := range want.Attrs {
		differ(a.Name)
	}
	return names, !slices.ContainsFunc(names, func(name string) bool { return !settable(name) })
}

// Value returns the text of an attribute, and whether the object has it.
func (o *Object) Value(name string) (v string, there bool) {
	for _, a := range o.Attrs {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// refers reports whether a value refers to an object.
func refers(value, key string) bool {
	return slices.Contains(strings.Split(value, ","), "@"+key)
}

// References yields the keys of the objects that this one refers to, for a range loop. A
// key comes once for each attribute that has it.
func (o *Object) References(yield func(key string) bool) {
	for _, a := range o.Attrs {
		for _, v := range strings.Split(a.Value, ",") {
			if key, ok := strings.CutPrefix(v, "@"); ok && !yield(key) {
				return
			}
		}
	}
}
