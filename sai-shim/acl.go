// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

import (
	"encoding/binary"
	"net/netip"
	"unsafe"
)

// ACLTable is an ingress ACL table to be bound to ports, and what its entries may
// match.
type ACLTable struct {
	Size                           uint32 // entries; 0: the library's choice
	SrcIPv6, DstIPv6, SrcIP, DstIP bool
	L4SrcPort, L4DstPort           bool
	InnerL4DstPort                 bool // of a packet in a tunnel
	IPProtocol, IPv6NextHeader     bool
	IPv6FlowLabel                  bool
	IPType                         bool // IPv6 or not, whatever follows
	BTHOpcode, AETHSyndrome        bool
	InPort                         bool
	UDFGroup                       ObjectID // matched by entries' UDF; Null: none
}

// CreateACLTable creates a table.
func (l *Library) CreateACLTable(t ACLTable) (ObjectID, error) {
	l.enum(C.SAI_ACL_TABLE_ATTR_ACL_STAGE, "SAI_ACL_TABLE_ATTR_ACL_STAGE", C.SAI_ACL_STAGE_INGRESS)
	l.enums(C.SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST, "SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST", []int32{C.SAI_ACL_BIND_POINT_TYPE_PORT})
	if t.Size > 0 {
		l.u32(C.SAI_ACL_TABLE_ATTR_SIZE, "SAI_ACL_TABLE_ATTR_SIZE", t.Size)
	}
	for _, f := range []struct {
		on   bool
		id   C.uint32_t
		name string
	}{
		{t.L4DstPort, C.SAI_ACL_TABLE_ATTR_FIELD_L4_DST_PORT, "SAI_ACL_TABLE_ATTR_FIELD_L4_DST_PORT"},
		{t.InnerL4DstPort, C.SAI_ACL_TABLE_ATTR_FIELD_INNER_L4_DST_PORT, "SAI_ACL_TABLE_ATTR_FIELD_INNER_L4_DST_PORT"},
		{t.L4SrcPort, C.SAI_ACL_TABLE_ATTR_FIELD_L4_SRC_PORT, "SAI_ACL_TABLE_ATTR_FIELD_L4_SRC_PORT"},
		{t.IPv6FlowLabel, C.SAI_ACL_TABLE_ATTR_FIELD_IPV6_FLOW_LABEL, "SAI_ACL_TABLE_ATTR_FIELD_IPV6_FLOW_LABEL"},
		{t.SrcIPv6, C.SAI_ACL_TABLE_ATTR_FIELD_SRC_IPV6, "SAI_ACL_TABLE_ATTR_FIELD_SRC_IPV6"},
		{t.DstIPv6, C.SAI_ACL_TABLE_ATTR_FIELD_DST_IPV6, "SAI_ACL_TABLE_ATTR_FIELD_DST_IPV6"},
		{t.SrcIP, C.SAI_ACL_TABLE_ATTR_FIELD_SRC_IP, "SAI_ACL_TABLE_ATTR_FIELD_SRC_IP"},
		{t.DstIP, C.SAI_ACL_TABLE_ATTR_FIELD_DST_IP, "SAI_ACL_TABLE_ATTR_FIELD_DST_IP"},
		{t.IPProtocol, C.SAI_ACL_TABLE_ATTR_FIELD_IP_PROTOCOL, "SAI_ACL_TABLE_ATTR_FIELD_IP_PROTOCOL"},
		{t.IPv6NextHeader, C.SAI_ACL_TABLE_ATTR_FIELD_IPV6_NEXT_HEADER, "SAI_ACL_TABLE_ATTR_FIELD_IPV6_NEXT_HEADER"},
		{t.IPType, C.SAI_ACL_TABLE_ATTR_FIELD_ACL_IP_TYPE, "SAI_ACL_TABLE_ATTR_FIELD_ACL_IP_TYPE"},
		{t.BTHOpcode, C.SAI_ACL_TABLE_ATTR_FIELD_BTH_OPCODE, "SAI_ACL_TABLE_ATTR_FIELD_BTH_OPCODE"},
		{t.AETHSyndrome, C.SAI_ACL_TABLE_ATTR_FIELD_AETH_SYNDROME, "SAI_ACL_TABLE_ATTR_FIELD_AETH_SYNDROME"},
		{t.InPort, C.SAI_ACL_TABLE_ATTR_FIELD_IN_PORT, "SAI_ACL_TABLE_ATTR_FIELD_IN_PORT"},
	} {
		if f.on {
			l.flag(f.id, f.name, true)
		}
	}
	if t.UDFGroup != Null {
		l.oid(C.SAI_ACL_TABLE_ATTR_USER_DEFINED_FIELD_GROUP_MIN, "SAI_ACL_TABLE_ATTR_USER_DEFINED_FIELD_GROUP_MIN", t.UDFGroup)
	}
	return l.create(KindACLTable)
}

