// SPDX-License-Identifier: Apache-2.0

package savefile

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Types of blocks (draft-ietf-opsawg-pcapng section 4). That of a section header is the same
// in both byte orders.
const (
	sectionBlock    = 0x0a0d0d0a
	interfaceBlock  = 1
	obsoleteBlock   = 2
	simpleBlock     = 3
	enhancedBlock   = 6
	journalBlock    = 9
	customBlock     = 0x00000bad
	uncopiableBlock = 0x40000bad // a custom block that is not for copies
)

// byteOrder is the word by which a section header shows its byte order.
const byteOrder = 0x1a2b3c4d

// Codes of options (draft-ietf-opsawg-pcapng sections 3.5, 4.2, 4.3 and appendix A).
const (
	endOfOptions  = 0
	interfaceName = 2
	resolution    = 9
	timeOffset    = 14
	packetFlags   = 2
	packetDropped = 4
)

// Lengths of blocks without their options and data, in octets.
const (
	blockFrame     = 12 // type, length and length again
	sectionFixed   = blockFrame + 16
	interfaceFixed = blockFrame + 8
	packetFixed    = blockFrame + 20
	simpleFixed    = blockFrame + 4
)

// maxInterfaces is how many interfaces of a section are kept.
const maxInterfaces = 1 << 20

// pcapng reads a pcapng file.
type pcapng struct {
	*Reader
	numbers      // of this section
	skip    bool // the section is of a version that is not read
	faces   []*Interface
	ahead   Packet // that whole has read
	ready   bool   // it has
}

// openPcapng reads the first section header.
func (r *Reader) openPcapng() error {
	p := r.format.(*pcapng)
	r.beside = func(record []byte) { r.begin = bytes.Clone(record) }
	b, err := p.block()
	if err != nil {
		return fmt.Errorf("section header: %w", err)
	}
	err = p.other(b)
	r.beside = func([]byte) {}
	return err
}

// block reads the next block, whole.
func (p *pcapng) block() ([]byte, error) {
	b, err := p.need(blockFrame)
	if err != nil {
		return nil, err
	}
	if binary.BigEndian.Uint32(b) == sectionBlock {
		if p.big = binary.BigEndian.Uint32(b[8:]) == byteOrder; p.u32(b[8:]) != byteOrder {
			return nil, fmt.Errorf("at octet %d: section header with byte order % x: % x and its reverse are allowed", p.offset(), b[8:12], binary.BigEndian.AppendUint32(nil, byteOrder))
		}
	}
	length := p.u32(b[4:])
	if length < blockFrame || length%4 != 0 {
		return nil, fmt.Errorf("at octet %d: block of %d octets: at least %d, and a multiple of 4, are allowed", p.offset(), length, blockFrame)
	}
	if b, err = p.need(int(length)); err != nil {
		return nil, err
	}
	return b[:length:length], nil
}

func (p *pcapng) whole() bool {
	b := p.have()
	if p.ready || p.skip || len(b) < blockFrame {
		return p.ready
	}
	kind, length := p.u32(b), p.u32(b[4:])
	if isPacket(kind) && length >= blockFrame && length%4 == 0 && int64(length) <= int64(len(b)) {
		b = b[:length:length]
		p.ready = p.u32(b[length-4:]) == length && p.packet(&p.ahead, kind, b) == ""
	}
	return p.ready
}

// isPacket reports whether blocks of a type are packets.
func isPacket(kind uint32) bool {
	return kind == enhancedBlock || kind == simpleBlock || kind == obsoleteBlock
}

func (p *pcapng) next(to *Packet) error {
	if p.whole() {
		*to, p.ready = p.ahead, false
		p.take(len(to.Record))
		return nil
	}
	for {
		b, err := p.block()
		if err != nil {
			return err
		}
		kind, at := p.u32(b), p.offset()
		same := bytes.Equal(b[len(b)-4:], b[4:8])
		if !same {
			p.leave(at, "block whose two lengths are %d and %d octets", len(b), p.u32(b[len(b)-4:]))
			copy(b[len(b)-4:], b[4:8]) // a description of an interface counts nevertheless
		}
		if !isPacket(kind) {
			if err := p.other(b); err != nil {
				return err
			}
			continue
		}
		p.take(len(b))
		if p.skip {
			p.left.Packets++
			continue
		}
		if !same {
			continue
		}
		if wrong := p.packet(to, kind, b); wrong != "" {
			p.leave(at, "%s", wrong)
			continue
		}
		return nil
	}
}

// other reads a block other than a packet, and takes it.
func (p *pcapng) other(b []byte) (err error) {
	at, kind := p.offset(), p.u32(b)
	p.take(len(b))
	switch {
	case kind == sectionBlock:
		p.section(at, b)
	case p.skip:
	case kind == interfaceBlock:
		err = p.describe(at, b)
	case kind == customBlock, kind == uncopiableBlock, kind == journalBlock:
		p.number++
	}
	if err == nil && !p.skip && kind != uncopiableBlock {
		p.beside(b)
	}
	return err
}

