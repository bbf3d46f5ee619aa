// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import "slices"

// HashField is a native hash field.
type HashField int32

// The fields that are used.
const (
	HashSrcIP         HashField = C.SAI_NATIVE_HASH_FIELD_SRC_IP
	HashDstIP         HashField = C.SAI_NATIVE_HASH_FIELD_DST_IP
	HashIPProtocol    HashField = C.SAI_NATIVE_HASH_FIELD_IP_PROTOCOL
	HashL4SrcPort     HashField = C.SAI_NATIVE_HASH_FIELD_L4_SRC_PORT
	HashL4DstPort     HashField = C.SAI_NATIVE_HASH_FIELD_L4_DST_PORT
	HashIPv6FlowLabel HashField = C.SAI_NATIVE_HASH_FIELD_IPV6_FLOW_LABEL
	HashBTHDestQP     HashField = C.SAI_NATIVE_HASH_FIELD_RDMA_BTH_DEST_QP
)

// CreateHash creates a hash over native fields and UDF groups.
func (l *Library) CreateHash(fields []HashField, groups []ObjectID) (ObjectID, error) {
	v := make([]int32, len(fields))
	for i, f := range fields {
		v[i] = int32(f)
	}
	l.enums(C.SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST, "SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST", v)
	if len(groups) > 0 {
		l.oids(C.SAI_HASH_ATTR_UDF_GROUP_LIST, "SAI_HASH_ATTR_UDF_GROUP_LIST", groups)
	}
	return l.create(KindHash)
}

// RemoveHash removes a hash that no use refers to.
func (l *Library) RemoveHash(id ObjectID) error { return l.remove(KindHash, id) }

// HashFields returns the native fields of a hash.
func (l *Library) HashFields(id ObjectID) ([]HashField, error) {
	return getList[HashField](l, KindHash, id, C.SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST, "SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST")
}

// CanHash says whether a hash takes a native field; known is false where the
// library does not tell.
func (l *Library) CanHash(f HashField) (can, known bool) {
	values, known := l.enumValues(KindHash, C.SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST)
	return slices.Contains(values, int32(f)), known
}

// CanHashUDF says the same of UDF groups.
func (l *Library) CanHashUDF() (can, known bool) {
	can, _, known = l.capability(KindHash, C.SAI_HASH_ATTR_UDF_GROUP_LIST)
	return can, known
}

// CreateUDFMatch creates the condition of a user-defined field: a UDP destination
// port.
func (l *Library) CreateUDFMatch(port uint16) (ObjectID, error) {
	l.named("SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE")
	C.shim_field_u16(l.shim, C.SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE, C.uint16_t(port), 0xffff)
	return l.create(KindUDFMatch)
}

// RemoveUDFMatch removes it.
func (l *Library) RemoveUDFMatch(id ObjectID) error { return l.remove(KindUDFMatch, id) }

// CreateUDFGroup creates a group of fields of length octets, for hashing or for
// ACLs.
func (l *Library) CreateUDFGroup(hash bool, length uint16) (ObjectID, error) {
	kind := int32(C.SAI_UDF_GROUP_TYPE_GENERIC)
	if hash {
		kind = C.SAI_UDF_GROUP_TYPE_HASH
	}
	l.enum(C.SAI_UDF_GROUP_ATTR_TYPE, "SAI_UDF_GROUP_ATTR_TYPE", kind)
	l.named("SAI_UDF_GROUP_ATTR_LENGTH")
	C.shim_u16(l.shim, C.SAI_UDF_GROUP_ATTR_LENGTH, C.uint16_t(length))
	return l.create(KindUDFGroup)
}

// RemoveUDFGroup removes it.
func (l *Library) RemoveUDFGroup(id ObjectID) error { return l.remove(KindUDFGroup, id) }

// CreateUDF creates a field of the group: the octets at offset from the L4
// header, in packets that match. Of a group for hashing, mask says which bits are
// hashed: as many octets as the group is long, since SAI's default is two. For
// ACLs it is nil: their entries have masks of their own.
func (l *Library) CreateUDF(match, group ObjectID, offset uint16, mask []byte) (ObjectID, error) {
	l.oid(C.SAI_UDF_ATTR_MATCH_ID, "SAI_UDF_ATTR_MATCH_ID", match)
	l.oid(C.SAI_UDF_ATTR_GROUP_ID, "SAI_UDF_ATTR_GROUP_ID", group)
	l.enum(C.SAI_UDF_ATTR_BASE, "SAI_UDF_ATTR_BASE", C.SAI_UDF_BASE_L4)
	l.named("SAI_UDF_ATTR_OFFSET")
	C.shim_u16(l.shim, C.SAI_UDF_ATTR_OFFSET, C.uint16_t(offset))
	if len(mask) > 0 {
		l.named("SAI_UDF_ATTR_HASH_MASK")
		C.shim_u8s(l.shim, C.SAI_UDF_ATTR_HASH_MASK, octets(mask), C.uint32_t(len(mask)))
	}
	return l.create(KindUDF)
}

// RemoveUDF removes it.
func (l *Library) RemoveUDF(id ObjectID) error { return l.remove(KindUDF, id) }

func (l *Library) remove(k Kind, id ObjectID) error {
	return l.check("remove", k.name, C.shim_remove(l.shim, k.number, C.uint64_t(id)))
}
