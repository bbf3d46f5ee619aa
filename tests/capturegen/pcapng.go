// SPDX-License-Identifier: Apache-2.0

package capturegen

import "encoding/binary"

// Types of the blocks of pcapng (draft-ietf-opsawg-pcapng section 4).
const (
	sectionBlock    = 0x0a0d0d0a
	interfaceBlock  = 1
	obsoleteBlock   = 2
	simpleBlock     = 3
	NamesBlock      = 4
	statisticsBlock = 5
	enhancedBlock   = 6
	JournalBlock    = 9
	SecretsBlock    = 10
	CustomBlock     = 0x00000bad
	CustomOnlyHere  = 0x40000bad // not to be copied
)

// Codes of options, by the block that has them.
const (
	Comment = 1

	InterfaceName = 2
	Resolution    = 9
	FCSLength     = 13
	Offset        = 14

	PacketFlags   = 2
	PacketDropped = 4

	Received = 4 // by the interface
	Dropped  = 5
)

// Option is an option of a block.
type Option struct {
	Code  uint16
	Value []byte
}

// Pcapng is a pcapng file that is made block by block. Its zero value is an empty one.
type Pcapng struct {
	order binary.ByteOrder
	b     []byte
}

// Bytes returns the file.
func (f *Pcapng) Bytes() []byte { return f.b }

// Section begins a section in a byte order, with the version of the format.
func (f *Pcapng) Section(order binary.ByteOrder, major, minor uint16, options ...Option) *Pcapng {
	f.order = order
	return f.Block(sectionBlock, f.u32(0x1a2b3c4d), f.u16(major), f.u16(minor), f.U64(1<<64-1), f.options(options))
}

// Interface describes the next interface of the section.
func (f *Pcapng) Interface(link uint16, snaplen uint32, options ...Option) *Pcapng {
	return f.Block(interfaceBlock, f.u16(link), f.u16(0), f.u32(snaplen), f.options(options))
}

// Enhanced adds an enhanced packet block. length is that on the wire, octets.
func (f *Pcapng) Enhanced(face uint32, ticks uint64, data []byte, length int, options ...Option) *Pcapng {
	return f.Block(enhancedBlock, f.u32(face), f.ticks(ticks), f.u32(uint32(len(data))), f.u32(uint32(length)), padded(data), f.options(options))
}

// Simple adds a simple packet block, which has no time.
func (f *Pcapng) Simple(data []byte, length int) *Pcapng {
	return f.Block(simpleBlock, f.u32(uint32(length)), padded(data))
}

// Obsolete adds a packet block, the predecessor of the enhanced one.
func (f *Pcapng) Obsolete(face, drops uint16, ticks uint64, data []byte, length int, options ...Option) *Pcapng {
	return f.Block(obsoleteBlock, f.u16(face), f.u16(drops), f.ticks(ticks), f.u32(uint32(len(data))), f.u32(uint32(length)), padded(data), f.options(options))
}

// Statistics adds statistics of an interface.
func (f *Pcapng) Statistics(face uint32, ticks uint64, options ...Option) *Pcapng {
	return f.Block(statisticsBlock, f.u32(face), f.ticks(ticks), f.options(options))
}

// Block adds a block of any type. The parts of its body are filled up to a multiple of 4.
func (f *Pcapng) Block(kind uint32, parts ...[]byte) *Pcapng {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	body = padded(body)
	length := f.u32(uint32(12 + len(body)))
	f.b = append(append(append(append(f.b, f.u32(kind)...), length...), body...), length...)
	return f
}

// U32 is an option's value of 4 octets in the section's byte order.
func (f *Pcapng) U32(v uint32) []byte { return f.u32(v) }

// U64 is an option's value of 8 octets in the section's byte order.
func (f *Pcapng) U64(v uint64) []byte {
	b := make([]byte, 8)
	f.order.PutUint64(b, v)
	return b
}

func (f *Pcapng) u32(v uint32) []byte {
	b := make([]byte, 4)
	f.order.PutUint32(b, v)
	return b
}

func (f *Pcapng) u16(v uint16) []byte {
	b := make([]byte, 2)
	f.order.PutUint16(b, v)
	return b
}

// ticks is a time as its two halves, the upper one first.
func (f *Pcapng) ticks(v uint64) []byte { return append(f.u32(uint32(v>>32)), f.u32(uint32(v))...) }

// options is a list of options with its end, or nothing for an empty one.
func (f *Pcapng) options(all []Option) (b []byte) {
	if len(all) == 0 {
		return nil
	}
	for _, o := range all {
		b = append(append(append(b, f.u16(o.Code)...), f.u16(uint16(len(o.Value)))...), padded(o.Value)...)
	}
	return append(b, 0, 0, 0, 0)
}

// padded is b filled up to a multiple of 4 octets.
func padded(b []byte) []byte { return append(b[:len(b):len(b)], make([]byte, -len(b)&3)...) }
