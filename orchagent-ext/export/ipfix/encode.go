// SPDX-License-Identifier: Apache-2.0

package ipfix

import "slices"

// appendRecord appends a data record of length octets of a template that has every field of its
// variant, in the order of [fields]: one pass, where puts take a call for each field.
func appendRecord(b []byte, r *Record, v variant, length int) []byte {
	n := len(b)
	b = slices.Grow(b, length)[:n+length]
	at := b[n:]
	if v&ipv6 == 0 {
		*(*[4]byte)(at), *(*[4]byte)(at[4:]) = [4]byte(r.Src[12:]), [4]byte(r.Dst[12:])
		at = at[8:]
	} else {
		*(*[16]byte)(at), *(*[16]byte)(at[16:]) = r.Src, r.Dst
		be.PutUint32(at[32:], r.FlowLabel)
		at = at[36:]
	}
	at = putTransport(at, r)
	if v&interfaces != 0 {
		be.PutUint32(at, r.Ingress)
		be.PutUint32(at[4:], r.Egress)
		at = at[8:]
	}
	at[0] = r.Opcode
	be.PutUint16(at[1:], r.PKey)
	be.PutUint32(at[3:], r.DestQP)
	at = at[7:]
	if v&srcQP != 0 {
		be.PutUint32(at, r.SrcQP)
		at[4] = uint8(r.SrcQPFrom)
		at = at[5:]
	}
	if v&inside != 0 {
		*(*[16]byte)(at), *(*[16]byte)(at[16:]) = r.SessionSrc, r.SessionDst
		at = at[32:]
	}
	be.PutUint32(at, r.PSN)
	at[4], at[5], at[6] = r.Flags1, r.Flags2, r.Flags3
	at = at[7:]
	if v&packet != 0 {
		appendMicroseconds(at[:0], r.End)
		be.PutUint64(at[8:], r.Octets)
		at = at[16:]
	} else {
		at = putCounters(at, r)
	}
	if v&sampled != 0 {
		be.PutUint64(at, selectorNumber)
		at = at[8:]
	}
	if v&biflow != 0 {
		at = putReverse(at, &r.Reverse)
	}
	if v&packet == 0 {
		for i, count := range r.Classes {
			be.PutUint32(at[4*i:], count)
		}
		at = at[4*numClasses:]
	}
	if v&invalid != 0 {
		be.PutUint32(at, r.Invalid)
	}
	return b
}

// putTransport writes the fields of UDP, and returns the octets behind them.
func putTransport(at []byte, r *Record) []byte {
	_ = at[5]
	at[0] = udp
	be.PutUint16(at[1:], r.SrcPort)
	be.PutUint16(at[3:], rocePort)
	at[5] = r.TrafficClass
	return at[6:]
}

// putCounters writes the counters and times of a flow, and returns the octets behind them.
func putCounters(at []byte, r *Record) []byte {
	_ = at[48]
	be.PutUint64(at, r.Octets)
	be.PutUint64(at[8:], r.Packets)
	be.PutUint64(at[16:], r.CEOctets)
	be.PutUint64(at[24:], r.CEPackets)
	be.PutUint64(at[32:], milliseconds(r.Start))
	be.PutUint64(at[40:], milliseconds(r.End))
	at[48] = byte(r.EndReason)
	return at[49:]
}

// putReverse writes the other direction of a biflow, and returns the octets behind it.
func putReverse(at []byte, r *Reverse) []byte {
	_ = at[34]
	at[0] = initiator
	be.PutUint16(at[1:], r.SrcPort)
	be.PutUint64(at[3:], r.Octets)
	be.PutUint64(at[11:], r.Packets)
	be.PutUint64(at[19:], milliseconds(r.Start))
	be.PutUint64(at[27:], milliseconds(r.End))
	return at[35:]
}
