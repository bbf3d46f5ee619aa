// SPDX-License-Identifier: Apache-2.0

package asic

// Features is what a switch offers beyond what every one does, where objects
// depend on it.
type Features struct {
	// Switch attributes that take an ECMP hash: HashIPv6 for all packets, the
	// others for RDMA packets where the switch has that, else for all packets.
	// "": there is none.
	HashIPv6, HashRDMAIPv6, HashRDMAIPv4 string

	PoliceCPU bool // packets to the CPU are policed
	InnerPort bool // entries can match the UDP port of a packet in a tunnel: else such packets are neither sampled nor labelled

	// Protocol: entries can match the IP protocol: else TCP to the port of RoCEv2 is
	// counted, sampled and copied to the CPU, too.
	Protocol bool

	MinSampling uint32 // by [Mirror], more than one of so many packets the CPU is not to get

	Queues   uint8  // egress queues of a port, of the port with most
	NoQueues string // why the switch has no queues; "" with 0 queues: unknown
}

// Within are the features less what entries of the tables on the switch cannot match. An
// earlier version created these without, and a table never gets another field. They stay
// as long as tables are needed: to create them again would take the labels off all flows.
func (f Features) Within(existing map[string]*Record) Features {
	for _, r := range existing {
		if r.Type == TypeACLTable {
			f.Protocol = f.Protocol && r.Attr(attrTableNextHeader) != ""
			f.InnerPort = f.InnerPort && r.Attr(attrTableInnerPort) != ""
		}
	}
	return f
}

// Objects returns the objects that a policy takes by the chosen methods, each object
// behind those that it refers to; without the entries of flows, see
// [FlowObjects].
//
//conformance:draft-hu/write
func Objects(p Policy, c Choices, f Features) []Object {
	var specs []spec
	r := c.Method(NeedFlowLabel)
	f.PoliceCPU = f.PoliceCPU && p.CPU.Rate > 0
	if f.PoliceCPU && (p.Export != nil || p.Label != nil && r == Rewrite) {
		specs = append(specs, policerSpec{keyPolicer, p.CPU}, trapGroupSpec{keyTrapGroup, keyPolicer})
	}
	if p.Export != nil {
		specs = append(specs, sampleSpec{keySample, p.Export.Rate})
	}
	if p.Label != nil {
		specs = append(specs, labelSpecs(p, r, f)...)
	}
	if p.Export != nil {
		specs = append(specs, exportSpecs(p, r, f)...)
	}
	objects := make([]Object, len(specs))
	for i, s := range specs {
		objects[i] = s.object()
	}
	return objects
}

// labelSpecs are what flow labels take.
func labelSpecs(p Policy, r Method, f Features) []spec {
	var specs []spec
	switch r {
	case Compute:
		specs = computeSpecs(p, f)
	case Rewrite:
		specs = rewriteSpecs(p, f)
	case Hash:
		specs = []spec{hashSpec{key: keyHash, destQP: true}}
	case UDFHash:
		specs = append(udfSpecs(true), hashSpec{key: keyHash, udfGroup: keyUDFGroup})
	}
	if (r == Compute || r == Rewrite) && p.ManageHash {
		specs = append(specs, hashSpec{key: keyHash, label: true})
	}
	if _, ok := last(specs).(hashSpec); ok {
		specs = append(specs, switchHashSpecs(r, f)...)
	}
	return specs
}

// exportSpecs are what the export of flows takes beside the label's entries,
// which sample what they match: an entry for what they do not match, and a table
// on the ports where no label is written.
func exportSpecs(p Policy, r Method, f Features) []spec {
	var specs []spec
	labelled := p.Label != nil && (r == Compute || r == Rewrite)
	outer := p.Label != nil && r == Compute && p.Label.Outer && !p.Label.ZeroOnly // an entry of the label matches all tunnels
	entry := func(key, table string) {
		counter := key + suffixCounter
		specs = append(specs, counterSpec{counter, table})
		switch {
		case !f.Protocol:
			specs = append(specs, entrySpec{key: key, table: table, counter: counter, anyIP: true, sample: keySample})
		case table == keyTable: // where the label's entries match IPv6
			specs = append(specs, entrySpec{key: key, table: table, counter: counter, ipv4: true, udp: true, sample: keySample})
		default: // IPv4 and IPv6 have the protocol in fields of their own
			specs = append(specs,
				entrySpec{key: key, table: table, counter: counter, udp: true, sample: keySample},
				entrySpec{key: key + suffixIPv4, table: table, counter: counter, ipv4: true, udp: true, sample: keySample})
		}
		if f.InnerPort && (!outer || table != keyTable) {
			key += suffixTunnels
			specs = append(specs, counterSpec{key + suffixCounter, table},
				entrySpec{key: key, table: table, counter: key + suffixCounter, inner: true, sample: keySample})
		}
	}
	bound := map[string]bool{}
	if labelled {
		entry(keyExport+"/labelled", keyTable)
		for _, port := range p.Ports {
			bound[port] = true
		}
	}
	specs = append(specs, tableSpec{key: keyExportTable, protocol: f.Protocol, inner: f.InnerPort, size: tableSizeSmall})
	entry(keyExport, keyExportTable)
	for _, port := range p.Export.Ports {
		if !bound[port] {
			specs = append(specs, bindingSpec{port, keyExportTable})
		}
	}
	return specs
}

