// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"fmt"
	"strings"

	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/roce"
)

// Keys of the objects.
const (
	keyTable       = "label/table"
	keyCompute     = "label/compute"
	keyOuter       = "label/compute-outer"
	keySkipped     = "label/skipped"
	keyCopied      = "label/copied"
	keyTrap        = "label/trap"
	keyPolicer     = "cpu/policer"
	keyTrapGroup   = "cpu/group"
	keySample      = "export/sample"
	keyExportTable = "export/table"
	keyExport      = "export/entry"
	keyUDFMatch    = "udf/match"
	keyUDFGroup    = "udf/group"
	keyUDF         = "udf/dest-qp"
	keyHash        = "hash"
	keySwitchHash  = "hash/switch"
	prefixFlow     = "flow/"
	prefixPort     = "port/"
	suffixCounter  = "/counter"
	suffixTunnels  = "/tunnels"
	suffixIPv4     = "/ipv4"
	noLabel        = 0 // flow label of unlabelled packets (RFC 6437)
	entryPriority  = 10
	copyPriority   = 5
	countPriority  = 1
	udpProtocol    = 17         // of IPv4 and, as next header, of IPv6
	destQPOffset   = 12         // octets from the UDP header to BTH octets 4 to 7
	destQPLength   = 4          // octets
	destQPMask     = 0x00ffffff // of these 4 octets
	tableSizeSmall = 16         // entries, where there are none by flow
)

// Keys of the counters: of packets that were labelled (or, by Compute, given the
// label that they are to have), that had a label and kept it, and that were
// copied to the CPU. The flows of Rewrite have counters of their own.
const (
	CounterWritten = keyCompute + suffixCounter
	CounterSkipped = keySkipped + suffixCounter
	CounterCopied  = keyCopied + suffixCounter
)

// counterSpec is an ACL counter of packets and octets.
type counterSpec struct{ key, table string }

func (s counterSpec) object() Object {
	return Object{Key: s.key, Type: TypeACLCounter, Attrs: []Attr{
		{"SAI_ACL_COUNTER_ATTR_TABLE_ID", "@" + s.table},
		{"SAI_ACL_COUNTER_ATTR_ENABLE_PACKET_COUNT", "true"},
		{"SAI_ACL_COUNTER_ATTR_ENABLE_BYTE_COUNT", "true"},
	}, spec: s}
}

// tableSpec is an ingress ACL table that is bound to ports and matches the UDP
// destination port, and what else is asked for.
type tableSpec struct {
	key       string
	protocol  bool // of IPv4 and IPv6
	flowLabel bool
	addresses bool   // IPv6 source and destination
	inner     bool   // UDP ports in tunnels
	udfGroup  string // "": none
	size      uint32 // entries; 0: as many as the switch has room for
}

func (s tableSpec) object() Object {
	attrs := []Attr{
		{"SAI_ACL_TABLE_ATTR_ACL_STAGE", "ingress"},
		{"SAI_ACL_TABLE_ATTR_ACL_BIND_POINT_TYPE_LIST", "port"},
	}
	if s.size > 0 {
		attrs = append(attrs, Attr{attrTableSize, fmt.Sprint(s.size)})
	}
	attrs = append(attrs, Attr{"SAI_ACL_TABLE_ATTR_FIELD_L4_DST_PORT", "true"}, Attr{"SAI_ACL_TABLE_ATTR_FIELD_ACL_IP_TYPE", "true"})
	if s.protocol {
		attrs = append(attrs, Attr{"SAI_ACL_TABLE_ATTR_FIELD_IP_PROTOCOL", "true"}, Attr{attrTableNextHeader, "true"})
	}
	if s.inner {
		attrs = append(attrs, Attr{attrTableInnerPort, "true"})
	}
	if s.flowLabel {
		attrs = append(attrs, Attr{"SAI_ACL_TABLE_ATTR_FIELD_IPV6_FLOW_LABEL", "true"})
	}
	if s.addresses {
		attrs = append(attrs, Attr{"SAI_ACL_TABLE_ATTR_FIELD_SRC_IPV6", "true"}, Attr{"SAI_ACL_TABLE_ATTR_FIELD_DST_IPV6", "true"})
	}
	if s.udfGroup != "" {
		attrs = append(attrs, Attr{"SAI_ACL_TABLE_ATTR_USER_DEFINED_FIELD_GROUP_MIN", "@" + s.udfGroup})
	}
	return Object{Key: s.key, Type: TypeACLTable, Attrs: attrs, spec: s}
}

