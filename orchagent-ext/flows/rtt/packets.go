// SPDX-License-Identifier: Apache-2.0

package rtt

import "sluice/orchagent-ext/wire/roce"

// Packet takes a packet between two hosts (IPv4 as ::ffff:a.b.c.d) that passed at a time, in ns.
// srcQP is the queue pair that sends it; 0: it is not known, and an answer counts for nothing.
func (t *Table) Packet(p *roce.Packet, src, dst [16]byte, srcQP uint32, now int64) {
	op := p.Opcode()
	switch s := op.Service(); {
	case s == roce.ServiceUD:
		if m, ok := p.CM(); ok {
			t.cm(m, src, dst, now)
		}
		return
	case s != roce.ServiceRC && s != roce.ServiceXRC || !op.Known():
		return
	}
	if !op.IsResponse() {
		if p.AckReq() || asks(op) {
			t.asked(request{src, dst, p.DestQP(), p.PSN(), now})
		}
		return
	}
	if h, ok := p.AETH(); ok && h.Ack() && srcQP != 0 && op&operationMask != roce.RCReadResponseLast {
		t.answered(request{dst, src, srcQP, p.PSN(), now}, Answer)
	}
}

// operationMask takes the service off an opcode: the operations of XRC are RC's.
const operationMask = 0x1f

// asks reports whether a request gets a response of its own, whatever its AckReq.
func asks(op roce.Opcode) bool {
	switch op & operationMask {
	case roce.RCReadRequest, roce.RCCompareSwap, roce.RCFetchAdd:
		return true
	}
	return false
}

// cm takes a message of RDMA-CM: each of REP and RTU names the id of the one that it answers.
func (t *Table) cm(m roce.CM, src, dst [16]byte, now int64) {
	if m.Attribute == roce.CMRep || m.Attribute == roce.CMRtu {
		t.answered(request{dst, src, cmRequest, m.RemoteCommID, now}, CM)
	}
	if m.Attribute == roce.CMReq || m.Attribute == roce.CMRep {
		t.asked(request{src, dst, cmRequest, m.LocalCommID, now})
	}
}