// section begins a section. Version 1.2 is the same as 1.0 (draft-ietf-opsawg-pcapng section
// 4.1); another one is skipped.
func (p *pcapng) section(at int64, b []byte) {
	p.faces, p.skip = nil, true
	if len(b) < sectionFixed {
		p.left.Sections++
		p.reason(at, "section header of %d octets: %d are needed", len(b), sectionFixed)
		return
	}
	major, minor := p.u16(b[12:]), p.u16(b[14:])
	if p.skip = major != 1 || minor != 0 && minor != 2; p.skip {
		p.left.Sections++
		p.reason(at, "section of pcapng %d.%d: 1.0 and 1.2 are read", major, minor)
	}
}

// describe reads the description of an interface.
func (p *pcapng) describe(at int64, b []byte) error {
	if len(p.faces) == maxInterfaces {
		return fmt.Errorf("at octet %d: more than %d interfaces in a section", at, maxInterfaces)
	}
	f := &Interface{}
	p.faces = append(p.faces, f)
	if len(b) < interfaceFixed {
		p.leave(at, "description of an interface of %d octets: %d are needed", len(b), interfaceFixed)
		return nil
	}
	f.Link, f.snaplen = p.u16(b[8:]), p.u32(b[12:])
	r, offset := uint8(defaultResolution), int64(0)
	p.options(b[16:len(b)-4], func(code uint16, v []byte) {
		switch {
		case code == interfaceName:
			f.Name = string(bytes.TrimRight(v, "\x00"))
		case code == resolution && len(v) == 1:
			r = v[0]
		case code == timeOffset && len(v) == 8:
			offset = int64(p.u64(v))
		}
	})
	f.clock = newClock(r, offset)
	return nil
}

// options calls each with every option of a list, as far as they are whole.
func (p *pcapng) options(b []byte, each func(code uint16, value []byte)) {
	for len(b) >= 4 {
		code, length := p.u16(b), int(p.u16(b[2:]))
		if code == endOfOptions || 4+length > len(b) {
			return
		}
		each(code, b[4:4+length])
		b = b[min(len(b), 4+(length+3)&^3):]
	}
}

// packet reads a packet of any form; wrong is its fault; "": it has none.
func (p *pcapng) packet(to *Packet, kind uint32, b []byte) (wrong string) {
	*to = Packet{Record: b}
	fixed := packetFixed
	if kind == simpleBlock {
		fixed = simpleFixed
	}
	if len(b) < fixed {
		return fmt.Sprintf("packet block of %d octets: %d are needed", len(b), fixed)
	}
	var index, captured, length uint32
	switch kind {
	case enhancedBlock:
		index, captured, length = p.u32(b[8:]), p.u32(b[20:]), p.u32(b[24:])
	case obsoleteBlock:
		index, captured, length = uint32(p.u16(b[8:])), p.u32(b[20:]), p.u32(b[24:])
		if drops := p.u16(b[10:]); drops != 0xffff { // which is unknown
			to.Dropped = uint64(drops)
		}
	default:
		length = p.u32(b[8:])
	}
	if index >= uint32(len(p.faces)) {
		return fmt.Sprintf("packet of interface %d: the section has described %d", index, len(p.faces))
	}
	face := p.faces[index]
	if kind == simpleBlock {
		captured = min(length, uint32(len(b)-fixed))
		if face.snaplen != 0 {
			captured = min(captured, face.snaplen)
		}
	}
	if captured > uint32(len(b)-fixed) || captured > MaxPacket {
		return fmt.Sprintf("packet with a captured length of %d octets in a block of %d: %d are the most", captured, len(b), min(len(b)-fixed, MaxPacket))
	}
	data := b[fixed-4 : fixed-4+int(captured)]
	to.Data, to.Length, to.Link, to.Face, to.Index = data[:captured:captured], int(max(captured, length)), face.Link, face, int(index)
	if kind == simpleBlock {
		return ""
	}
	to.Time = face.clock.time(uint64(p.u32(b[12:]))<<32 | uint64(p.u32(b[16:])))
	if rest := b[fixed-4+int(captured+3)&^3 : len(b)-4]; len(rest) > 0 {
		p.packetOptions(to, kind, rest)
	}
	return ""
}

// packetOptions reads the options of a packet.
func (p *pcapng) packetOptions(to *Packet, kind uint32, b []byte) {
	const direction, outbound = 3, 2 // bits of the flags
	p.options(b, func(code uint16, v []byte) {
		switch {
		case code == packetFlags && len(v) == 4:
			to.Out = p.u32(v)&direction == outbound
		case code == packetDropped && len(v) == 8 && kind == enhancedBlock:
			to.Dropped = p.u64(v)
		}
	})
}