// entrySpec matches RoCEv2 by the UDP destination port; over IPv6 alone, unless
// told otherwise, since IPv4 has no flow label. Every entry counts. Ports in tunnels
// are UDP's as the switch parses them: SAI has no match on the protocol there.
type entrySpec struct {
	key, table, counter string
	priority            uint32

	unlabelled bool       // matches flow label 0 only
	flow       *FlowEntry // matches this flow only, and sets its label

	compute *flow.Algorithm // computes the label and writes it

	trap   string // copies the packet to the CPU, marked by this trap
	sample string // samples packets to the CPU as this object says
	anyIP  bool   // matches RoCEv2 over IPv4, too
	ipv4   bool   // matches RoCEv2 over IPv4 only
	udp    bool   // matches UDP only: else TCP to this port, too
	inner  bool   // matches RoCEv2 in IPv6 tunnels, and no other
}

func (s entrySpec) object() Object {
	attrs := []Attr{
		{"SAI_ACL_ENTRY_ATTR_TABLE_ID", "@" + s.table},
		{"SAI_ACL_ENTRY_ATTR_PRIORITY", fmt.Sprint(s.priority)},
	}
	field := "SAI_ACL_ENTRY_ATTR_FIELD_L4_DST_PORT"
	if s.inner {
		field = "SAI_ACL_ENTRY_ATTR_FIELD_INNER_L4_DST_PORT"
	}
	attrs = append(attrs, Attr{field, fmt.Sprint(roce.UDPPort)})
	switch {
	case s.ipv4:
		attrs = append(attrs, Attr{"SAI_ACL_ENTRY_ATTR_FIELD_ACL_IP_TYPE", "ipv4any"})
	case !s.anyIP:
		attrs = append(attrs, Attr{"SAI_ACL_ENTRY_ATTR_FIELD_ACL_IP_TYPE", "ipv6any"})
	}
	switch {
	case s.udp && s.ipv4:
		attrs = append(attrs, Attr{"SAI_ACL_ENTRY_ATTR_FIELD_IP_PROTOCOL", fmt.Sprint(udpProtocol)})
	case s.udp:
		attrs = append(attrs, Attr{"SAI_ACL_ENTRY_ATTR_FIELD_IPV6_NEXT_HEADER", fmt.Sprint(udpProtocol)})
	}
	if s.unlabelled {
		attrs = append(attrs, Attr{"SAI_ACL_ENTRY_ATTR_FIELD_IPV6_FLOW_LABEL", "0x00000"})
	}
	if f := s.flow; f != nil {
		attrs = append(attrs,
			Attr{"SAI_ACL_ENTRY_ATTR_FIELD_SRC_IPV6", f.Src.String()},
			Attr{"SAI_ACL_ENTRY_ATTR_FIELD_DST_IPV6", f.Dst.String()},
			Attr{"SAI_ACL_ENTRY_ATTR_USER_DEFINED_FIELD_GROUP_MIN", fmt.Sprintf("0x%06x", f.DestQP)},
			Attr{attrSetLabel, fmt.Sprintf("0x%05x", f.Label)})
	}
	if s.compute != nil {
		what := s.compute.String()
		if s.inner {
			what += " outer"
		}
		attrs = append(attrs, Attr{attrCompute, what})
	}
	if s.trap != "" {
		attrs = append(attrs,
			Attr{"SAI_ACL_ENTRY_ATTR_ACTION_PACKET_ACTION", "copy"},
			Attr{"SAI_ACL_ENTRY_ATTR_ACTION_SET_USER_TRAP_ID", "@" + s.trap})
	}
	if s.sample != "" {
		attrs = append(attrs, Attr{attrSample, "@" + s.sample})
	}
	attrs = append(attrs, Attr{attrCounter, "@" + s.counter})
	return Object{Key: s.key, Type: TypeACLEntry, Attrs: attrs, spec: s}
}

// trapSpec marks what the entries copy to the CPU.
type trapSpec struct{ key, group string } // no group: ""

func (s trapSpec) object() Object {
	attrs := []Attr{{"SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TYPE", "acl"}}
	if s.group != "" {
		attrs = append(attrs, Attr{"SAI_HOSTIF_USER_DEFINED_TRAP_ATTR_TRAP_GROUP", "@" + s.group})
	}
	return Object{Key: s.key, Type: TypeUserTrap, Attrs: attrs, spec: s}
}

// policerSpec drops packets to the CPU that are too many.
type policerSpec struct {
	key string
	cpu CPU
}

