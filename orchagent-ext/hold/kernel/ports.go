// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"cmp"
	"net/netip"
	"slices"

	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

// Port is a port of the switch, or a PortChannel with its members.
type Port struct {
	Name    string
	Members []sai.ObjectID // the switch's ports: one, or those of the PortChannel
	Index   uint32         // interface index of the netdev that has the addresses
	MAC     roce.MAC
	Self    netip.Addr // this node's link-local address there

	// link-local address of the node at the other end; the zero value: unknown
	Neighbor netip.Addr
	// further ones of that node, by which it may send, too; zero values: unused
	Also   [3]netip.Addr
	Speed  uint32 // Mbit/s, of a member; 0: unknown
	Notify bool   // PFCM may be sent there: to hosts only where the operator shows it
	Border bool   // the other end knows PFC only
	Edge   bool   // hosts are at the other end
}

// UsualSpeed is the speed of a port in Mbit/s where it is unknown.
const UsualSpeed = 100_000

// Line returns the port's speed in bit/s, by [UsualSpeed] where it is unknown: for actions that come
// before a flow is measured.
func (p *Port) Line() uint64 {
	if p.Speed == 0 {
		return UsualSpeed * 1e6
	}
	return uint64(p.Speed) * 1e6
}

// Reachable reports whether the addresses of both ends of the link are known.
func (p *Port) Reachable() bool { return p.Neighbor.IsValid() && p.Self.IsValid() }

// IsFrom reports whether an address is the neighbor's.
func (p *Port) IsFrom(a netip.Addr) bool {
	return p.Neighbor.IsValid() && (a == p.Neighbor || a.IsValid() && slices.Contains(p.Also[:], a))
}

// Ports are those of a configuration. They are immutable.
type Ports struct {
	all     []*Port
	members map[sai.ObjectID]*Port
	indexes map[uint32]*Port
}

// NewPorts returns ports with their indexes.
func NewPorts(all []Port) *Ports {
	ports := &Ports{members: map[sai.ObjectID]*Port{}, indexes: map[uint32]*Port{}}
	for _, p := range all {
		ports.all = append(ports.all, &p)
		for _, id := range p.Members {
			ports.members[id] = &p
		}
		if p.Index != 0 {
			ports.indexes[p.Index] = &p
		}
	}
	return ports
}

// All returns all ports.
func (p *Ports) All() []*Port { return p.all }

// Fastest returns the speed of the fastest port in Mbit/s, [UsualSpeed] where none is known: no sender is
// faster.
func (p *Ports) Fastest() uint32 {
	fastest := uint32(0)
	for _, port := range p.all {
		fastest = max(fastest, port.Speed)
	}
	return cmp.Or(fastest, UsualSpeed)
}

// Of returns the port that a port of the switch is a member of; nil: none.
func (p *Ports) Of(member sai.ObjectID) *Port { return p.members[member] }

// ByIndex returns the port of an interface index; nil: none has it.
func (p *Ports) ByIndex(index uint32) *Port { return p.indexes[index] }

// Speed returns the speed of the port of an interface index, in Mbit/s; 0: unknown.
func (p *Ports) Speed(index uint32) uint32 {
	if port := p.indexes[index]; port != nil {
		return port.Speed
	}
	return 0
}