// RemoveACLTable removes a table without entries that is bound to no port.
func (l *Library) RemoveACLTable(id ObjectID) error { return l.remove(KindACLTable, id) }

// ACLEntries returns the entries of a table.
func (l *Library) ACLEntries(table ObjectID) ([]ObjectID, error) {
	return getList[ObjectID](l, KindACLTable, table, C.SAI_ACL_TABLE_ATTR_ENTRY_LIST, "SAI_ACL_TABLE_ATTR_ENTRY_LIST")
}

// ComputeLabel is the extension's action that computes the flow label.
type ComputeLabel struct {
	Algorithm Algorithm
	ZeroOnly  bool // leave labels that are not 0
	Outer     bool // write the outermost header of IPv6 tunnels, too
}

// Algorithm is the hash behind a computed label.
type Algorithm int32

// The algorithms of the extension.
const (
	DraftLiteral Algorithm = C.SAI_SLUICE_FLOW_LABEL_DRAFT_LITERAL
	CRC32        Algorithm = C.SAI_SLUICE_FLOW_LABEL_CRC32
)

// UDFValue is what four octets of a user-defined field are compared with.
type UDFValue struct{ Value, Mask uint32 }

// ACLEntry is an entry. Of the matches, those that are nil or not valid match
// everything; of the actions, those that are nil or Null do nothing.
type ACLEntry struct {
	Table    ObjectID
	Priority uint32 // the highest wins

	SrcIPv6, DstIPv6     netip.Addr
	SrcIP, DstIP         netip.Addr // IPv4
	L4SrcPort, L4DstPort *uint16
	InnerL4DstPort       *uint16
	IPProtocol           *uint8
	IPv6NextHeader       *uint8
	IPv6FlowLabel        *uint32 // 20 bits
	OnlyIPv6, OnlyIPv4   bool
	BTHOpcode            *uint8
	AETHSyndrome         *uint8
	InPort               ObjectID
	UDF                  *UDFValue

	Counter      ObjectID
	SetLabel     *uint32 // extension; 20 bits
	ComputeLabel *ComputeLabel
	CopyToCPU    bool
	UserTrap     ObjectID
	Policer      ObjectID
	Mirror       ObjectID // copies the packet as it comes in
	Sample       ObjectID // sample packets as this object says
	TC           *uint8   // traffic class
	DSCP         *uint8
}

var allOnes = [16]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255}

