// SPDX-License-Identifier: Apache-2.0

package roce

import "encoding/binary"

// Lengths in octets.
const (
	BTHLen  = 12
	ICRCLen = 4

	ethernetLen    = 14
	vlanLen        = 4
	ipv4MinLen     = 20
	ipv6Len        = 40
	udpLen         = 8
	cnpReservedLen = 16

	xrcethLen    = 4
	dethLen      = 8
	rethLen      = 16
	atomicLen    = 28
	aethLen      = 4
	atomicAckLen = 8
	immLen       = 4
	iethLen      = 4
	fethLen      = 4
)

// UDPPort is the destination port of every RoCEv2 packet (annex A17.3.1). A receiver
// identifies RoCEv2 by it alone; the source port is free.
const UDPPort = 4791

// BTH is the base transport header (IBTA vol. 1, section 9.2).
type BTH struct {
	Opcode    Opcode
	Solicited bool   // SE: solicited event
	MigReq    bool   // M: state of path migration
	Pad       uint8  // octets of padding behind the payload, 0 to 3
	TVer      uint8  // transport header version, 4 bits
	PKey      uint16 // partition key
	FECN      bool   // F
	BECN      bool   // B
	Resv6     uint8  // the low 6 bits of octet 4, outside the ICRC's protection
	DestQP    uint32 // destination queue pair, 24 bits
	AckReq    bool   // A
	Resv7     uint8  // the low 7 bits of octet 8
	PSN       uint32 // packet sequence number, 24 bits
}

// Append appends the 12 octets of the header to b. Bits beyond a field's width
// are dropped.
func (h BTH) Append(b []byte) []byte {
	flags1 := flag(h.Solicited, 0x80) | flag(h.MigReq, 0x40) | h.Pad&3<<4 | h.TVer&0xf
	flags2 := flag(h.FECN, 0x80) | flag(h.BECN, 0x40) | h.Resv6&0x3f
	flags3 := flag(h.AckReq, 0x80) | h.Resv7&0x7f
	b = binary.BigEndian.AppendUint64(b, uint64(h.Opcode)<<56|uint64(flags1)<<48|uint64(h.PKey)<<32|uint64(flags2)<<24|uint64(h.DestQP&0xffffff))
	return binary.BigEndian.AppendUint32(b, uint32(flags3)<<24|h.PSN&0xffffff)
}

// decodeBTH reads the base transport header (IBTA volume 1, section 9.2) at b[0];
// b has at least [BTHLen] octets.
func decodeBTH(b []byte) BTH {
	_ = b[BTHLen-1]
	return BTH{
		Opcode: Opcode(b[0]), Solicited: b[1]&0x80 != 0, MigReq: b[1]&0x40 != 0, Pad: b[1] >> 4 & 3, TVer: b[1] & 0xf,
		PKey: binary.BigEndian.Uint16(b[2:]), FECN: b[4]&0x80 != 0, BECN: b[4]&0x40 != 0, Resv6: b[4] & 0x3f,
		DestQP: uint24(b[5:]), AckReq: b[8]&0x80 != 0, Resv7: b[8] & 0x7f, PSN: uint24(b[9:]),
	}
}

// DETH is the datagram extended transport header of UD (section 9.3.3). RC, UC and XRC
// packets lack it, so their source queue pair has to be learned.
type DETH struct {
	QKey     uint32
	Reserved uint8
	SrcQP    uint32 // source queue pair, 24 bits
}

// Append appends the 8 octets of the header to b. Bits of SrcQP above the lower 24 are
// dropped.
func (h DETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, h.QKey)
	return append(b, h.Reserved, byte(h.SrcQP>>16), byte(h.SrcQP>>8), byte(h.SrcQP))
}

// RETH is the RDMA extended transport header (section 9.3.4). Reads, the first or only
// packet of a write, flushes and atomic writes have it.
type RETH struct {
	VA     uint64 // virtual address
	RKey   uint32 // remote key
	Length uint32 // DMA length in octets, of the whole message
}

// Append appends the 16 octets of the header to b.
func (h RETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VA)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	return binary.BigEndian.AppendUint32(b, h.Length)
}

// AtomicETH is the atomic extended transport header (section 9.3.5). Both operations are
// on 8 octets at VA, which is a multiple of 8.
type AtomicETH struct {
	VA      uint64
	RKey    uint32
	SwapAdd uint64 // value to swap in, or to add
	Compare uint64
}

// Append appends the 28 octets of the header to b. All fields are in network byte order.
func (h AtomicETH) Append(b []byte) []byte {
	b = binary.BigEndian.AppendUint64(b, h.VA)
	b = binary.BigEndian.AppendUint32(b, h.RKey)
	b = binary.BigEndian.AppendUint64(b, h.SwapAdd)
	return binary.BigEndian.AppendUint64(b, h.Compare)
}

