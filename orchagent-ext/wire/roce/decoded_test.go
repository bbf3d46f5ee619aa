// SPDX-License-Identifier: Apache-2.0

package roce_test

import (
	"net/netip"
	"reflect"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sluice/orchagent-ext/wire/roce"
)

// decoded is all that a Packet says of itself.
type decoded struct {
	Is4, Tunnelled, Fragment, Complete bool
	Link                               []byte
	Len                                int
	Src, Dst, PathSrc, PathDst         netip.Addr
	Segments                           bool
	TrafficClass, HopLimit             uint8
	FlowLabel                          uint32
	SrcPort                            uint16
	BTH                                roce.BTH
	Extended                           extended
	Payload                            []byte
}

func decode(p *roce.Packet) decoded {
	return decoded{
		Is4: p.Is4(), Tunnelled: p.Tunnelled(), Fragment: p.Fragment(), Complete: p.Complete(),
		Link: p.LinkHeader(), Len: p.Len(), Src: p.Src(), Dst: p.Dst(), PathSrc: p.PathSrc(), PathDst: p.PathDst(), Segments: p.Segments(),
		TrafficClass: p.TrafficClass(), HopLimit: p.HopLimit(), FlowLabel: p.FlowLabel(), SrcPort: p.SrcPort(),
		BTH: p.BTH(), Extended: decodeExtended(p), Payload: p.Payload(),
	}
}

func diff(want, got any) string {
	if reflect.DeepEqual(want, got) { // cheap, and nearly always so
		return ""
	}
	return cmp.Diff(want, got, cmpopts.EquateEmpty(), cmpopts.EquateComparable(netip.Addr{}))
}

// extended holds the headers behind a BTH, nil where there is none. No opcode
// has them in another order than that of the fields.
type extended struct {
	XRCETH       *roce.XRCETH
	DETH         *roce.DETH
	FETH         *roce.FETH
	RETH         *roce.RETH
	AtomicETH    *roce.AtomicETH
	AETH         *roce.AETH
	AtomicAckETH *roce.AtomicAckETH
	ImmDt        *roce.ImmDt
	IETH         *roce.IETH
}

func decodeExtended(p *roce.Packet) extended {
	return extended{
		XRCETH: present(p.XRCETH()), DETH: present(p.DETH()), FETH: present(p.FETH()), RETH: present(p.RETH()),
		AtomicETH: present(p.AtomicETH()), AETH: present(p.AETH()), AtomicAckETH: present(p.AtomicAckETH()),
		ImmDt: present(p.ImmDt()), IETH: present(p.IETH()),
	}
}

func present[T any](header T, ok bool) *T {
	if !ok {
		return nil
	}
	return &header
}

func (e extended) append(b []byte) []byte {
	b = appendHeader(b, e.XRCETH)
	b = appendHeader(b, e.DETH)
	b = appendHeader(b, e.FETH)
	b = appendHeader(b, e.RETH)
	b = appendHeader(b, e.AtomicETH)
	b = appendHeader(b, e.AETH)
	b = appendHeader(b, e.AtomicAckETH)
	b = appendHeader(b, e.ImmDt)
	return appendHeader(b, e.IETH)
}

func appendHeader[T interface{ Append([]byte) []byte }](b []byte, h *T) []byte {
	if h == nil {
		return b
	}
	return (*h).Append(b)
}

// appendBody appends what a packet carries behind the UDP header, up to where
// the ICRC begins.
func appendBody(b []byte, bth roce.BTH, e extended, payload []byte) []byte {
	b = e.append(bth.Append(b))
	if bth.Opcode == roce.CNP {
		b = append(b, make([]byte, 16)...)
	}
	b = append(b, payload...)
	return append(b, make([]byte, bth.Pad)...)
}
