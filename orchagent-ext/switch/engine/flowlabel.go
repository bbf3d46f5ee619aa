// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"slices"

	"sluice/orchagent-ext/wire/roce"
	"sluice/sai-shim/saiattr"
)

// Features are the optional abilities of a switch on which objects depend.
type Features struct {
	// Switch attributes that take an ECMP hash: HashIPv6 for all packets, the others for
	// RDMA packets where the switch has that, else for all packets. "" if it is missing.
	HashIPv6, HashRDMAIPv6, HashRDMAIPv4 string

	// Grouped: ports take groups of ACL tables only.
	Grouped bool

	// HashList: these attributes refuse a hash, and a field is added to the list of the
	// switch's default hash.
	HashList bool

	PoliceCPU bool // packets to the CPU are policed
	// entries can match the UDP port of a packet in a tunnel: else such packets are neither sampled nor labelled
	InnerPort bool

	// Protocol: entries can match the IP protocol: else TCP to the port of RoCEv2 is
	// counted, sampled and copied to the CPU, too.
	Protocol bool

	// Uncounted: entries have no counters, since the switch refused them, but for those of
	// flows, which need theirs.
	Uncounted bool

	// TrapRoute: the way of a trap's packets to the CPU is set by an object of its own.
	TrapRoute bool

	MinSampling uint32 // more than one of so many packets the CPU is not to get

	Opcode bool // entries can match the opcode of the BTH

	// First: entries can have a policer that copies to the CPU, and the CPU is not an ASIC's.
	First bool

	Kernel bool // the switch is the Linux kernel: its hash is known by a seed

	Queues   uint8  // egress queues of a port, of the port with most
	NoQueues string // why the switch has no queues; "" with 0 queues: unknown
}

// Within returns the features less those that entries of the tables on the switch cannot
// match. An earlier version created these without, and the fields of a table are fixed.
// They stay as long as tables are needed: to create them again would take the labels off
// all flows.
func (f Features) Within(existing map[string]*Record) Features {
	for _, r := range existing {
		if r.Type == TypeACLTable {
			f.Protocol = f.Protocol && r.Attr(saiattr.ACLTableNextHeader.Name) != ""
			f.InnerPort = f.InnerPort && r.Attr(saiattr.ACLTableInnerPort.Name) != ""
		}
	}
	return f
}

// Objects returns the objects of a policy by the chosen methods, each after those that it
// refers to; without the entries of flows, see [FlowObjects].
//
//conformance:draft-hu/write
func Objects(p Policy, c Choices, f Features) []Object {
	var all []Object
	r := c.Method(NeedFlowLabel)
	f.PoliceCPU = f.PoliceCPU && p.CPU.Rate > 0
	placed := c.Method(NeedPlacement) == Entries
	redirects := c.Method(NeedPlacement) == Redirect
	if redirects && p.Export == nil {
		p.Export = &Export{Rate: max(p.Placement.Sampling, f.MinSampling), Ports: p.Placement.Ports}
	}
	// samples are bound by their rate
	if f.PoliceCPU && (p.Label != nil && r == Rewrite || p.learns(f) && p.Export.CM) {
		all = append(all, policerObjects(p.CPU)...)
	}
	meets := func(n Need, objects []Object) {
		for _, o := range objects {
			if !o.Optional {
				o.Meets = n
			}
			all = append(all, o)
		}
	}
	if p.Export != nil {
		meets(NeedExport, []Object{sampleObject(keySample, p.Export.Rate)})
		meets(NeedExport, learningObjects(p, r, f))
	} else if placed {
		meets(NeedPlacement, []Object{sampleObject(keySample, p.Placement.Sampling)})
	} else if p.shows(c) {
		meets(NeedExport, []Object{sampleObject(keySample, max(p.Shown, f.MinSampling))})
	}
	if p.Label != nil {
		meets(NeedFlowLabel, labelObjects(p, r, f, placed || p.shows(c), placed))
	}
	if f.Kernel && p.Placement != nil && p.Placement.Seed != 0 && c.Method(NeedPlacement) != None && !redirects {
		all = append(all, seedObject(p.Placement.Seed))
	}
	if p.Export != nil {
		meets(NeedExport, exportObjects(p, r, f, redirects))
	}
	// which counts octets by samples
	byChance := p.Export == nil && !placed || p.Export != nil && !p.Export.First || c.Method(NeedHold) == Source
	if f.First && !byChance {
		return withFirst(all)
	}
	return all
}

