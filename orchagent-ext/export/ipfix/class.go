// SPDX-License-Identifier: Apache-2.0

package ipfix

import "sluice/orchagent-ext/wire/roce"

// Class is the purpose of a packet by its opcode: records count packets by it.
type Class uint8

// The classes. Flushes and manufacturers' opcodes are outside of them, and count
// only in the total.
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

// classes are the classes of BTH opcodes that are counted apart, with the information
// element of each.
var classes = [numClasses]struct{ element, what string }{
	{"rdmaSendPacketDeltaCount", "SEND, of any service"},
	{"rdmaWritePacketDeltaCount", "RDMA WRITE and ATOMIC WRITE"},
	{"rdmaReadRequestPacketDeltaCount", "RDMA READ request"},
	{"rdmaReadResponsePacketDeltaCount", "RDMA READ response"},
	{"rdmaAcknowledgePacketDeltaCount", "ACKNOWLEDGE and ATOMIC ACKNOWLEDGE"},
	{"rdmaAtomicPacketDeltaCount", "COMPARE SWAP and FETCH ADD"},
	{"rdmaNotificationPacketDeltaCount", "CNP"},
}

// classOf has the class of each opcode; numClasses: outside of the classes.
var classOf = func() (t [256]Class) {
	for i := range t {
		t[i] = class(roce.Opcode(i))
	}
	return t
}()

// class returns the class of an opcode, numClasses for one outside of the
// classes.
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
