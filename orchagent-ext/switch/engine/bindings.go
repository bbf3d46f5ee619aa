// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"sluice/sai-shim/saiattr"
)

// NewBinding returns the object that binds a table to a port at ingress. port is SONiC's
// name; table is the key of a table, or of a group where the switch binds groups only.
// The object is optional: a port that is missing costs the others nothing.
func NewBinding(port, table string) Object {
	return optional(NewObject(PrefixPort+port, TypeBinding, saiattr.PortIngressACL.Ref(table)))
}

// BoundPort returns the name of the port of a binding. For an object of another type the
// key is returned as it is.
func BoundPort(o *Object) string { return strings.TrimPrefix(o.Key, PrefixPort) }

// groupObjects returns the group that a table is bound by where a library binds groups
// only, and the table's membership.
func groupObjects(table string) []Object {
	return []Object{
		NewObject(table+SuffixGroup, TypeACLGroup, saiattr.ACLGroupStage.Enum("ingress"), saiattr.ACLGroupBindPoints.Enum("port"), saiattr.ACLGroupType.Enum("parallel")),
		NewObject(table+SuffixMember, TypeACLMember, saiattr.ACLMemberGroup.Ref(table+SuffixGroup), saiattr.ACLMemberTable.Ref(table), saiattr.ACLMemberPriority.Of(0)),
	}
}

// bindings returns the objects that bind a table to ports, in a group where the switch
// binds groups only.
//
//conformance:draft-hu/ingress
func bindings(table string, ports []string, f Features) (all []Object) {
	to := table
	if f.Grouped {
		all, to = groupObjects(table), table+SuffixGroup
	}
	for _, port := range ports {
		all = append(all, NewBinding(port, to))
	}
	return slices.Clip(all)
}
