// SPDX-License-Identifier: Apache-2.0

package sai

// #include "shim.h"
import "C"

// Mirror is a session that copies packets to a port of the switch.
type Mirror struct {
	Port       ObjectID
	Truncate   uint16   // octets that a copy has at most; 0: all
	SampleRate uint32   // one packet of this number is copied; 0 and 1: each one
	Policer    ObjectID // bounds the copies; Null: none
}

// CreateMirror creates a mirror session.
func (l *Library) CreateMirror(m Mirror) (ObjectID, error) {
	l.enum(C.SAI_MIRROR_SESSION_ATTR_TYPE, "SAI_MIRROR_SESSION_ATTR_TYPE", C.SAI_MIRROR_SESSION_TYPE_LOCAL)
	l.oid(C.SAI_MIRROR_SESSION_ATTR_MONITOR_PORT, "SAI_MIRROR_SESSION_ATTR_MONITOR_PORT", m.Port)
	if m.Truncate > 0 {
		l.named("SAI_MIRROR_SESSION_ATTR_TRUNCATE_SIZE")
		C.shim_u16(l.shim, C.SAI_MIRROR_SESSION_ATTR_TRUNCATE_SIZE, C.uint16_t(m.Truncate))
	}
	if m.SampleRate > 1 {
		l.u32(C.SAI_MIRROR_SESSION_ATTR_SAMPLE_RATE, "SAI_MIRROR_SESSION_ATTR_SAMPLE_RATE", m.SampleRate)
	}
	if m.Policer != Null {
		l.oid(C.SAI_MIRROR_SESSION_ATTR_POLICER, "SAI_MIRROR_SESSION_ATTR_POLICER", m.Policer)
	}
	return l.create(KindMirror)
}

// RemoveMirror removes a session that nothing uses.
func (l *Library) RemoveMirror(id ObjectID) error { return l.remove(KindMirror, id) }

// CreateSample creates what ACL entries sample packets by: one of rate packets
// goes to the CPU.
func (l *Library) CreateSample(rate uint32) (ObjectID, error) {
	l.u32(C.SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE, "SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE", rate)
	return l.create(KindSample)
}

// RemoveSample removes it; no entry may use it.
func (l *Library) RemoveSample(id ObjectID) error { return l.remove(KindSample, id) }

// SetSampleRate makes a sample object take one packet of rate.
func (l *Library) SetSampleRate(sample ObjectID, rate uint32) error {
	l.u32(C.SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE, "SAI_SAMPLEPACKET_ATTR_SAMPLE_RATE", rate)
	return l.set(KindSample, sample)
}