// CreateACLEntry creates an entry, which is in force at once.
func (l *Library) CreateACLEntry(e ACLEntry) (ObjectID, error) {
	l.oid(C.SAI_ACL_ENTRY_ATTR_TABLE_ID, "SAI_ACL_ENTRY_ATTR_TABLE_ID", e.Table)
	l.u32(C.SAI_ACL_ENTRY_ATTR_PRIORITY, "SAI_ACL_ENTRY_ATTR_PRIORITY", e.Priority)
	l.flag(C.SAI_ACL_ENTRY_ATTR_ADMIN_STATE, "SAI_ACL_ENTRY_ATTR_ADMIN_STATE", true)
	l.address(C.SAI_ACL_ENTRY_ATTR_FIELD_SRC_IPV6, "SAI_ACL_ENTRY_ATTR_FIELD_SRC_IPV6", e.SrcIPv6)
	l.address(C.SAI_ACL_ENTRY_ATTR_FIELD_DST_IPV6, "SAI_ACL_ENTRY_ATTR_FIELD_DST_IPV6", e.DstIPv6)
	l.address4(C.SAI_ACL_ENTRY_ATTR_FIELD_SRC_IP, "SAI_ACL_ENTRY_ATTR_FIELD_SRC_IP", e.SrcIP)
	l.address4(C.SAI_ACL_ENTRY_ATTR_FIELD_DST_IP, "SAI_ACL_ENTRY_ATTR_FIELD_DST_IP", e.DstIP)
	l.port(C.SAI_ACL_ENTRY_ATTR_FIELD_L4_SRC_PORT, "SAI_ACL_ENTRY_ATTR_FIELD_L4_SRC_PORT", e.L4SrcPort)
	l.port(C.SAI_ACL_ENTRY_ATTR_FIELD_L4_DST_PORT, "SAI_ACL_ENTRY_ATTR_FIELD_L4_DST_PORT", e.L4DstPort)
	l.port(C.SAI_ACL_ENTRY_ATTR_FIELD_INNER_L4_DST_PORT, "SAI_ACL_ENTRY_ATTR_FIELD_INNER_L4_DST_PORT", e.InnerL4DstPort)
	l.octet(C.SAI_ACL_ENTRY_ATTR_FIELD_IP_PROTOCOL, "SAI_ACL_ENTRY_ATTR_FIELD_IP_PROTOCOL", e.IPProtocol)
	l.octet(C.SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER, "SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER", e.IPv6NextHeader)
	l.octet(C.SAI_ACL_ENTRY_ATTR_FIELD_BTH_OPCODE, "SAI_ACL_ENTRY_ATTR_FIELD_BTH_OPCODE", e.BTHOpcode)
	l.octet(C.SAI_ACL_ENTRY_ATTR_FIELD_AETH_SYNDROME, "SAI_ACL_ENTRY_ATTR_FIELD_AETH_SYNDROME", e.AETHSyndrome)
	if e.InPort != Null {
		l.named("SAI_ACL_ENTRY_ATTR_FIELD_IN_PORT")
		C.shim_field_oid(l.shim, C.SAI_ACL_ENTRY_ATTR_FIELD_IN_PORT, C.uint64_t(e.InPort))
	}
	if e.IPv6FlowLabel != nil {
		l.named("SAI_ACL_ENTRY_ATTR_FIELD_IPV6_FLOW_LABEL")
		C.shim_field_u32(l.shim, C.SAI_ACL_ENTRY_ATTR_FIELD_IPV6_FLOW_LABEL, C.uint32_t(*e.IPv6FlowLabel), 0xfffff)
	}
	if e.OnlyIPv6 {
		l.ipType(C.SAI_ACL_IP_TYPE_IPV6ANY)
	}
	if e.OnlyIPv4 {
		l.ipType(C.SAI_ACL_IP_TYPE_IPV4ANY)
	}
	if e.UDF != nil {
		var data, mask [4]byte
		binary.BigEndian.PutUint32(data[:], e.UDF.Value)
		binary.BigEndian.PutUint32(mask[:], e.UDF.Mask)
		l.named("SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN")
		C.shim_field_octets(l.shim, C.SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN, octets(data[:]), octets(mask[:]), 4)
	}
	l.actions(&e)
	return l.create(KindACLEntry)
}

// SetACLEntrySample makes an entry sample packets as an object says; Null: not.
func (l *Library) SetACLEntrySample(entry, sample ObjectID) error {
	if sample == Null {
		l.off(C.SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE, "SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE")
	} else {
		l.actions(&ACLEntry{Sample: sample})
	}
	return l.set(KindACLEntry, entry)
}

// SetACLEntryLabel makes an entry write another flow label; nil: none.
func (l *Library) SetACLEntryLabel(entry ObjectID, label *uint32) error {
	if label == nil {
		l.off(C.uint32_t(l.setID), "SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL")
	} else {
		l.actions(&ACLEntry{SetLabel: label})
	}
	return l.set(KindACLEntry, entry)
}

// SetACLEntryCompute makes an entry compute the flow label in another way; nil: not.
func (l *Library) SetACLEntryCompute(entry ObjectID, compute *ComputeLabel) error {
	if compute == nil {
		l.off(C.uint32_t(l.compID), "SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL")
	} else {
		l.actions(&ACLEntry{ComputeLabel: compute})
	}
	return l.set(KindACLEntry, entry)
}

// off disables an action.
func (l *Library) off(id C.uint32_t, name string) {
	l.named(name)
	C.shim_action_off(l.shim, id)
}