// labelObjects returns the objects of flow labels. sampled: those of [Compute] sample, also where
// nothing is exported.
//
//conformance:draft-hu/hash-label
func labelObjects(p Policy, r Method, f Features, sampled, placed bool) []Object {
	var all []Object
	switch r {
	case Compute:
		all = computeObjects(p, f, sampled, placed)
	case Rewrite:
		all = rewriteObjects(p, f)
	case Hash:
		if f.HashList {
			return []Object{hashListObject(HashDestQP)}
		}
		return append([]Object{hashObject(HashDestQP, "")}, destQPHash(f)...)
	case UDFHash:
		return append(append(udfObjects(true), hashObject("", keyUDFGroup)), destQPHash(f)...)
	default:
		return nil
	}
	if p.ManageHash && f.HashList {
		return append(all, optional(hashListObject(HashLabel)))
	}
	if p.ManageHash { // the flow label is IPv6's alone; labels are written without it, too
		all = append(all, optional(labelHashObject(!p.NoPorts)), optional(switchHashObject(keySwitchHash+"-ipv6", f.HashIPv6)))
	}
	return all
}

// destQPHash puts the hash of the destination QP in force, which spreads IPv4, too.
func destQPHash(f Features) []Object {
	all := []Object{switchHashObject(keySwitchHash+"-ipv6", f.HashRDMAIPv6)}
	if f.HashRDMAIPv4 != "" {
		all = append(all, optional(switchHashObject(keySwitchHash+"-ipv4", f.HashRDMAIPv4)))
	}
	return all
}

// exportObjects returns the objects of the export of flows beside the label's entries,
// which sample the packets that they match: an entry for the other packets, and a table
// on the ports that write no labels.
func exportObjects(p Policy, r Method, f Features, redirects bool) []Object {
	var all []Object
	labelled := p.Label != nil && (r == Compute || r == Rewrite)
	// an entry of the label matches all tunnels
	outer := p.Label != nil && r == Compute && p.Label.Outer && !p.Label.ZeroOnly
	entry := func(key, table string) {
		e := aclEntry{key: key, table: table, anyIP: !f.Protocol, udp: f.Protocol, sample: keySample}
		e.ipv4 = f.Protocol && table == KeyTable // where the label's entries match IPv6
		all = append(all, counted(e, f)...)
		if f.Protocol && !e.ipv4 { // which IPv4 and IPv6 have in fields of their own
			e.key, e.counter, e.ipv4 = key+suffixIPv4, sharedCounter(key, f), true
			all = append(all, e.object())
		}
		if f.InnerPort && (!outer || table != KeyTable) {
			all = append(all, counted(aclEntry{key: key + suffixTunnels, table: table, inner: true, sample: keySample}, f)...)
		}
	}
	bound := map[string]bool{}
	if labelled {
		entry(keyExport+"/labelled", KeyTable)
		if r == Compute {
			all = append(all, learningEntries(p, f, KeyTable, "/labelled")...)
		}
		for _, port := range p.Ports {
			bound[port] = true
		}
	}
	table := aclTable{key: KeyExportTable, protocol: f.Protocol, inner: f.InnerPort, opcode: p.learns(f), size: tableSizeSmall}
	if redirects {
		table.addresses, table.fiveTuple, table.size = true, true, 0
	}
	all = append(all, table.object())
	entry(keyExport, KeyExportTable)
	all = append(all, learningEntries(p, f, KeyExportTable, "")...)
	ports := slices.DeleteFunc(slices.Clone(p.Export.Ports), func(port string) bool { return bound[port] })
	return append(all, bindings(KeyExportTable, ports, f)...)
}

// learns reports whether packets go to the CPU to learn source queue pairs by.
func (p *Policy) learns(f Features) bool {
	return p.Export != nil && f.Opcode && (p.Export.CM || p.Export.Answers != 0)
}

// learningObjects returns the references of the entries that send packets to the CPU to
// learn source queue pairs. With [Rewrite] the CPU gets unlabelled packets, so a trap
// exists already.
func learningObjects(p Policy, r Method, f Features) (all []Object) {
	if !p.learns(f) {
		return nil
	}
	if p.Export.Answers != 0 {
		all = append(all, sampleObject(keyAnswers, p.Export.Answers))
	}
	if p.Export.CM && (p.Label == nil || r != Rewrite) {
		group := ""
		if f.PoliceCPU {
			group = keyTrapGroup
		}
		all = append(all, trapObjects(group, f)...)
	}
	return all
}

