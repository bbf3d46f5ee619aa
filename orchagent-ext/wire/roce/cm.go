// SPDX-License-Identifier: Apache-2.0

package roce

import (
	"encoding/binary"
	"fmt"
)

// CMAttribute is the attribute id of a communication management MAD (IBTA vol.
// 1, section 12.6). It is the MAD header's AttributeID, at octets 16 and 17 of the MAD
// (section 13.4).
type CMAttribute uint16

// The messages that set up and end a connection.
const (
	CMReq  CMAttribute = 0x0010 // connect request
	CMRep  CMAttribute = 0x0013 // connect reply
	CMRtu  CMAttribute = 0x0014 // ready to use
	CMDreq CMAttribute = 0x0015 // disconnect request
	CMDrep CMAttribute = 0x0016 // disconnect reply
)

// String returns the name of the message in the IBTA specification, or its
// number.
func (a CMAttribute) String() string {
	switch a {
	case CMReq:
		return "REQ"
	case CMRep:
		return "REP"
	case CMRtu:
		return "RTU"
	case CMDreq:
		return "DREQ"
	case CMDrep:
		return "DREP"
	}
	return fmt.Sprintf("0x%04x", uint16(a))
}

// CM has the fields of a communication management message (IBTA volume 1, section
// 12.6) by which two queue pairs are connected. Fields that the message lacks are
// 0; of messages other than the five above only Attribute and LocalCommID are
// read.
type CM struct {
	Attribute    CMAttribute
	LocalCommID  uint32
	RemoteCommID uint32 // not in REQ
	LocalQPN     uint32 // 24 bits; REQ and REP: the sender's queue pair
	RemoteQPN    uint32 // 24 bits; DREQ: the receiver's queue pair
	// StartingPSN: 24 bits; REQ and REP: with which the receiver begins to send
	StartingPSN uint32
}

const (
	// Values of management datagrams (IBTA volume 1 section 13.4) and of connection
	// management (section 12), lengths in octets.
	madLen        = 256
	madHeaderLen  = 24
	madClassCM    = 0x07
	madQKey       = 0x80010000
	madVersion    = 1
	gsiQP         = 1 // the general services interface, where CM listens
	cmClassVer    = 2
	madMethodSend = 3
)

// CM returns the communication management message that the packet carries, if it carries
// one and all of it is in the buffer. That is a UD SEND_ONLY to queue pair 1 with a MAD
// of 256 octets of management class 7. Q_Key, method and class version are left to the
// hosts to check.
func (p *Packet) CM() (CM, bool) {
	if p.Opcode() != UDSendOnly || p.DestQP() != gsiQP {
		return CM{}, false
	}
	mad := p.Payload()
	if len(mad) < madLen || mad[1] != madClassCM {
		return CM{}, false
	}
	be := binary.BigEndian
	data := mad[madHeaderLen:]
	m := CM{Attribute: CMAttribute(be.Uint16(mad[16:])), LocalCommID: be.Uint32(data)}
	switch m.Attribute {
	case CMReq:
		m.LocalQPN, m.StartingPSN = uint24(data[32:]), uint24(data[44:])
	case CMRep:
		m.RemoteCommID = be.Uint32(data[4:])
		m.LocalQPN, m.StartingPSN = uint24(data[12:]), uint24(data[20:])
	case CMRtu, CMDrep:
		m.RemoteCommID = be.Uint32(data[4:])
	case CMDreq:
		m.RemoteCommID = be.Uint32(data[4:])
		m.RemoteQPN = uint24(data[8:])
	}
	return m, true
}

// Append appends the part of the message's packet after the BTH: the DETH (from
// queue pair 1) and a MAD of 256 octets in which every field beyond those of CM
// is 0. It is for generated traffic: a real peer refuses to connect by it. Queue pairs
// and PSNs are 24 bits in the upper three octets of a word, thus the shift by 8.
func (m CM) Append(b []byte) []byte {
	b = DETH{QKey: madQKey, SrcQP: gsiQP}.Append(b)
	start := len(b)
	b = append(b, make([]byte, madLen)...)
	be, mad := binary.BigEndian, b[start:]
	mad[0], mad[1], mad[2], mad[3] = madVersion, madClassCM, cmClassVer, madMethodSend
	be.PutUint16(mad[16:], uint16(m.Attribute))
	data := mad[madHeaderLen:]
	be.PutUint32(data, m.LocalCommID)
	switch m.Attribute {
	case CMReq:
		be.PutUint32(data[32:], m.LocalQPN<<8)
		be.PutUint32(data[44:], m.StartingPSN<<8)
	case CMRep:
		be.PutUint32(data[4:], m.RemoteCommID)
		be.PutUint32(data[12:], m.LocalQPN<<8)
		be.PutUint32(data[20:], m.StartingPSN<<8)
	case CMRtu, CMDrep:
		be.PutUint32(data[4:], m.RemoteCommID)
	case CMDreq:
		be.PutUint32(data[4:], m.RemoteCommID)
		be.PutUint32(data[8:], m.RemoteQPN<<8)
	}
	return b
}
