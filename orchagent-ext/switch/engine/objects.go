// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"
	"strings"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/roce"
	"sluice/sai-shim/saiattr"
)

// Keys of the objects.
const (
	KeyTable         = "label/table"
	keyCompute       = "label/compute"
	keyOuter         = "label/compute-outer"
	keySkipped       = "label/skipped"
	keyCopied        = "label/copied"
	keyTrapRoute     = "label/trap/channel"
	KeyTrap          = "label/trap"
	KeyPolicer       = "cpu/policer"
	keyTrapGroup     = "cpu/group"
	keySample        = "export/sample"
	keyAnswers       = "learn/sample"
	suffixFirst      = "/first"
	KeyLearn         = "learn"
	KeyExportTable   = "export/table"
	keyExport        = "export/entry"
	keyUDFMatch      = "udf/match"
	keyUDFGroup      = "udf/group"
	keyUDF           = "udf/dest-qp"
	KeyHash          = "hash"
	keySwitchHash    = "hash/switch"
	keyHashList      = "hash/list"
	PrefixFlow       = "flow/"
	PrefixPort       = "port/"
	suffixCounter    = "/counter"
	SuffixGroup      = "/group"
	SuffixMember     = "/member"
	suffixTunnels    = "/tunnels"
	suffixIPv4       = "/ipv4"
	noLabel          = 0 // flow label of unlabelled packets (RFC 6437)
	entryPriority    = 10
	copyPriority     = 5
	learnPriority    = 20
	placedPriority   = 30
	redirectPriority = 40
	countPriority    = 1
	udpProtocol      = 17         // of IPv4 and, as next header, of IPv6
	destQPOffset     = 12         // octets from the UDP header to BTH octets 4 to 7
	destQPLength     = 4          // octets
	destQPMask       = 0x00ffffff // of these 4 octets
	tableSizeSmall   = 16         // entries, where there are none by flow
)

// KeySeed is the key of the seed of ECMP's hash, where that is set.
const KeySeed = "hash/seed"

// Keys of the counters: of packets that were labelled (or, by Compute, given the
// label that they are to have), that had a label and kept it, and that were
// copied to the CPU. The flows of Rewrite have counters of their own.
const (
	CounterWritten = keyCompute + suffixCounter
	CounterSkipped = keySkipped + suffixCounter
	CounterCopied  = keyCopied + suffixCounter
)

// NewObject returns an object of typed values. Its attributes are their text. Implied
// values are passed to the switch and left out of the text, thus of the ledger.
func NewObject(key string, t Type, values ...saiattr.Value) Object {
	o := Object{Key: key, Type: t, Attrs: make([]Attr, 0, len(values)), Values: values}
	for i := range values {
		if !values[i].Implied {
			o.Attrs = append(o.Attrs, Attr{values[i].Name, values[i].Text})
		}
	}
	return o
}

// implied marks a value that stays out of the ledger.
func implied(v saiattr.Value) saiattr.Value {
	v.Implied = true
	return v
}

// optional marks an object without which the method works.
func optional(o Object) Object {
	o.Optional = true
	return o
}

// NewCounter returns an ACL counter of packets and octets. key is its own; table is the
// key of the table whose entries it counts for.
func NewCounter(key, table string) Object {
	return NewObject(key, TypeACLCounter,
		saiattr.ACLCounterTable.Ref(table), saiattr.ACLCounterHasPackets.Is(true), saiattr.ACLCounterHasOctets.Is(true))
}

// aclTable is an ingress ACL table that is bound to ports and matches the UDP destination
// port, and further fields on request.
type aclTable struct {
	key       string
	protocol  bool // of IPv4 and IPv6
	flowLabel bool
	addresses bool   // IPv6 source and destination
	fiveTuple bool   // IPv4 source and destination, UDP source port
	inner     bool   // UDP ports in tunnels
	opcode    bool   // of the BTH
	udfGroup  string // or ""
	size      uint64 // entries; 0: as many as the switch has room for
}

