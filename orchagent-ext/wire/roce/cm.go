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

// The messages of communication management.
const (
	CMReq     CMAttribute = 0x0010 // connect request
	CMMra     CMAttribute = 0x0011 // message receipt acknowledgement: the answer takes longer
	CMRej     CMAttribute = 0x0012 // connect reject
	CMRep     CMAttribute = 0x0013 // connect reply
	CMRtu     CMAttribute = 0x0014 // ready to use
	CMDreq    CMAttribute = 0x0015 // disconnect request
	CMDrep    CMAttribute = 0x0016 // disconnect reply
	CMSidrReq CMAttribute = 0x0017 // service ID resolution request: which queue pair serves datagrams
	CMSidrRep CMAttribute = 0x0018 // its reply
	CMLap     CMAttribute = 0x0019 // load alternate path
	CMApr     CMAttribute = 0x001a // alternate path response
	CMSap     CMAttribute = 0x001b // suggest alternate path
	CMSpr     CMAttribute = 0x001c // suggest path response
)

// cmNames are the names of messages in the IBTA specification.
var cmNames = map[CMAttribute]string{
	CMReq: "REQ", CMMra: "MRA", CMRej: "REJ", CMRep: "REP", CMRtu: "RTU", CMDreq: "DREQ", CMDrep: "DREP",
	CMSidrReq: "SIDR_REQ", CMSidrRep: "SIDR_REP", CMLap: "LAP", CMApr: "APR", CMSap: "SAP", CMSpr: "SPR",
}

// String returns the name of the message in the IBTA specification, or its
// number.
func (a CMAttribute) String() string {
	if name := cmNames[a]; name != "" {
		return name
	}
	return fmt.Sprintf("0x%04x", uint16(a))
}

// CM has the fields of a communication management message (IBTA volume 1, section
// 12.6) by which two queue pairs are connected. Fields that the message lacks are
// 0; of SAP and SPR only Attribute and LocalCommID are read.
type CM struct {
	Attribute    CMAttribute
	LocalCommID  uint32 // of SIDR_REQ and SIDR_REP: the request ID
	RemoteCommID uint32 // not in REQ, SIDR_REQ and SIDR_REP
	LocalQPN     uint32 // 24 bits; REQ, REP and SIDR_REP: the sender's queue pair
	RemoteQPN    uint32 // 24 bits; DREQ and LAP: the receiver's queue pair
	// StartingPSN: 24 bits; REQ and REP: with which the receiver begins to send
	StartingPSN uint32
	// Code: REJ: the reason (table 112); SIDR_REP and APR: the status (sections 12.11.2, 12.8.2);
	// see [CM.Reason]
	Code uint16
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
	case CMRtu, CMDrep, CMMra:
		m.RemoteCommID = be.Uint32(data[4:])
	case CMDreq:
		m.RemoteCommID = be.Uint32(data[4:])
		m.RemoteQPN = uint24(data[8:])
	case CMLap:
		m.RemoteCommID = be.Uint32(data[4:])
		m.RemoteQPN = uint24(data[12:])
	case CMRej:
		m.RemoteCommID, m.Code = be.Uint32(data[4:]), be.Uint16(data[10:])
	case CMApr:
		m.RemoteCommID, m.Code = be.Uint32(data[4:]), uint16(data[9])
	case CMSidrRep:
		m.Code, m.LocalQPN = uint16(data[4]), uint24(data[8:])
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
	case CMRtu, CMDrep, CMMra:
		be.PutUint32(data[4:], m.RemoteCommID)
	case CMDreq:
		be.PutUint32(data[4:], m.RemoteCommID)
		be.PutUint32(data[8:], m.RemoteQPN<<8)
	case CMLap:
		be.PutUint32(data[4:], m.RemoteCommID)
		be.PutUint32(data[12:], m.RemoteQPN<<8)
	case CMRej:
		be.PutUint32(data[4:], m.RemoteCommID)
		be.PutUint16(data[10:], m.Code)
	case CMApr:
		be.PutUint32(data[4:], m.RemoteCommID)
		data[9] = byte(m.Code)
	case CMSidrRep:
		data[4] = byte(m.Code)
		be.PutUint32(data[8:], m.LocalQPN<<8)
	}
	return b
}
