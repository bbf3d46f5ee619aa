package asic

// Features is what a switch offers beyond what every one does, where objects
// depend on it.
type Features struct {
	// HashIPv6 and HashIPv4 are the switch attributes that take the ECMP hash of
	// RDMA packets, or else of all packets of the family; "" where there is none.
	HashIPv6, HashIPv4 string

	FlowCapacity uint32 // entries of the table of flows
}

// Objects returns what stands on the switch for a policy at a rung, each object
// behind those that it refers to; without the entries of flows, see
// [FlowObjects].
func Objects(p Policy, r Rung, f Features) []Object {
	if p.Label == nil {
		return nil
	}
	var specs []spec
	switch r {
	case Compute:
		specs = computeSpecs(p)
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
	objects := make([]Object, len(specs))
	for i, s := range specs {
		objects[i] = s.object()
	}
	return objects
}

func last(specs []spec) spec {
	if len(specs) == 0 {
		return nil
	}
	return specs[len(specs)-1]
}

// switchHashSpecs put the hash in force. The flow label is IPv6's alone; the
// destination QP spreads IPv4, too.
func switchHashSpecs(r Rung, f Features) []spec {
	byQP := r == Hash || r == UDFHash
	specs := []spec{switchHashSpec{keySwitchHash + "-ipv6", keyHash, f.HashIPv6, !byQP}}
	if byQP && f.HashIPv4 != "" && f.HashIPv4 != f.HashIPv6 {
		specs = append(specs, switchHashSpec{keySwitchHash + "-ipv4", keyHash, f.HashIPv4, true})
	}
	return specs
}

func computeSpecs(p Policy) []spec {
	specs := []spec{
		tableSpec{key: keyTable, flowLabel: p.Label.ZeroOnly, size: tableSizeSmall},
		counterSpec{keyCompute + suffixCounter, keyTable},
		entrySpec{
			key: keyCompute, table: keyTable, counter: keyCompute + suffixCounter, priority: entryPriority,
			unlabelled: p.Label.ZeroOnly, compute: &p.Label.Algorithm,
		},
	}
	return append(append(specs, skippedSpecs(p)...), bindingSpecs(p)...)
}

func rewriteSpecs(p Policy, f Features) []spec {
	specs := append(udfSpecs(false),
		trapSpec{keyTrap},
		policerSpec{keyPolicer, p.CPURate, p.CPUBurst},
		tableSpec{key: keyTable, flowLabel: p.Label.ZeroOnly, addresses: true, udfGroup: keyUDFGroup, size: f.FlowCapacity + tableSizeSmall},
		counterSpec{keyCopied + suffixCounter, keyTable},
		entrySpec{
			key: keyCopied, table: keyTable, counter: keyCopied + suffixCounter, priority: copyPriority,
			unlabelled: p.Label.ZeroOnly, trap: keyTrap, policer: keyPolicer,
		})
	return append(append(specs, skippedSpecs(p)...), bindingSpecs(p)...)
}

// skippedSpecs count what zero-only leaves alone: stacks that label on their own
// would go unnoticed otherwise.
func skippedSpecs(p Policy) []spec {
	if !p.Label.ZeroOnly {
		return nil
	}
	return []spec{
		counterSpec{keySkipped + suffixCounter, keyTable},
		entrySpec{key: keySkipped, table: keyTable, counter: keySkipped + suffixCounter, priority: countPriority},
	}
}

func udfSpecs(hash bool) []spec {
	return []spec{
		udfMatchSpec{keyUDFMatch},
		udfGroupSpec{keyUDFGroup, hash},
		udfSpec{keyUDF, keyUDFMatch, keyUDFGroup},
	}
}

func bindingSpecs(p Policy) []spec {
	specs := make([]spec, len(p.Ports))
	for i, port := range p.Ports {
		specs[i] = bindingSpec{port, keyTable}
	}
	return specs
}

// FlowObjects returns the counter and the entry that label one flow.
func FlowObjects(p Policy, f FlowEntry) []Object {
	key := flowKey(f)
	return []Object{
		counterSpec{key + suffixCounter, keyTable}.object(),
		entrySpec{
			key: key, table: keyTable, counter: key + suffixCounter, priority: entryPriority,
			unlabelled: p.Label.ZeroOnly, flow: &f,
		}.object(),
	}
}
