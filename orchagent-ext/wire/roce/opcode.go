// SPDX-License-Identifier: Apache-2.0

package roce

import "fmt"

// Opcode is the BTH's first octet: the transport service in the upper 3 bits
// and the operation in the lower 5 (IBTA vol. 1, section 9.2.1).
type Opcode uint8

// Service is the transport service of an [Opcode]. It decides which queue pairs may be
// peers and which operations there are (section 9.2.1).
type Service uint8

// The transport services, by the upper 3 bits of the opcode.
const (
	ServiceRC    Service = 0
	ServiceUC    Service = 1
	ServiceRD    Service = 2 // not used on RoCE: headers behind the BTH are not parsed
	ServiceUD    Service = 3
	ServiceCNP   Service = 4
	ServiceXRC   Service = 5
	ServiceOther Service = 6 // 0xC0 to 0xFF: manufacturer's opcodes
)

// Opcodes of the reliable connection (RC).
const (
	RCSendFirst          Opcode = 0x00
	RCSendMiddle         Opcode = 0x01
	RCSendLast           Opcode = 0x02
	RCSendLastImm        Opcode = 0x03
	RCSendOnly           Opcode = 0x04
	RCSendOnlyImm        Opcode = 0x05
	RCWriteFirst         Opcode = 0x06
	RCWriteMiddle        Opcode = 0x07
	RCWriteLast          Opcode = 0x08
	RCWriteLastImm       Opcode = 0x09
	RCWriteOnly          Opcode = 0x0a
	RCWriteOnlyImm       Opcode = 0x0b
	RCReadRequest        Opcode = 0x0c
	RCReadResponseFirst  Opcode = 0x0d
	RCReadResponseMiddle Opcode = 0x0e
	RCReadResponseLast   Opcode = 0x0f
	RCReadResponseOnly   Opcode = 0x10
	RCAck                Opcode = 0x11
	RCAtomicAck          Opcode = 0x12
	RCCompareSwap        Opcode = 0x13
	RCFetchAdd           Opcode = 0x14
	RCSendLastInv        Opcode = 0x16
	RCSendOnlyInv        Opcode = 0x17
	RCFlush              Opcode = 0x1c
	RCAtomicWrite        Opcode = 0x1d
)

// Opcodes of the unreliable connection (UC).
const (
	UCSendFirst    Opcode = 0x20
	UCSendMiddle   Opcode = 0x21
	UCSendLast     Opcode = 0x22
	UCSendLastImm  Opcode = 0x23
	UCSendOnly     Opcode = 0x24
	UCSendOnlyImm  Opcode = 0x25
	UCWriteFirst   Opcode = 0x26
	UCWriteMiddle  Opcode = 0x27
	UCWriteLast    Opcode = 0x28
	UCWriteLastImm Opcode = 0x29
	UCWriteOnly    Opcode = 0x2a
	UCWriteOnlyImm Opcode = 0x2b
)

// Opcodes of the unreliable datagram (UD), and the congestion notification
// packet (CNP, annex A17.9.3).
const (
	UDSendOnly    Opcode = 0x64
	UDSendOnlyImm Opcode = 0x65
	CNP           Opcode = 0x81
)

// Opcodes of the extended reliable connection (XRC, annex A14).
const (
	XRCSendFirst          Opcode = 0xa0
	XRCSendMiddle         Opcode = 0xa1
	XRCSendLast           Opcode = 0xa2
	XRCSendLastImm        Opcode = 0xa3
	XRCSendOnly           Opcode = 0xa4
	XRCSendOnlyImm        Opcode = 0xa5
	XRCWriteFirst         Opcode = 0xa6
	XRCWriteMiddle        Opcode = 0xa7
	XRCWriteLast          Opcode = 0xa8
	XRCWriteLastImm       Opcode = 0xa9
	XRCWriteOnly          Opcode = 0xaa
	XRCWriteOnlyImm       Opcode = 0xab
	XRCReadRequest        Opcode = 0xac
	XRCReadResponseFirst  Opcode = 0xad
	XRCReadResponseMiddle Opcode = 0xae
	XRCReadResponseLast   Opcode = 0xaf
	XRCReadResponseOnly   Opcode = 0xb0
	XRCAck                Opcode = 0xb1
	XRCAtomicAck          Opcode = 0xb2
	XRCCompareSwap        Opcode = 0xb3
	XRCFetchAdd           Opcode = 0xb4
	XRCSendLastInv        Opcode = 0xb6
	XRCSendOnlyInv        Opcode = 0xb7
	XRCFlush              Opcode = 0xbc
	XRCAtomicWrite        Opcode = 0xbd
)

