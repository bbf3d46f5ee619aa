// SPDX-License-Identifier: Apache-2.0

package ipfix

import "sluice/orchagent-ext/roce"

// Class is what a packet does, of its opcode: records count packets by it.
type Class uint8

// The classes. What is of none (flushes, manufacturers' opcodes) only counts among all.
const (
	Send Class = iota
	Write
	ReadRequest
	ReadResponse
	Acknowledge
	Atomic
	Notification // CNP
	numClasses
)

var classes = [numClasses]struct{ element, what string }{
	{"rdmaSendPacketDeltaCount", "SEND, of any service"},
	{"rdmaWritePacketDeltaCount", "RDMA WRITE and ATOMIC WRITE"},
	{"rdmaReadRequestPacketDeltaCount", "RDMA READ request"},
	{"rdmaReadResponsePacketDeltaCount", "RDMA READ response"},
	{"rdmaAcknowledgePacketDeltaCount", "ACKNOWLEDGE and ATOMIC ACKNOWLEDGE"},
	{"rdmaAtomicPacketDeltaCount", "COMPARE SWAP and FETCH ADD"},
	{"rdmaNotificationPacketDeltaCount", "CNP"},
}

// classOf is the class of each opcode; numClasses: none.
var classOf = func() (t [256]Class) {
	for i := range t {
		t[i] = class(roce.Opcode(i))
	}
	return t
}()

func class(o roce.Opcode) Class {
	if !o.Known() {
		return numClasses
	}
	switch o.Service() {
	case roce.ServiceCNP:
		return Notification
	case roce.ServiceUD:
		return Send
	}
	switch operation := o & 0x1f; {
	case operation <= roce.RCSendOnlyImm, operation == roce.RCSendLastInv, operation == roce.RCSendOnlyInv:
		return Send
	case operation <= roce.RCWriteOnlyImm, operation == roce.RCAtomicWrite:
		return Write
	case operation == roce.RCReadRequest:
		return ReadRequest
	case operation <= roce.RCReadResponseOnly:
		return ReadResponse
	case operation <= roce.RCAtomicAck:
		return Acknowledge
	case operation <= roce.RCFetchAdd:
		return Atomic
	}
	return numClasses
}