func (s policerSpec) object() Object {
	return Object{Key: s.key, Type: TypePolicer, Attrs: []Attr{
		{"SAI_POLICER_ATTR_METER_TYPE", "packets"},
		{"SAI_POLICER_ATTR_MODE", "sr-tcm"},
		{attrPolicerRate, fmt.Sprint(s.cpu.Rate)},
		{attrPolicerBurst, fmt.Sprint(s.cpu.Burst)},
		{"SAI_POLICER_ATTR_RED_PACKET_ACTION", "drop"},
	}, spec: s}
}

// trapGroupSpec is the traps whose packets a policer polices.
type trapGroupSpec struct{ key, policer string }

func (s trapGroupSpec) object() Object {
	return Object{Key: s.key, Type: TypeTrapGroup, Attrs: []Attr{
		{"SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER", "@" + s.policer},
	}, spec: s}
}

// sampleSpec is what entries sample packets by.
type sampleSpec struct {
	key  string
	rate uint32
}

func (s sampleSpec) object() Object {
	return Object{Key: s.key, Type: TypeSample, Attrs: []Attr{
		{attrSampleRate, fmt.Sprint(s.rate)},
	}, spec: s}
}

// udfSpecs are match, group and field by which the destination QP is read.
type (
	udfMatchSpec struct{ key string }
	udfGroupSpec struct {
		key  string
		hash bool // for hashing, else for ACLs
	}
	udfSpec struct {
		key, match, group string
		hash              bool // as the group
	}
)

func (s udfMatchSpec) object() Object {
	return Object{Key: s.key, Type: TypeUDFMatch, Attrs: []Attr{
		{"SAI_UDF_MATCH_ATTR_L4_DST_PORT_TYPE", fmt.Sprint(roce.UDPPort)},
	}, spec: s}
}

func (s udfGroupSpec) object() Object {
	kind := "generic"
	if s.hash {
		kind = "hash"
	}
	return Object{Key: s.key, Type: TypeUDFGroup, Attrs: []Attr{
		{"SAI_UDF_GROUP_ATTR_TYPE", kind},
		{"SAI_UDF_GROUP_ATTR_LENGTH", fmt.Sprint(destQPLength)},
	}, spec: s}
}

func (s udfSpec) object() Object {
	attrs := []Attr{
		{"SAI_UDF_ATTR_MATCH_ID", "@" + s.match},
		{"SAI_UDF_ATTR_GROUP_ID", "@" + s.group},
		{"SAI_UDF_ATTR_BASE", "l4"},
		{"SAI_UDF_ATTR_OFFSET", fmt.Sprint(destQPOffset)},
	}
	if s.hash { // FECN and BECN are beside the queue pair: hashed, they would move a flow to another path
		attrs = append(attrs, Attr{"SAI_UDF_ATTR_HASH_MASK", fmt.Sprintf("%#08x", destQPMask)})
	}
	return Object{Key: s.key, Type: TypeUDF, Attrs: attrs, spec: s}
}

// hashSpec is what ECMP hashes: the 5-tuple, and what is added to it.
type hashSpec struct {
	key      string
	label    bool   // the IPv6 flow label; labels are written without it, too
	destQP   bool   // the BTH's destination QP, as native field
	udfGroup string // "": none
}

func (s hashSpec) object() Object {
	fields := []string{"SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"}
	if s.label {
		fields = append(fields, "IPV6_FLOW_LABEL")
	}
	if s.destQP {
		fields = append(fields, "RDMA_BTH_DEST_QP")
	}
	attrs := []Attr{{"SAI_HASH_ATTR_NATIVE_HASH_FIELD_LIST", strings.Join(fields, ",")}}
	if s.udfGroup != "" {
		attrs = append(attrs, Attr{"SAI_HASH_ATTR_UDF_GROUP_LIST", "@" + s.udfGroup})
	}
	return Object{Key: s.key, Type: TypeHash, Attrs: attrs, Optional: s.label, spec: s}
}

// switchHashSpec makes a hash the switch's own for a kind of packets. What was
// there comes back when it is removed.
type switchHashSpec struct {
	key, hash, attribute string
	optional             bool
}

func (s switchHashSpec) object() Object {
	return Object{Key: s.key, Type: TypeSwitchHash, Attrs: []Attr{{s.attribute, "@" + s.hash}}, Optional: s.optional, spec: s}
}

// bindingSpec binds a table to a port at ingress.
type bindingSpec struct{ port, table string }

func (s bindingSpec) object() Object {
	return Object{Key: prefixPort + s.port, Type: TypeBinding, Attrs: []Attr{
		{attrIngressACL, "@" + s.table},
	}, Optional: true, spec: s}
}