// object returns the table as an object, with a field for each match of its entries.
func (t aclTable) object() Object {
	values := []saiattr.Value{saiattr.ACLTableStage.Enum("ingress"), saiattr.ACLTableBindPoints.Enum("port")}
	if t.size > 0 {
		values = append(values, saiattr.ACLTableSize.Of(t.size))
	}
	values = append(values, saiattr.ACLTablePort.Is(true), saiattr.ACLTableIPType.Is(true))
	if t.protocol {
		values = append(values, saiattr.ACLTableProtocol.Is(true), saiattr.ACLTableNextHeader.Is(true))
	}
	if t.inner {
		values = append(values, saiattr.ACLTableInnerPort.Is(true))
	}
	if t.opcode {
		values = append(values, saiattr.ACLTableOpcode.Is(true))
	}
	if t.flowLabel {
		values = append(values, saiattr.ACLTableLabel.Is(true))
	}
	if t.addresses {
		values = append(values, saiattr.ACLTableSource.Is(true), saiattr.ACLTableDestination.Is(true))
	}
	if t.fiveTuple {
		values = append(values, saiattr.ACLTableSource4.Is(true), saiattr.ACLTableDestination4.Is(true), saiattr.ACLTableSourcePort.Is(true))
	}
	if t.udfGroup != "" {
		values = append(values, saiattr.ACLTableUDF.Ref(t.udfGroup))
	}
	return NewObject(t.key, TypeACLTable, values...)
}

// aclEntry matches RoCEv2 by the UDP destination port; over IPv6 alone by default, since
// IPv4 lacks a flow label. Ports in tunnels are UDP's as the switch parses them: SAI
// lacks a match on the protocol there.
type aclEntry struct {
	key, table, counter string
	priority            uint64

	unlabelled bool        // matches flow label 0 only
	opcode     roce.Opcode // matches this one only; 0: any
	flow       *FlowEntry  // matches this flow only, and sets its label

	compute  *flow.Algorithm // computes the label and writes it
	zeroOnly bool            // where it is 0, though others match, too

	redirect *Redirection // matches its 5-tuple only, and sends it to its next hop

	trap   string // copies the packet to the CPU, marked by this trap
	sample string // samples packets to the CPU as this object says
	anyIP  bool   // matches RoCEv2 over IPv4, too
	ipv4   bool   // matches RoCEv2 over IPv4 only
	udp    bool   // matches UDP only: else TCP to this port, too
	inner  bool   // matches RoCEv2 in IPv6 tunnels, and no other
}

// mostOfEntry is room for the values of an entry: there are many entries.
const mostOfEntry = 15

// object returns the entry as an object.
func (e aclEntry) object() Object {
	port := saiattr.ACLEntryPort
	if e.inner {
		port = saiattr.ACLEntryInnerPort
	}
	values := append(make([]saiattr.Value, 0, mostOfEntry),
		saiattr.ACLEntryTable.Ref(e.table), saiattr.ACLEntryPriority.Of(e.priority), implied(saiattr.ACLEntryAdmin.Is(true)), port.Of(roce.UDPPort))
	switch {
	case e.ipv4:
		values = append(values, saiattr.ACLEntryIPType.Enum("ipv4any"))
	case !e.anyIP:
		values = append(values, saiattr.ACLEntryIPType.Enum("ipv6any"))
	}
	switch {
	case e.udp && e.ipv4:
		values = append(values, saiattr.ACLEntryProtocol.Of(udpProtocol))
	case e.udp:
		values = append(values, saiattr.ACLEntryNextHeader.Of(udpProtocol))
	}
	if e.unlabelled {
		values = append(values, saiattr.ACLEntryLabel.Of(noLabel))
	}
	if e.opcode != 0 {
		values = append(values, saiattr.ACLEntryOpcode.Of(uint64(e.opcode)))
	}
	if f := e.flow; f != nil {
		values = append(values, saiattr.ACLEntrySource.IP(f.Src), saiattr.ACLEntryDestination.IP(f.Dst),
			saiattr.ACLEntryUDF.Word(f.DestQP, destQPMask), saiattr.ACLEntrySetLabel.Of(uint64(f.Label)))
	}
	if r := e.redirect; r != nil {
		src, dst := saiattr.ACLEntrySource, saiattr.ACLEntryDestination
		if e.ipv4 {
			src, dst = saiattr.ACLEntrySource4, saiattr.ACLEntryDestination4
		}
		values = append(values, src.IP(r.Src), dst.IP(r.Dst), saiattr.ACLEntrySourcePort.Of(uint64(r.SrcPort)), saiattr.ACLEntryRedirect.Ref(nextHopKey(r.To)))
	}
	if e.compute != nil {
		values = append(values, computed(*e.compute, e.unlabelled || e.zeroOnly, e.inner))
	}
	if e.trap != "" {
		values = append(values, saiattr.ACLEntryPacket.Enum("copy"), saiattr.ACLEntryTrap.Ref(e.trap))
	}
	if e.sample != "" {
		values = append(values, saiattr.ACLEntrySample.Ref(e.sample))
	}
	if e.counter != "" {
		values = append(values, saiattr.ACLEntryCounter.Ref(e.counter))
	}
	return NewObject(e.key, TypeACLEntry, values...)
}

