// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

// Ports returns the switch's ports.
func (l *Library) Ports() ([]ObjectID, error) {
	return getList[ObjectID](l, kindSwitch, l.Switch, C.SAI_SWITCH_ATTR_PORT_LIST, "SAI_SWITCH_ATTR_PORT_LIST")
}

// Lanes returns the hardware lanes of a port, by which SONiC knows it.
func (l *Library) Lanes(port ObjectID) ([]uint32, error) {
	return getList[uint32](l, kindPort, port, C.SAI_PORT_ATTR_HW_LANE_LIST, "SAI_PORT_ATTR_HW_LANE_LIST")
}

// PortSpeed returns the speed of a port in Mbit/s.
func (l *Library) PortSpeed(port ObjectID) (uint32, error) {
	v, err := l.get(kindPort, port, C.SAI_PORT_ATTR_SPEED, "SAI_PORT_ATTR_SPEED")
	return asU32(v), err
}

// IngressACL returns the ACL table that is bound to a port at ingress; Null for
// none.
func (l *Library) IngressACL(port ObjectID) (ObjectID, error) {
	v, err := l.get(kindPort, port, C.SAI_PORT_ATTR_INGRESS_ACL, "SAI_PORT_ATTR_INGRESS_ACL")
	return ObjectID(asU64(v)), err
}

// SetIngressACL binds an ACL table to a port at ingress; Null unbinds.
func (l *Library) SetIngressACL(port, table ObjectID) error {
	l.oid(C.SAI_PORT_ATTR_INGRESS_ACL, "SAI_PORT_ATTR_INGRESS_ACL", table)
	return l.set(kindPort, port)
}

// PortStats are counters of a port since the switch came up.
type PortStats struct {
	RxOctets, RxPackets uint64 // unicast packets
	TxOctets, TxPackets uint64
}

// PortStats reads the counters of a port.
func (l *Library) PortStats(port ObjectID) (PortStats, error) {
	ids := [...]C.uint32_t{
		C.SAI_PORT_STAT_IF_IN_OCTETS, C.SAI_PORT_STAT_IF_IN_UCAST_PKTS,
		C.SAI_PORT_STAT_IF_OUT_OCTETS, C.SAI_PORT_STAT_IF_OUT_UCAST_PKTS,
	}
	var v [len(ids)]C.uint64_t
	err := l.check("get stats of", kindPort.name, C.shim_stats(l.shim, kindPort.number, C.uint64_t(port), &ids[0], C.uint32_t(len(ids)), &v[0]))
	return PortStats{uint64(v[0]), uint64(v[1]), uint64(v[2]), uint64(v[3])}, err
}

// HashUse is a switch attribute that takes a hash for one kind of packets.
type HashUse uint32

// The uses. Those of RDMA came with SAI 1.16.
const (
	ECMPHash         HashUse = C.SAI_SWITCH_ATTR_ECMP_HASH // read-only: the default for all packets
	ECMPHashIPv4     HashUse = C.SAI_SWITCH_ATTR_ECMP_HASH_IPV4
	ECMPHashIPv6     HashUse = C.SAI_SWITCH_ATTR_ECMP_HASH_IPV6
	ECMPHashIPv4RDMA HashUse = C.SAI_SWITCH_ATTR_ECMP_HASH_IPV4_RDMA
	ECMPHashIPv6RDMA HashUse = C.SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA
)

var hashUseNames = map[HashUse]string{
	ECMPHash:         "SAI_SWITCH_ATTR_ECMP_HASH",
	ECMPHashIPv4:     "SAI_SWITCH_ATTR_ECMP_HASH_IPV4",
	ECMPHashIPv6:     "SAI_SWITCH_ATTR_ECMP_HASH_IPV6",
	ECMPHashIPv4RDMA: "SAI_SWITCH_ATTR_ECMP_HASH_IPV4_RDMA",
	ECMPHashIPv6RDMA: "SAI_SWITCH_ATTR_ECMP_HASH_IPV6_RDMA",
}

// String is SAI's name of the attribute.
func (u HashUse) String() string { return hashUseNames[u] }

// CanSet says whether the switch takes a hash for this use; known is false where
// the library does not say.
func (l *Library) CanSet(u HashUse) (can, known bool) {
	_, can, known = l.capability(kindSwitch, uint32(u))
	return can, known
}

// HashOf returns the hash that is in force for a use; Null for none.
func (l *Library) HashOf(u HashUse) (ObjectID, error) {
	v, err := l.get(kindSwitch, l.Switch, C.uint32_t(u), u.String())
	return ObjectID(asU64(v)), err
}

// SetHash puts a hash in force for a use; Null takes it back.
func (l *Library) SetHash(u HashUse, hash ObjectID) error {
	l.oid(C.uint32_t(u), u.String(), hash)
	return l.set(kindSwitch, l.Switch)
}