// layout has, for one opcode, the offset of each extended header from the BTH in
// octets; 0 where the opcode lacks the header.
type layout struct {
	name                                                         string
	xrceth, deth, feth, reth, atomic, aeth, atomicAck, imm, ieth uint8
	// payload: offset of the payload from the BTH
	payload        uint8
	response, data bool
}

// operation is an operation of a connected service: the lower 5 bits of its
// opcode (IBTA volume 1, table 38). RC, UC and XRC share them.
type operation struct {
	code    Opcode
	name    string
	headers []Header
	data    bool // carries octets of the application
}

// operations are the operations of the reliable connection, with the headers that follow
// the BTH (IBTA volume 1 section 9.2). Other services have a part of them under the same
// low 5 bits.
var operations = []operation{
	{RCSendFirst, "SEND_FIRST", nil, true},
	{RCSendMiddle, "SEND_MIDDLE", nil, true},
	{RCSendLast, "SEND_LAST", nil, true},
	{RCSendLastImm, "SEND_LAST_WITH_IMMEDIATE", []Header{HeaderImmDt}, true},
	{RCSendOnly, "SEND_ONLY", nil, true},
	{RCSendOnlyImm, "SEND_ONLY_WITH_IMMEDIATE", []Header{HeaderImmDt}, true},
	{RCWriteFirst, "RDMA_WRITE_FIRST", []Header{HeaderRETH}, true},
	{RCWriteMiddle, "RDMA_WRITE_MIDDLE", nil, true},
	{RCWriteLast, "RDMA_WRITE_LAST", nil, true},
	{RCWriteLastImm, "RDMA_WRITE_LAST_WITH_IMMEDIATE", []Header{HeaderImmDt}, true},
	{RCWriteOnly, "RDMA_WRITE_ONLY", []Header{HeaderRETH}, true},
	{RCWriteOnlyImm, "RDMA_WRITE_ONLY_WITH_IMMEDIATE", []Header{HeaderRETH, HeaderImmDt}, true},
	{RCReadRequest, "RDMA_READ_REQUEST", []Header{HeaderRETH}, false},
	{RCReadResponseFirst, "RDMA_READ_RESPONSE_FIRST", []Header{HeaderAETH}, true},
	{RCReadResponseMiddle, "RDMA_READ_RESPONSE_MIDDLE", nil, true},
	{RCReadResponseLast, "RDMA_READ_RESPONSE_LAST", []Header{HeaderAETH}, true},
	{RCReadResponseOnly, "RDMA_READ_RESPONSE_ONLY", []Header{HeaderAETH}, true},
	{RCAck, "ACKNOWLEDGE", []Header{HeaderAETH}, false},
	{RCAtomicAck, "ATOMIC_ACKNOWLEDGE", []Header{HeaderAETH, HeaderAtomicAckETH}, false},
	{RCCompareSwap, "COMPARE_SWAP", []Header{HeaderAtomicETH}, false},
	{RCFetchAdd, "FETCH_ADD", []Header{HeaderAtomicETH}, false},
	{RCSendLastInv, "SEND_LAST_WITH_INVALIDATE", []Header{HeaderIETH}, true},
	{RCSendOnlyInv, "SEND_ONLY_WITH_INVALIDATE", []Header{HeaderIETH}, true},
	{RCFlush, "FLUSH", []Header{HeaderFETH, HeaderRETH}, false},
	{RCAtomicWrite, "ATOMIC_WRITE", []Header{HeaderRETH}, true},
}