// computed is how a label is computed: algorithm and flags of sai_sluice_ext.h.
func computed(a flow.Algorithm, zeroOnly, outer bool) saiattr.Value {
	n, text := saiattr.LabelDraftLiteral, a.String()
	if a == flow.CRC32 {
		n = saiattr.LabelCRC32
	}
	if zeroOnly {
		n |= saiattr.LabelZeroOnly
	}
	if outer {
		n |= saiattr.LabelOuter
		text += " outer"
	}
	return saiattr.ACLEntryCompute.As(n, text)
}

// trapObjects returns the objects that mark packets that entries copy to the CPU, and
// bring them there by the packet event callback. group may be "".
func trapObjects(group string, f Features) []Object {
	values := []saiattr.Value{saiattr.UserTrapType.Enum("acl")}
	if group != "" {
		values = append(values, saiattr.UserTrapGroup.Ref(group))
	}
	all := []Object{NewObject(KeyTrap, TypeUserTrap, values...)}
	if f.TrapRoute {
		all = append(all, optional(NewObject(keyTrapRoute, TypeTrapRoute,
			saiattr.TrapRouteType.Enum("trap-id"), saiattr.TrapRouteTrap.Ref(KeyTrap), saiattr.TrapRouteChannel.Enum("cb"))))
	}
	return all
}

// policerObjects drop packets to the CPU that are too many, of the traps in the group.
func policerObjects(cpu CPU) []Object {
	return []Object{
		NewObject(KeyPolicer, TypePolicer,
			saiattr.PolicerMeter.Enum("packets"), saiattr.PolicerMode.Enum("sr-tcm"), implied(saiattr.PolicerColors.Enum("blind")),
			saiattr.PolicerRate.Of(uint64(cpu.Rate)), saiattr.PolicerBurst.Of(uint64(cpu.Burst)), saiattr.PolicerRed.Enum("drop")),
		NewObject(keyTrapGroup, TypeTrapGroup, saiattr.TrapGroupPolicer.Ref(KeyPolicer)),
	}
}

// sampleObject returns the object by which entries sample packets.
func sampleObject(key string, rate uint32) Object {
	return NewObject(key, TypeSample, saiattr.SampleRate.Of(uint64(rate)))
}

// The packets that come to the CPU besides samples, of each object by which entries sample. They
// take a twentieth of a core at most.
const (
	firstRate  = 2000 // packets a second
	firstBurst = 256  // packets
)

// withFirst returns objects with a policer for each object by which entries sample: while few
// packets meet these entries, all come to the CPU instead of one of so many. Entries of flows are
// apart, so that with [Entries] a flow shows itself by its first packets.
func withFirst(objects []Object) (all []Object) {
	policers := map[string]bool{}
	for _, o := range objects {
		sample := o.Attr(saiattr.ACLEntrySample.Name)
		if o.Type != TypeACLEntry || sample == "" {
			all = append(all, o)
			continue
		}
		key := strings.TrimPrefix(sample, "@") + suffixFirst
		if !policers[key] {
			policers[key] = true
			all = append(all, NewObject(key, TypePolicer,
				saiattr.PolicerMeter.Enum("packets"), saiattr.PolicerMode.Enum("sr-tcm"), implied(saiattr.PolicerColors.Enum("blind")),
				saiattr.PolicerRate.Of(firstRate), saiattr.PolicerBurst.Of(firstBurst), saiattr.PolicerGreen.Enum("copy")))
		}
		with := NewObject(o.Key, o.Type, append(slices.Clone(o.Values), saiattr.ACLEntryPolicer.Ref(key))...)
		with.Optional, with.Meets = o.Optional, o.Meets
		all = append(all, with)
	}
	return all
}

