// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"slices"
	"strings"
)

// Type is the kind of an object.
type Type string

// The objects of the driver sai. A binding and a switch setting are attributes of
// objects that are not ours: to remove them is to set back what was there.
const (
	TypeACLTable   Type = "acl-table"
	TypeACLCounter Type = "acl-counter"
	TypeACLEntry   Type = "acl-entry"
	TypeSample     Type = "samplepacket"
	TypeUserTrap   Type = "user-defined-trap"
	TypePolicer    Type = "policer"
	TypeTrapGroup  Type = "trap-group"
	TypeUDFMatch   Type = "udf-match"
	TypeUDFGroup   Type = "udf-group"
	TypeUDF        Type = "udf"
	TypeHash       Type = "hash"
	TypeBinding    Type = "port-binding"
	TypeSwitchHash Type = "switch-hash"
)

// The objects of the driver orchagent: a row of CONFIG_DB, and a field that is
// added to a list of hash fields.
const (
	TypeRow       Type = "row"
	TypeHashField Type = "hash-field"
)

// Attr is an attribute as text: its SAI name, and the value as `show` prints it.
// A value that begins with @ is the key of another object.
type Attr struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Object is something that stands on the switch, or is to.
type Object struct {
	Key   string `json:"key"` // names it within Sluice, whatever its id
	Type  Type   `json:"type"`
	Attrs []Attr `json:"attributes"`

	// Optional objects are done without where the switch refuses them: the
	// operator is told, and the rest stands.
	Optional bool `json:"-"`

	spec spec // nil for what another process created
}

// Attr returns the value of an attribute, "" where there is none.
func (o *Object) Attr(name string) string {
	for _, a := range o.Attrs {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

// same reports whether two objects are alike on the switch.
func (o *Object) same(other *Object) bool {
	return o.Type == other.Type && slices.Equal(o.Attrs, other.Attrs)
}

// refs yields the keys of the objects that this one stands on.
func (o *Object) refs(yield func(key string) bool) {
	for _, a := range o.Attrs {
		for _, v := range strings.Split(a.Value, ",") {
			if key, ok := strings.CutPrefix(v, "@"); ok && !yield(key) {
				return
			}
		}
	}
}

// spec is an object before it is created, typed.
type spec interface {
	object() Object
}
