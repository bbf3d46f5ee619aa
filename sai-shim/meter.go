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

// RemovePolicer removes a policer that nothing uses.
func (l *Library) RemovePolicer(id ObjectID) error { return l.remove(KindPolicer, id) }

// PolicerStat is a statistic of a policer.
type PolicerStat uint32

// The statistics.
const (
	PolicerPackets    PolicerStat = C.SAI_POLICER_STAT_PACKETS
	PolicerRedPackets PolicerStat = C.SAI_POLICER_STAT_RED_PACKETS
	PolicerRedBytes   PolicerStat = C.SAI_POLICER_STAT_RED_BYTES
)

// PolicerStats reads statistics of a policer, in the order asked for. A library
// that lacks one of them refuses all.
func (l *Library) PolicerStats(id ObjectID, ids ...PolicerStat) ([]uint64, error) {
	return stats(l, KindPolicer, id, ids)
}

// Mirror is a local mirror session: copies to a port of the switch.
type Mirror struct {
	Port       ObjectID // that gets the copies
	Truncate   uint16   // octets of a packet that are copied; 0: all
	SampleRate uint32   // one of how many packets; 0: every one
	Policer    ObjectID // of the copies; Null: none
}

// CreateMirror creates a local mirror session.
func (l *Library) CreateMirror(m Mirror) (ObjectID, error) {
	l.enum(C.SAI_MIRROR_SESSION_ATTR_TYPE, "SAI_MIRROR_SESSION_ATTR_TYPE", C.SAI_MIRROR_SESSION_TYPE_LOCAL)
	l.oid(C.SAI_MIRROR_SESSION_ATTR_MONITOR_PORT, "SAI_MIRROR_SESSION_ATTR_MONITOR_PORT", m.Port)
	if m.Truncate > 0 {
		l.u16(C.SAI_MIRROR_SESSION_ATTR_TRUNCATE_SIZE, "SAI_MIRROR_SESSION_ATTR_TRUNCATE_SIZE", m.Truncate)
	}
	if m.SampleRate > 0 {
		l.u32(C.SAI_MIRROR_SESSION_ATTR_SAMPLE_RATE, "SAI_MIRROR_SESSION_ATTR_SAMPLE_RATE", m.SampleRate)
	}
	if m.Policer != Null {
		l.oid(C.SAI_MIRROR_SESSION_ATTR_POLICER, "SAI_MIRROR_SESSION_ATTR_POLICER", m.Policer)
	}
	return l.create(KindMirror)
}

// RemoveMirror removes a session that no entry uses.
func (l *Library) RemoveMirror(id ObjectID) error { return l.remove(KindMirror, id) }