// udfObjects are match, group and field by which the destination QP is read, for hashing
// or for ACLs.
func udfObjects(hash bool) []Object {
	use := "generic"
	field := []saiattr.Value{saiattr.UDFMatched.Ref(keyUDFMatch), saiattr.UDFOfGroup.Ref(keyUDFGroup), saiattr.UDFBase.Enum("l4"), saiattr.UDFOffset.Of(destQPOffset)}
	// FECN and BECN are beside the queue pair: hashed, they would move a flow to another path
	if hash {
		use = "hash"
		field = append(field, saiattr.UDFHashMask.Of(destQPMask))
	}
	return []Object{
		NewObject(keyUDFMatch, TypeUDFMatch, saiattr.UDFMatchPort.Of(roce.UDPPort)),
		NewObject(keyUDFGroup, TypeUDFGroup, saiattr.UDFGroupType.Enum(use), saiattr.UDFGroupLength.Of(destQPLength)),
		NewObject(keyUDF, TypeUDF, field...),
	}
}

// FiveTuple are the native fields that ECMP hashes in any case, the ports last.
var FiveTuple = []string{"SRC_IP", "DST_IP", "IP_PROTOCOL", "L4_SRC_PORT", "L4_DST_PORT"}

// Ports are those of FiveTuple that are of ports.
var Ports = FiveTuple[3:]

// The native fields that labels and queue pairs add.
const (
	HashLabel  = "IPV6_FLOW_LABEL"
	HashDestQP = "RDMA_BTH_DEST_QP"
)

// hashObject returns the hash of ECMP: the 5-tuple, and a field or a UDF group besides,
// either of which may be "".
func hashObject(field, udfGroup string) Object {
	fields := FiveTuple
	if field != "" {
		fields = append(fields[:len(fields):len(fields)], field)
	}
	values := []saiattr.Value{saiattr.HashFields.Enum(fields...)}
	if udfGroup != "" {
		values = append(values, saiattr.HashUDFGroups.Ref(udfGroup))
	}
	return NewObject(KeyHash, TypeHash, values...)
}

// hashListObject adds a field to the list of the switch's default hash.
func hashListObject(field string) Object {
	return NewObject(keyHashList, TypeHashList, saiattr.HashFields.Enum(field))
}

// switchHashObject makes the hash the switch's own for a kind of packets, by the name of
// the attribute. Its removal restores the former hash.
func switchHashObject(key, attribute string) Object {
	a := saiattr.ByName(attribute)
	if a == nil {
		a = &saiattr.Attr{Name: attribute} // the driver refuses it
	}
	return NewObject(key, TypeSwitchHash, a.Ref(KeyHash))
}

// labelHashObject returns the hash of ECMP with labels: the 5-tuple and the label, as draft-hu section 3 has
// it; without ports where connections that share a label are to share a path.
//
//conformance:draft-hu/legacy
func labelHashObject(ports bool) Object {
	o := hashObject(HashLabel, "")
	if !ports {
		fields := append(slices.Clone(FiveTuple[:len(FiveTuple)-len(Ports)]), HashLabel)
		o = NewObject(KeyHash, TypeHash, saiattr.HashFields.Enum(fields...))
	}
	return o
}

// HashesPorts reports whether ports are among the fields of a hash.
func (o *Object) HashesPorts() bool {
	return slices.Contains(strings.Split(o.Attr(saiattr.HashFields.Name), ","), Ports[0])
}

// seedObject makes the hash's seed one that is known. Removal gives the former one back.
func seedObject(seed uint32) Object {
	return optional(NewObject(KeySeed, TypeSwitchSeed, saiattr.SwitchHashSeed.Of(uint64(seed))))
}

// AddedField returns the native field that Sluice adds to a list of hash fields, which is the
// last one; "" where the hash has a UDF group instead.
func (o *Object) AddedField() string {
	fields := strings.Split(o.Attr(saiattr.HashFields.Name), ",")
	if last := fields[len(fields)-1]; o.Attr(saiattr.HashUDFGroups.Name) == "" && (last == HashLabel || last == HashDestQP) {
		return last
	}
	return ""
}