func (l *Library) actions(e *ACLEntry) {
	if e.SetLabel != nil {
		l.named("SAI_ACL_ENTRY_ATTR_ACTION_SET_IPV6_FLOW_LABEL")
		C.shim_action_u32(l.shim, C.uint32_t(l.setID), C.uint32_t(*e.SetLabel))
	}
	if c := e.ComputeLabel; c != nil {
		v := int32(c.Algorithm)
		if c.ZeroOnly {
			v |= C.SAI_SLUICE_FLOW_LABEL_ZERO_ONLY
		}
		if c.Outer {
			v |= C.SAI_SLUICE_FLOW_LABEL_OUTER
		}
		l.named("SAI_ACL_ENTRY_ATTR_ACTION_COMPUTE_IPV6_FLOW_LABEL")
		C.shim_action_s32(l.shim, C.uint32_t(l.compID), C.int32_t(v))
	}
	if e.CopyToCPU {
		l.named("SAI_ACL_ENTRY_ATTR_ACTION_PACKET_ACTION")
		C.shim_action_s32(l.shim, C.SAI_ACL_ENTRY_ATTR_ACTION_PACKET_ACTION, C.SAI_PACKET_ACTION_COPY)
	}
	l.action(C.SAI_ACL_ENTRY_ATTR_ACTION_SET_USER_TRAP_ID, "SAI_ACL_ENTRY_ATTR_ACTION_SET_USER_TRAP_ID", e.UserTrap)
	l.action(C.SAI_ACL_ENTRY_ATTR_ACTION_SET_POLICER, "SAI_ACL_ENTRY_ATTR_ACTION_SET_POLICER", e.Policer)
	if e.Mirror != Null {
		l.named("SAI_ACL_ENTRY_ATTR_ACTION_MIRROR_INGRESS")
		C.shim_action_oids(l.shim, C.SAI_ACL_ENTRY_ATTR_ACTION_MIRROR_INGRESS, (*C.uint64_t)(&e.Mirror), 1)
	}
	l.action(C.SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE, "SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE", e.Sample)
	l.action8(C.SAI_ACL_ENTRY_ATTR_ACTION_SET_TC, "SAI_ACL_ENTRY_ATTR_ACTION_SET_TC", e.TC)
	l.action8(C.SAI_ACL_ENTRY_ATTR_ACTION_SET_DSCP, "SAI_ACL_ENTRY_ATTR_ACTION_SET_DSCP", e.DSCP)
	l.action(C.SAI_ACL_ENTRY_ATTR_ACTION_COUNTER, "SAI_ACL_ENTRY_ATTR_ACTION_COUNTER", e.Counter)
}

func (l *Library) action(id C.uint32_t, name string, v ObjectID) {
	if v != Null {
		l.named(name)
		C.shim_action_oid(l.shim, id, C.uint64_t(v))
	}
}

func (l *Library) address(id C.uint32_t, name string, a netip.Addr) {
	if a.IsValid() {
		data := a.As16()
		l.named(name)
		C.shim_field_ip6(l.shim, id, octets(data[:]), octets(allOnes[:]))
	}
}

func (l *Library) address4(id C.uint32_t, name string, a netip.Addr) {
	if a.IsValid() {
		data := a.As4()
		l.named(name)
		C.shim_field_ip4(l.shim, id, octets(data[:]), octets(allOnes[:4]))
	}
}

func (l *Library) port(id C.uint32_t, name string, v *uint16) {
	if v != nil {
		l.named(name)
		C.shim_field_u16(l.shim, id, C.uint16_t(*v), 0xffff)
	}
}

func (l *Library) ipType(is C.uint32_t) {
	l.named("SAI_ACL_ENTRY_ATTR_FIELD_ACL_IP_TYPE")
	C.shim_field_u32(l.shim, C.SAI_ACL_ENTRY_ATTR_FIELD_ACL_IP_TYPE, is, 0xffffffff)
}

func (l *Library) octet(id C.uint32_t, name string, v *uint8) {
	if v != nil {
		l.named(name)
		C.shim_field_u8(l.shim, id, C.uint8_t(*v), 0xff)
	}
}

func (l *Library) action8(id C.uint32_t, name string, v *uint8) {
	if v != nil {
		l.named(name)
		C.shim_action_u8(l.shim, id, C.uint8_t(*v))
	}
}

func octets(b []byte) *C.uint8_t { return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b))) }

// RemoveACLEntry removes an entry.
func (l *Library) RemoveACLEntry(id ObjectID) error { return l.remove(KindACLEntry, id) }

