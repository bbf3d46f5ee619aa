// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"

	"sluice/sai-shim/saiattr"
)

// without returns the features less the one that a refused object used, and the name of
// that, or "". attr is the attribute that was refused; with "" all go that the object
// used.
func (f Features) without(o *Object, attr string) (less Features, lack string) {
	if o.Type == TypeACLCounter || attr == saiattr.ACLEntryCounter.Name {
		if f.Uncounted || strings.HasPrefix(o.Key, PrefixFlow) {
			return f, ""
		}
		f.Uncounted = true
		return f, "counters"
	}
	if o.Type == TypePolicer && strings.HasSuffix(o.Key, suffixFirst) && f.First {
		f.First = false
		return f, "the first packets of flows"
	}
	if o.Type == TypeTrapRoute {
		f.TrapRoute = false
		return f, "a channel of the trap's own"
	}
	if o.Type == TypeBinding && attr == saiattr.PortIngressACL.Name && !f.Grouped {
		f.Grouped = true
		return f, "binding a table without a group"
	}
	if o.Type == TypeHash && o.AddedField() != "" || o.Type == TypeSwitchHash {
		return f.withoutHash(o)
	}
	if o.Type != TypeACLTable && o.Type != TypeACLEntry {
		return f, ""
	}
	var lacks []string
	drop := func(has *bool, what string, attrs ...*saiattr.Attr) {
		for _, a := range attrs {
			if *has && o.Attr(a.Name) != "" && (attr == "" || attr == a.Name) {
				*has = false
				lacks = append(lacks, what)
			}
		}
	}
	drop(&f.InnerPort, "packets in tunnels", saiattr.ACLTableInnerPort, saiattr.ACLEntryInnerPort)
	drop(&f.First, "the first packets of flows", saiattr.ACLEntryPolicer)
	drop(&f.Opcode, "learning source queue pairs", saiattr.ACLTableOpcode, saiattr.ACLEntryOpcode)
	drop(&f.Protocol, "matching UDP only", saiattr.ACLTableProtocol, saiattr.ACLTableNextHeader, saiattr.ACLEntryProtocol, saiattr.ACLEntryNextHeader)
	return f, strings.Join(lacks, ", ")
}

// withAlternatives returns the features with the alternatives that other features use to bind
// tables, set hashes and bring packets to the CPU. All alternatives serve equally well, so the
// engine keeps the one in use.
func (f Features) withAlternatives(others Features) Features {
	f.Grouped, f.HashList, f.TrapRoute = others.Grouped, others.HashList, others.TrapRoute
	f.HashIPv6, f.HashRDMAIPv6, f.HashRDMAIPv4 = others.HashIPv6, others.HashRDMAIPv6, others.HashRDMAIPv4
	return f
}

// asAdopted returns the features less those that objects on the switch were created
// without: an earlier process found that out.
func (f Features) asAdopted(existing map[string]*Record) Features {
	for _, r := range existing {
		f.Grouped = f.Grouped || r.Type == TypeACLGroup
		f.HashList = f.HashList || r.Type == TypeHashList
		f.TrapRoute = f.TrapRoute && (r.Key != KeyTrap || existing[keyTrapRoute] != nil)
		f.Uncounted = f.Uncounted || r.Key == keyCompute && r.Attr(saiattr.ACLEntryCounter.Name) == ""
		if hash := existing[KeyHash]; r.Type == TypeSwitchHash && hash != nil && hash.AddedField() != HashLabel {
			switch r.Attrs[0].Name {
			case saiattr.ECMPHashIPv6.Name:
				f.HashRDMAIPv6 = r.Attrs[0].Name
			case saiattr.ECMPHashIPv4.Name:
				f.HashRDMAIPv4 = r.Attrs[0].Name
			}
		}
	}
	return f
}

// withoutHash are the features less the use of a hash that was refused: the hash of all
// packets serves, and at last the list of the default hash.
func (f Features) withoutHash(o *Object) (less Features, lack string) {
	if f.HashList {
		return f, ""
	}
	if o.Type == TypeSwitchHash {
		for rdma, all := range map[*saiattr.Attr]*saiattr.Attr{saiattr.ECMPHashIPv6RDMA: saiattr.ECMPHashIPv6, saiattr.ECMPHashIPv4RDMA: saiattr.ECMPHashIPv4} {
			if o.Attrs[0].Name != rdma.Name {
				continue
			}
			for _, use := range []*string{&f.HashIPv6, &f.HashRDMAIPv6, &f.HashRDMAIPv4} {
				if *use == rdma.Name {
					*use = all.Name
				}
			}
			return f, "a hash for RDMA packets alone"
		}
		if o.Attrs[0].Name == saiattr.ECMPHashIPv4.Name {
			return f, ""
		}
	}
	f.HashList = true
	return f, "a hash of its own"
}