// headerLen is the length in octets of each header that can follow the BTH.
var headerLen = [numHeaders]uint8{
	HeaderXRCETH: xrcethLen, HeaderDETH: dethLen, HeaderRETH: rethLen, HeaderAtomicETH: atomicLen, HeaderAETH: aethLen,
	HeaderAtomicAckETH: atomicAckLen, HeaderImmDt: immLen, HeaderIETH: iethLen, HeaderFETH: fethLen, HeaderCNP: cnpReservedLen,
}

// layouts are the headers of all 256 opcodes; unknown ones have the BTH alone. It is
// computed once, so that the packet path has one lookup by the octet instead of a switch
// by service and operation.
var layouts = func() (t [256]layout) {
	for i := range t {
		t[i] = layout{name: fmt.Sprintf("0x%02x", i), payload: BTHLen}
	}
	for _, op := range operations {
		t[op.code] = newLayout("RC_"+op.name, op.data, op.headers...)
		if op.code <= RCWriteOnlyImm {
			t[op.code|UCSendFirst] = newLayout("UC_"+op.name, op.data, op.headers...)
		}
		response := op.code >= RCReadResponseFirst && op.code <= RCAtomicAck
		headers := op.headers
		if !response { // only what the XRC requester sends carries an XRCETH
			headers = append([]Header{HeaderXRCETH}, headers...)
		}
		t[op.code|XRCSendFirst] = newLayout("XRC_"+op.name, op.data, headers...)
		t[op.code].response = response
		t[op.code|XRCSendFirst].response = response
	}
	t[UDSendOnly] = newLayout("UD_SEND_ONLY", true, HeaderDETH)
	t[UDSendOnlyImm] = newLayout("UD_SEND_ONLY_WITH_IMMEDIATE", true, HeaderDETH, HeaderImmDt)
	t[CNP] = newLayout("CNP", false, HeaderCNP)
	return t
}()

// newLayout returns the layout of an opcode whose headers follow the BTH in this
// order.
func newLayout(name string, data bool, headers ...Header) layout {
	l := layout{name: name, payload: BTHLen, data: data}
	for _, h := range headers {
		at := l.payload
		switch h {
		case HeaderXRCETH:
			l.xrceth = at
		case HeaderDETH:
			l.deth = at
		case HeaderFETH:
			l.feth = at
		case HeaderRETH:
			l.reth = at
		case HeaderAtomicETH:
			l.atomic = at
		case HeaderAETH:
			l.aeth = at
		case HeaderAtomicAckETH:
			l.atomicAck = at
		case HeaderImmDt:
			l.imm = at
		case HeaderIETH:
			l.ieth = at
		}
		l.payload += headerLen[h]
	}
	return l
}

// String returns the name that the IBTA specification gives the opcode, such as
// "RC_SEND_FIRST", or its number for one that is reserved. Reserved ones and the
// manufacturers' are two hexadecimal digits, such as "0xc5".
func (o Opcode) String() string { return layouts[o].name }

// Service returns the transport service. All of 0xC0 to 0xFF, of which the upper 3 bits
// are 110 or 111, are [ServiceOther].
func (o Opcode) Service() Service {
	if o >= 0xc0 {
		return ServiceOther
	}
	return Service(o >> 5)
}

// Known reports whether the opcode is one that this package has a layout for.
// Behind the BTH of any other opcode everything counts as payload.
func (o Opcode) Known() bool { return layouts[o].name[0] != '0' }

// IsResponse reports whether the responder sends it: acknowledgements and read
// responses. Its PSN is that of the request it answers.
func (o Opcode) IsResponse() bool { return layouts[o].response }

// CarriesData reports whether the packet moves octets of the application, in
// either direction: false for acknowledgements, read requests, atomics and CNPs.
func (o Opcode) CarriesData() bool { return layouts[o].data }