// sampleOf is what the entries of a policy sample by.
func sampleOf(p Policy) string {
	if p.Export == nil {
		return ""
	}
	return keySample
}

func last(specs []spec) spec {
	if len(specs) == 0 {
		return nil
	}
	return specs[len(specs)-1]
}

// switchHashSpecs put the hash in force. The flow label is IPv6's alone; the
// destination QP spreads IPv4, too.
//
//conformance:draft-hu/hash-label
func switchHashSpecs(r Method, f Features) []spec {
	if r == Compute || r == Rewrite {
		return []spec{switchHashSpec{keySwitchHash + "-ipv6", keyHash, f.HashIPv6, true}}
	}
	specs := []spec{switchHashSpec{keySwitchHash + "-ipv6", keyHash, f.HashRDMAIPv6, false}}
	if f.HashRDMAIPv4 != "" {
		specs = append(specs, switchHashSpec{keySwitchHash + "-ipv4", keyHash, f.HashRDMAIPv4, true})
	}
	return specs
}

func computeSpecs(p Policy, f Features) []spec {
	specs := []spec{
		tableSpec{key: keyTable, protocol: f.Protocol, flowLabel: p.Label.ZeroOnly, inner: f.InnerPort, size: tableSizeSmall},
		counterSpec{keyCompute + suffixCounter, keyTable},
		entrySpec{
			key: keyCompute, table: keyTable, counter: keyCompute + suffixCounter, priority: entryPriority,
			unlabelled: p.Label.ZeroOnly, compute: &p.Label.Algorithm, sample: sampleOf(p), udp: f.Protocol,
		},
	}
	if p.Label.Outer && f.InnerPort {
		specs = append(specs, entrySpec{
			key: keyOuter, table: keyTable, counter: keyCompute + suffixCounter, priority: entryPriority,
			unlabelled: p.Label.ZeroOnly, compute: &p.Label.Algorithm, sample: sampleOf(p), inner: true,
		})
	}
	return append(append(specs, skippedSpecs(p, f)...), bindingSpecs(p)...)
}

func rewriteSpecs(p Policy, f Features) []spec {
	trap := trapSpec{key: keyTrap}
	if f.PoliceCPU {
		trap.group = keyTrapGroup
	}
	specs := append(udfSpecs(false),
		trap,
		// Of no size: one that follows FlowCapacity would take the entries of all flows with it.
		tableSpec{key: keyTable, protocol: f.Protocol, flowLabel: p.Label.ZeroOnly, inner: f.InnerPort, addresses: true, udfGroup: keyUDFGroup},
		counterSpec{keyCopied + suffixCounter, keyTable},
		entrySpec{
			key: keyCopied, table: keyTable, counter: keyCopied + suffixCounter, priority: copyPriority,
			unlabelled: p.Label.ZeroOnly, trap: keyTrap, udp: f.Protocol,
		})
	return append(append(specs, skippedSpecs(p, f)...), bindingSpecs(p)...)
}

// skippedSpecs count what zero-only leaves alone: stacks that label on their own
// would go unnoticed otherwise.
func skippedSpecs(p Policy, f Features) []spec {
	if !p.Label.ZeroOnly {
		return nil
	}
	return []spec{
		counterSpec{keySkipped + suffixCounter, keyTable},
		entrySpec{key: keySkipped, table: keyTable, counter: keySkipped + suffixCounter, priority: countPriority, sample: sampleOf(p), udp: f.Protocol},
	}
}

func udfSpecs(hash bool) []spec {
	return []spec{
		udfMatchSpec{keyUDFMatch},
		udfGroupSpec{keyUDFGroup, hash},
		udfSpec{keyUDF, keyUDFMatch, keyUDFGroup, hash},
	}
}

//conformance:draft-hu/ingress
func bindingSpecs(p Policy) []spec {
	specs := make([]spec, len(p.Ports))
	for i, port := range p.Ports {
		specs[i] = bindingSpec{port, keyTable}
	}
	return specs
}

// FlowObjects returns the counter and the entry that label one flow.
func FlowObjects(p Policy, features Features, f FlowEntry) []Object {
	key := flowKey(f)
	return []Object{
		counterSpec{key + suffixCounter, keyTable}.object(),
		entrySpec{
			key: key, table: keyTable, counter: key + suffixCounter, priority: entryPriority,
			unlabelled: p.Label.ZeroOnly, flow: &f, sample: sampleOf(p), udp: features.Protocol,
		}.object(),
	}
}