// CanSetLabel says whether entries can set the flow label; known is false where
// the library does not tell.
func (l *Library) CanSetLabel() (can, known bool) {
	can, _, known = l.capability(KindACLEntry, l.setID)
	return can, known
}

// CanComputeLabel says the same of computing it.
func (l *Library) CanComputeLabel() (can, known bool) {
	can, _, known = l.capability(KindACLEntry, l.compID)
	return can, known
}

// CanSample says the same of sampling packets to the CPU.
func (l *Library) CanSample() (can, known bool) {
	can, _, known = l.capability(KindACLEntry, C.SAI_ACL_ENTRY_ATTR_ACTION_INGRESS_SAMPLEPACKET_ENABLE)
	return can, known
}

// CanMatchInnerPort says the same of matching the UDP port of a packet in a tunnel.
func (l *Library) CanMatchInnerPort() (can, known bool) {
	can, _, known = l.capability(KindACLEntry, C.SAI_ACL_ENTRY_ATTR_FIELD_INNER_L4_DST_PORT)
	return can, known
}

// CanMatchProtocol says the same of matching the protocol that IPv4 and IPv6 carry.
func (l *Library) CanMatchProtocol() (can, known bool) {
	can, _, known = l.capability(KindACLEntry, C.SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER)
	if !known || !can {
		return can, known
	}
	can, _, known = l.capability(KindACLEntry, C.SAI_ACL_ENTRY_ATTR_FIELD_IP_PROTOCOL)
	return can, known
}

// CreateACLCounter creates a counter of packets and octets in a table.
func (l *Library) CreateACLCounter(table ObjectID) (ObjectID, error) {
	l.oid(C.SAI_ACL_COUNTER_ATTR_TABLE_ID, "SAI_ACL_COUNTER_ATTR_TABLE_ID", table)
	l.flag(C.SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT, "SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT", true)
	l.flag(C.SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT, "SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT", true)
	return l.create(KindACLCounter)
}

// RemoveACLCounter removes a counter that no entry uses.
func (l *Library) RemoveACLCounter(id ObjectID) error { return l.remove(KindACLCounter, id) }

// ACLCount reads a counter.
func (l *Library) ACLCount(id ObjectID) (packets, octets uint64, err error) {
	v, err := l.get(KindACLCounter, id, C.SAI_ACL_COUNTER_ATTR_PACKETS, "SAI_ACL_COUNTER_ATTR_PACKETS")
	if err != nil {
		return 0, 0, err
	}
	packets = asU64(v)
	v, err = l.get(KindACLCounter, id, C.SAI_ACL_COUNTER_ATTR_BYTES, "SAI_ACL_COUNTER_ATTR_BYTES")
	return packets, asU64(v), err
}

// ACLCounterTable returns the table that a counter was created in.
func (l *Library) ACLCounterTable(counter ObjectID) (ObjectID, error) {
	v, err := l.get(KindACLCounter, counter, C.SAI_ACL_COUNTER_ATTR_TABLE_ID, "SAI_ACL_COUNTER_ATTR_TABLE_ID")
	return ObjectID(asU64(v)), err
}

// ACLEntryCounter returns the counter of an entry, Null where it has none.
func (l *Library) ACLEntryCounter(entry ObjectID) (ObjectID, error) {
	v, err := l.get(KindACLEntry, entry, C.SAI_ACL_ENTRY_ATTR_ACTION_COUNTER, "SAI_ACL_ENTRY_ATTR_ACTION_COUNTER")
	a := (*C.sai_acl_action_data_t)(unsafe.Pointer(&v))
	if err != nil || !bool(a.enable) {
		return Null, err
	}
	return *(*ObjectID)(unsafe.Pointer(&a.parameter)), nil
}

// CreateUserTrap creates a user-defined trap for ACL entries, in a group; Null: the
// switch's own.
func (l *Library) CreateUserTrap(group ObjectID) (ObjectID, error) {
	l.enum(C.SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE, "SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE", C.SAI_HOSTIF_USER_DEFINED_TRAP_TYPE_ACL)
	if group != Null {
		l.oid(C.SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_GROUP, "SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_GROUP", group)
	}
	return l.create(KindUserTrap)
}

// RemoveUserTrap removes a trap that no entry uses.
func (l *Library) RemoveUserTrap(id ObjectID) error { return l.remove(KindUserTrap, id) }