// AETH is the acknowledge extended transport header (section 9.3.6). The upper 3 bits of
// Syndrome are its type: 000 ACK with the credit count, 001 RNR NAK with the timer's
// code, 011 NAK with the reason in the lower 5 bits (section 9.7.5.2).
type AETH struct {
	Syndrome uint8
	MSN      uint32 // message sequence number, 24 bits
}

// Ack reports whether the syndrome is a positive acknowledgement (section
// 9.7.5.2.1), as opposed to an RNR NAK or a NAK.
func (h AETH) Ack() bool { return h.Syndrome>>5 == 0 }

// NAK is why a responder refuses a request. Its zero value is NotNAK, for packets that
// are acknowledgements or have no AETH at all.
type NAK uint8

// The reasons of a NAK: the codes of a syndrome whose upper 3 bits are 011 (section
// 9.7.5.2.2), and the RNR NAK, whose upper 3 bits are 001.
const (
	NotNAK       NAK = iota // it is a positive acknowledgement
	NAKRNR                  // receiver not ready: it has no receive request for a send
	NAKSequence             // the PSN is not the expected one: something was lost
	NAKInvalid              // the responder does not support the request
	NAKAccess               // the R_Key does not allow it
	NAKOperation            // the responder failed
	NAKInvalidRD            // of reliable datagrams
	NAKReserved             // a syndrome that the specification reserves
	NumNAKs                 // how many there are, NotNAK too
)

// nakNames are the names of NAKs in counters and output (IBTA volume 1 section 9.7.5.2).
var nakNames = [NumNAKs]string{"", "rnr", "sequence", "invalid", "access", "operation", "invalid-rd", "reserved"}

// String is a word such as "rnr", "sequence" or "access"; empty for NotNAK.
func (n NAK) String() string { return nakNames[n] }

// NAK returns why the responder refuses the request, or NotNAK. The type 010 of the
// syndrome, and codes from 5 on, are NAKReserved.
func (h AETH) NAK() NAK {
	const codes = 5
	switch code := h.Syndrome & 0x1f; h.Syndrome >> 5 {
	case 0:
		return NotNAK
	case 1:
		return NAKRNR
	case 3:
		if code < codes {
			return NAKSequence + NAK(code)
		}
	}
	return NAKReserved
}

// Append appends the 4 octets of the header to b. Bits of MSN above the lower 24 are
// dropped.
func (h AETH) Append(b []byte) []byte {
	return append(b, h.Syndrome, byte(h.MSN>>16), byte(h.MSN>>8), byte(h.MSN))
}

// AtomicAckETH carries the value that an atomic found (section 9.3.7). Original is the 8
// octets at VA before the operation, in host byte order here.
type AtomicAckETH struct{ Original uint64 }

// Append appends the 8 octets of the header to b.
func (h AtomicAckETH) Append(b []byte) []byte { return binary.BigEndian.AppendUint64(b, h.Original) }

// ImmDt is the immediate data of a send or write (section 9.3.8). The receiver's
// application gets the 4 octets with its completion; their meaning is its own.
type ImmDt struct{ Data uint32 }

// Append appends the 4 octets of the header to b.
func (h ImmDt) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.Data) }

// IETH carries the R_Key that a send invalidates (section 9.3.9). It is in the last or
// only packet of such a send (opcodes 0x16 and 0x17).
type IETH struct{ RKey uint32 }

// Append appends the 4 octets of the header to b.
func (h IETH) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.RKey) }

// XRCETH names the shared receive queue of an XRC request (annex A14.3). It comes first
// after the BTH of requests, so all later headers move by 4 octets.
type XRCETH struct {
	Reserved uint8
	XRCSRQ   uint32 // 24 bits
}

// Append appends the 4 octets of the header to b. Bits of XRCSRQ above the lower 24 are
// dropped.
func (h XRCETH) Append(b []byte) []byte {
	return append(b, h.Reserved, byte(h.XRCSRQ>>16), byte(h.XRCSRQ>>8), byte(h.XRCSRQ))
}

// FETH is the flush extended transport header (annex A19.3): selectivity level
// in bits 4-5 and placement type in bits 0-3, counted from the least
// significant one; the other bits are reserved and kept.
type FETH struct{ Bits uint32 }

// Append appends the 4 octets of the header to b. It comes before the RETH.
func (h FETH) Append(b []byte) []byte { return binary.BigEndian.AppendUint32(b, h.Bits) }

// uint24 reads three octets in network byte order, as queue pair numbers and PSNs
// are.
func uint24(b []byte) uint32 {
	_ = b[2]
	return uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
}

// flag returns bit if set, else 0.
func flag(set bool, bit byte) byte {
	if set {
		return bit
	}
	return 0
}