// learningEntries are the entries of a table that do. In the label's table those over
// IPv6 label the packets that they match, as the entry after them does.
func learningEntries(p Policy, f Features, table, suffix string) (all []Object) {
	if !p.learns(f) {
		return nil
	}
	for _, e := range []aclEntry{
		{key: KeyLearn + "/cm" + suffix, opcode: roce.UDSendOnly, trap: KeyTrap},
		{key: KeyLearn + "/answers" + suffix, opcode: roce.RCAck, sample: keyAnswers},
	} {
		if e.trap != "" && !p.Export.CM || e.trap == "" && p.Export.Answers == 0 {
			continue
		}
		e.table, e.anyIP, e.priority = table, true, learnPriority
		all = append(all, counted(e, f)...)
		if table == KeyTable {
			e.key += "/ipv6"
			e.anyIP, e.priority, e.compute, e.zeroOnly = false, learnPriority+1, &p.Label.Algorithm, p.Label.ZeroOnly
			all = append(all, counted(e, f)...)
		}
	}
	return all
}

// counted is an entry behind a counter of its own, where the switch has counters.
func counted(e aclEntry, f Features) []Object {
	if f.Uncounted && e.flow == nil {
		return []Object{e.object()}
	}
	e.counter = e.key + suffixCounter
	return []Object{NewCounter(e.counter, e.table), e.object()}
}

// sharedCounter is the counter of another entry, where it has one.
func sharedCounter(key string, f Features) string {
	if f.Uncounted {
		return ""
	}
	return key + suffixCounter
}

// sampleOf returns the key of the object by which the entries of a policy sample.
func sampleOf(p Policy) string {
	if p.Export == nil {
		return ""
	}
	return keySample
}

// computeObjects returns the table and the entries of method compute, by which the switch
// computes labels.
func computeObjects(p Policy, f Features, sampled, placed bool) (all []Object) {
	t := aclTable{key: KeyTable, protocol: f.Protocol, flowLabel: p.Label.ZeroOnly, inner: f.InnerPort, opcode: p.learns(f), size: tableSizeSmall}
	e := aclEntry{key: keyCompute, table: KeyTable, priority: entryPriority, unlabelled: p.Label.ZeroOnly, compute: &p.Label.Algorithm, sample: sampleOf(p), udp: f.Protocol}
	if placed { // flows have entries, too
		all = udfObjects(false)
		t.addresses, t.udfGroup, t.size = true, keyUDFGroup, 0
	}
	if sampled {
		e.sample = keySample
	}
	all = append(all, t.object())
	all = append(all, counted(e, f)...)
	if p.Label.Outer && f.InnerPort {
		e.key, e.counter, e.inner, e.udp = keyOuter, sharedCounter(keyCompute, f), true, false
		all = append(all, e.object())
	}
	return append(append(all, skippedObjects(p, f, e.sample)...), bindings(KeyTable, p.Ports, f)...)
}

// rewriteObjects returns the objects of method rewrite: unlabelled packets go to the CPU,
// which gives their flows an entry.
func rewriteObjects(p Policy, f Features) []Object {
	group := ""
	if f.PoliceCPU {
		group = keyTrapGroup
	}
	all := append(append(udfObjects(false), trapObjects(group, f)...),
		// Without a size: a table of FlowCapacity's size would be created again with it, and
		// take the entries of all flows along.
		aclTable{key: KeyTable, protocol: f.Protocol, flowLabel: p.Label.ZeroOnly, inner: f.InnerPort, addresses: true, udfGroup: keyUDFGroup}.object())
	all = append(all, counted(aclEntry{key: keyCopied, table: KeyTable, priority: copyPriority, unlabelled: p.Label.ZeroOnly, trap: KeyTrap, udp: f.Protocol}, f)...)
	return append(append(all, skippedObjects(p, f, sampleOf(p))...), bindings(KeyTable, p.Ports, f)...)
}

// skippedObjects returns the objects that count the packets that zero-only leaves alone:
// they reveal stacks that label on their own.
func skippedObjects(p Policy, f Features, sample string) []Object {
	if !p.Label.ZeroOnly {
		return nil
	}
	return counted(aclEntry{key: keySkipped, table: KeyTable, priority: countPriority, sample: sample, udp: f.Protocol}, f)
}

// FlowObjects returns the counter and the entry that label one flow, by the method of the
// flow label.
func FlowObjects(p Policy, m Method, features Features, f FlowEntry) []Object {
	priority := uint64(entryPriority)
	if m == Compute { // before the entries that compute the label of what they match
		priority = placedPriority
	}
	return counted(aclEntry{
		key: flowKey(f), table: KeyTable, priority: priority, unlabelled: p.Label.ZeroOnly, flow: &f, sample: sampleOf(p), udp: features.Protocol,
	}, features)
}
