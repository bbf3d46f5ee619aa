// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

// PacketAction is what becomes of a packet.
type PacketAction int32

// The actions.
const (
	Forward    PacketAction = C.SAI_PACKET_ACTION_FORWARD
	Drop       PacketAction = C.SAI_PACKET_ACTION_DROP
	Copy       PacketAction = C.SAI_PACKET_ACTION_COPY        // forward, and copy to the CPU
	CopyCancel PacketAction = C.SAI_PACKET_ACTION_COPY_CANCEL // forward, and no copy to the CPU after all
)

// Policer is a token bucket of one rate (SR_TCM). What finds no token is red.
type Policer struct {
	Packets bool   // count packets, else bytes
	Rate    uint64 // a second
	Burst   uint64
	Red     PacketAction
}

// CreatePolicer creates a policer for ACL entries and mirror sessions.
func (l *Library) CreatePolicer(p Policer) (ObjectID, error) {
	meter := int32(C.SAI_METER_TYPE_BYTES)
	if p.Packets {
		meter = C.SAI_METER_TYPE_PACKETS
	}
	l.enum(C.SAI_POLICER_ATTR_METER_TYPE, "SAI_POLICER_ATTR_METER_TYPE", meter)
	l.enum(C.SAI_POLICER_ATTR_MODE, "SAI_POLICER_ATTR_MODE", C.SAI_POLICER_MODE_SR_TCM)
	l.enum(C.SAI_POLICER_ATTR_COLOR_SOURCE, "SAI_POLICER_ATTR_COLOR_SOURCE", C.SAI_POLICER_COLOR_SOURCE_BLIND)
	l.u64(C.SAI_POLICER_ATTR_CIR, "SAI_POLICER_ATTR_CIR", p.Rate)
	l.u64(C.SAI_POLICER_ATTR_CBS, "SAI_POLICER_ATTR_CBS", p.Burst)
	l.enum(C.SAI_POLICER_ATTR_RED_PACKET_ACTION, "SAI_POLICER_ATTR_RED_PACKET_ACTION", int32(p.Red))
	return l.create(KindPolicer)
}

// SetPolicerRate changes the rate of a policer, packets or octets a second.
func (l *Library) SetPolicerRate(policer ObjectID, rate uint64) error {
	l.u64(C.SAI_POLICER_ATTR_CIR, "SAI_POLICER_ATTR_CIR", rate)
	return l.set(KindPolicer, policer)
}

// SetPolicerBurst changes the burst of a policer, in packets or octets.
func (l *Library) SetPolicerBurst(policer ObjectID, burst uint64) error {
	l.u64(C.SAI_POLICER_ATTR_CBS, "SAI_POLICER_ATTR_CBS", burst)
	return l.set(KindPolicer, policer)
}

// CreateTrapGroup creates a group of traps whose packets to the CPU a policer polices.
func (l *Library) CreateTrapGroup(policer ObjectID) (ObjectID, error) {
	l.oid(C.SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER, "SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER", policer)
	return l.create(KindTrapGroup)
}

// RemoveTrapGroup removes a group that no trap is in.
func (l *Library) RemoveTrapGroup(id ObjectID) error { return l.remove(KindTrapGroup, id) }

// CanPoliceTraps says whether a trap group can have a policer; known is false where
// the library does not say.
func (l *Library) CanPoliceTraps() (can, known bool) {
	can, _, known = l.capability(KindTrapGroup, C.SAI_HOSTIF_TRAP_GROUP_ATTR_POLICER)
	return can, known
}

// RemovePolicer removes a policer that nothing uses.
func (l *Library) RemovePolicer(id ObjectID) error { return l.remove(KindPolicer, id) }

// PolicerStats are counters of a policer.
type PolicerStats struct {
	Packets    uint64 // all
	RedPackets uint64
	RedOctets  uint64
}

// PolicerStats reads the counters of a policer.
func (l *Library) PolicerStats(id ObjectID) (PolicerStats, error) {
	ids := [...]C.uint32_t{C.SAI_POLICER_STAT_PACKETS, C.SAI_POLICER_STAT_RED_PACKETS, C.SAI_POLICER_STAT_RED_BYTES}
	var v [len(ids)]C.uint64_t
	err := l.check("get stats of", KindPolicer.name, C.shim_stats(l.shim, KindPolicer.number, C.uint64_t(id), &ids[0], C.uint32_t(len(ids)), &v[0]))
	return PolicerStats{uint64(v[0]), uint64(v[1]), uint64(v[2])}, err
}
