// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/cli/output"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
)

// record is one RoCEv2 packet as decode --json prints it.
type record struct {
	// Frame is the number of the packet in the capture, from 1 as in Wireshark.
	Frame int `json:"frame"`
	// Time is the capture's time of the packet, UTC; left out where it has none.
	Time time.Time  `json:"time,omitzero"`
	Src  netip.Addr `json:"src"` // of the path: as they arrive
	// Dst is the destination of the outermost IP header.
	Dst netip.Addr `json:"dst"`
	// Sport is the UDP source port.
	Sport uint16 `json:"sport"`
	// FlowLabel is the label of the outermost IPv6 header, 20 bits; 0 for IPv4.
	FlowLabel uint32 `json:"flow_label"`
	// DSCP is the upper 6 bits of the traffic class (RFC 2474).
	DSCP uint8 `json:"dscp"`
	// ECN is the name of the codepoint in the lower 2 bits (RFC 3168).
	ECN  string   `json:"ecn"`
	VLAN []uint16 `json:"vlan,omitempty"` // the outer one first
	In   string   `json:"in,omitempty"`   // port that it came in by
	Out  string   `json:"out,omitempty"`  // port that it left by
	// Sample is how sFlow sampled the packet.
	Sample *sample `json:"sample,omitempty"`
	// Tunnelled is true where the RoCEv2 packet is inside of another packet.
	Tunnelled bool `json:"tunnelled,omitempty"`
	// Session: where its addresses are others
	Session *session `json:"session,omitempty"`
	// Opcode is the BTH opcode, service and operation (IBTA volume 1 section 9.2).
	Opcode uint8 `json:"opcode"`
	// OpcodeName is its name, or the number in hexadecimal for an unknown one.
	OpcodeName string `json:"opcode_name"`
	// PKey is the partition key.
	PKey uint16 `json:"pkey"`
	// DstQP is the destination queue pair, 24 bits.
	DstQP uint32 `json:"dst_qp"`
	// SrcQP is the source queue pair; null while it is unknown.
	SrcQP *uint32 `json:"src_qp"`
	// SrcQPFrom is the way in which it was learned; null for an unknown one.
	SrcQPFrom *string `json:"src_qp_from"`
	// PSN is the packet sequence number, 24 bits.
	PSN uint32 `json:"psn"`
	// SE is the solicited event bit.
	SE bool `json:"se"`
	// M is the bit of migration state.
	M bool `json:"m"`
	// Pad is the number of octets that fill the payload up to a multiple of 4.
	Pad uint8 `json:"pad"`
	// TVer is the version of the transport header, which is 0.
	TVer uint8 `json:"tver"`
	// FECN is the bit of forward congestion notification.
	FECN bool `json:"fecn"`
	// BECN is the bit of backward congestion notification, which is set in a CNP.
	BECN bool `json:"becn"`
	// AckReq is the bit by which the sender requests an acknowledgement.
	AckReq bool `json:"ack_req"`
	// Event: gap, reordered, retransmit, restart
	Event   string `json:"event,omitempty"`
	Missing uint32 `json:"missing,omitempty"` // PSNs before it, of a gap
	// ICRCOK: null: cut by the capture, or a fragment
	ICRCOK *bool `json:"icrc_ok"`

	// XRCETH and the following are the extended headers; absent ones are left out.
	XRCETH       *xrceth       `json:"xrceth,omitempty"`
	DETH         *deth         `json:"deth,omitempty"`
	FETH         *feth         `json:"feth,omitempty"`
	RETH         *reth         `json:"reth,omitempty"`
	AtomicETH    *atomicETH    `json:"atomiceth,omitempty"`
	AETH         *aeth         `json:"aeth,omitempty"`
	AtomicAckETH *atomicAckETH `json:"atomicacketh,omitempty"`
	ImmDt        *immdt        `json:"immdt,omitempty"`
	IETH         *ieth         `json:"ieth,omitempty"`
	CM           *cm           `json:"cm,omitempty"`
	// PayloadLen is the length of the payload in octets, without padding and ICRC.
	PayloadLen int `json:"payload_len"`

	// Notification is the message in a CNP or a Rate Advice.
	Notification *notification `json:"notification,omitempty"`

	qp    uint32 // that SrcQP points to
	from  string // that SrcQPFrom points to
	right bool   // that ICRCOK points to
}

// session is between whom a RoCEv2 session is.
type session struct {
	Src netip.Addr `json:"src"`
	Dst netip.Addr `json:"dst"`
}

// notificationRecord is a notification other than RoCEv2.
type notificationRecord struct {
	Frame        int           `json:"frame"`
	Time         time.Time     `json:"time,omitzero"`
	Notification *notification `json:"notification"`

	envelope *notify.Envelope
	in, out  string
}

// newNotificationRecord returns a notification of a capture for output, with the frame's
// number, time and ports.
func newNotificationRecord(f *capture.Frame, n *notification, e *notify.Envelope) notificationRecord {
	in, out := f.Ports()
	return notificationRecord{f.Number, f.Time.UTC(), n, e, in, out}
}

// fill implements [shown].
func (r notificationRecord) fill(to *packetRow) {
	src, dst, label := "-", "-", "-"
	if e := r.envelope; e.Src.IsValid() {
		src, dst, label = e.Src.String(), e.Dst.String(), labelText(e.Src, e.FlowLabel)
	}
	to.cells = append(to.cells,
		strconv.Itoa(r.Frame), secondsAfter(to.start, r.Time), src, dst, "-", label, "-", "-", "-",
		r.Notification.kind(), "-", "-", "-", "-", "-", "-", r.Notification.cell())
	to.addPorts(r.in, r.out)
}

// secondsAfter returns the time from start to t in seconds, to the nearest microsecond; "-" where
// one of them is missing.
func secondsAfter(start, t time.Time) string { return string(appendSeconds(nil, start, t)) }

// appendSeconds appends the text of [secondsAfter].
func appendSeconds(b []byte, start, t time.Time) []byte {
	if start.IsZero() || t.IsZero() {
		return append(b, '-')
	}
	ns := uint64(t.UnixNano()) - uint64(start.UnixNano()) // a [time.Duration] is half as long
	if t.Before(start) {
		b, ns = append(b, '-'), -ns
	}
	us := ns/1000 + ns%1000/500
	b = strconv.AppendUint(b, us/1e6, 10)
	return appendPadded(append(b, '.'), us%1e6, 10, 6)
}

// appendPadded appends a number with a least number of digits.
func appendPadded(b []byte, n uint64, base, digits int) []byte {
	least := uint64(1)
	for range digits - 1 {
		if least *= uint64(base); n < least {
			b = append(b, '0')
		}
	}
	return strconv.AppendUint(b, n, base)
}

// timeOf returns a time in ns since 1970 for output; the zero value for flow.NoTime.
func timeOf(ns int64) time.Time {
	if ns == flow.NoTime {
		return time.Time{}
	}
	return time.Unix(0, ns).UTC()
}

// nanosOf is the inverse of timeOf.
func nanosOf(t time.Time) int64 {
	if t.IsZero() {
		return flow.NoTime
	}
	return t.UnixNano()
}

// portColumn is where the columns of the ports are, if they are shown.
const portColumn = 9

// withPorts adds the ports to the cells of a row.
func withPorts(cells []string, in, out string) []string {
	return slices.Insert(cells, portColumn, cmp.Or(in, "-"), cmp.Or(out, "-"))
}

type (
	sample struct {
		Rate  uint32 `json:"rate"`  // one of so many packets
		Drops uint32 `json:"drops"` // samples that the agent lost since it began
	}
	xrceth struct {
		XRCSRQ uint32 `json:"xrcsrq"`
	}
	deth struct {
		QKey  uint32 `json:"qkey"`
		SrcQP uint32 `json:"src_qp"`
	}
	feth struct {
		Placement   uint32 `json:"placement"`
		Selectivity uint32 `json:"selectivity"`
	}
	reth struct {
		VA     uint64 `json:"va"`
		RKey   uint32 `json:"rkey"`
		Length uint32 `json:"length"`
	}
	atomicETH struct {
		VA      uint64 `json:"va"`
		RKey    uint32 `json:"rkey"`
		SwapAdd uint64 `json:"swap_add"`
		Compare uint64 `json:"compare"`
	}
	aeth struct {
		Syndrome uint8  `json:"syndrome"`
		Ack      bool   `json:"ack"`
		MSN      uint32 `json:"msn"`
		NAK      string `json:"nak,omitempty"`
		// RNRTimer is how long the responder asks to wait, in ms.
		RNRTimer float64 `json:"rnr_timer_ms,omitempty"`
	}
	atomicAckETH struct {
		Original uint64 `json:"original"`
	}
	immdt struct {
		Data uint32 `json:"data"`
	}
	ieth struct {
		RKey uint32 `json:"rkey"`
	}
	cm struct {
		Message      string `json:"message"`
		LocalCommID  uint32 `json:"local_comm_id"`
		RemoteCommID uint32 `json:"remote_comm_id"`
		LocalQPN     uint32 `json:"local_qpn"`
		RemoteQPN    uint32 `json:"remote_qpn"`
		StartingPSN  uint32 `json:"starting_psn"`
		// Reason is that of a REJ, or the status of a SIDR_REP or APR.
		Reason string `json:"reason,omitempty"`
	}
)

// set sets the packet's fields; qp and from are its source queue pair as known so far, and its
// provenance.
func (r *record) set(f *capture.Frame, p *roce.Packet, qp uint32, from flow.Provenance) {
	h := p.BTH()
	*r = record{
		Frame: f.Number, Time: f.Time.UTC(), Src: p.PathSrc(), Dst: p.PathDst(), Sport: p.SrcPort(),
		FlowLabel: p.FlowLabel(), DSCP: p.TrafficClass() >> 2, ECN: ecnNames[p.TrafficClass()&3], VLAN: p.VLANs(), Tunnelled: p.Tunnelled(),
		Opcode: uint8(h.Opcode), OpcodeName: h.Opcode.String(), PKey: h.PKey, DstQP: h.DestQP, PSN: h.PSN,
		SE: h.Solicited, M: h.MigReq, Pad: h.Pad, TVer: h.TVer, FECN: h.FECN, BECN: h.BECN, AckReq: h.AckReq,
		PayloadLen: len(p.Payload()), qp: qp, from: from.String(),
	}
	r.In, r.Out = f.Ports()
	if f.Sample.Rate > 0 {
		r.Sample = &sample{f.Sample.Rate, f.Sample.Drops}
	}
	if p.Tunnelled() || p.Segments() {
		r.Session = &session{p.Src(), p.Dst()}
	}
	if from != flow.None {
		r.SrcQP, r.SrcQPFrom = &r.qp, &r.from
	}
	if got, want, ok := p.ICRC(); ok {
		r.right = got == want
		r.ICRCOK = &r.right
	}
	if h, ok := p.XRCETH(); ok {
		r.XRCETH = &xrceth{h.XRCSRQ}
	}
	if h, ok := p.DETH(); ok {
		r.DETH = &deth{h.QKey, h.SrcQP}
	}
	if h, ok := p.FETH(); ok {
		r.FETH = &feth{h.Bits & 0xf, h.Bits >> 4 & 3}
	}
	if h, ok := p.RETH(); ok {
		r.RETH = &reth{h.VA, h.RKey, h.Length}
	}
	if h, ok := p.AtomicETH(); ok {
		r.AtomicETH = &atomicETH{h.VA, h.RKey, h.SwapAdd, h.Compare}
	}
	if h, ok := p.AETH(); ok {
		r.AETH = &aeth{h.Syndrome, h.Ack(), h.MSN, h.NAK().String(), float64(h.RNRTimer().Microseconds()) / 1000}
	}
	if h, ok := p.AtomicAckETH(); ok {
		r.AtomicAckETH = &atomicAckETH{h.Original}
	}
	if h, ok := p.ImmDt(); ok {
		r.ImmDt = &immdt{h.Data}
	}
	if h, ok := p.IETH(); ok {
		r.IETH = &ieth{h.RKey}
	}
	if m, ok := p.CM(); ok {
		r.CM = &cm{m.Attribute.String(), m.LocalCommID, m.RemoteCommID, m.LocalQPN, m.RemoteQPN, m.StartingPSN, m.Reason()}
	}
}

// ecnNames are those of the codepoints of RFC 3168, by their two bits.
var ecnNames = [4]string{"not-ect", "ect1", "ect0", "ce"}

// recordColumns returns the columns of packets; with ports IN and OUT, too.
func recordColumns(ports bool) output.Columns {
	header := []string{"FRAME", "TIME", "SRC", "DST", "SPORT", "LABEL", "DSCP", "ECN", "VLAN", "OPCODE", "DST-QP", "SRC-QP", "FROM", "PSN", "FLAGS", "ICRC", "NOTIFICATION"}
	if ports {
		header = withPorts(header, "IN", "OUT")
	}
	return output.Columns{Header: header, Spare: []string{"FROM", "VLAN", "NOTIFICATION", "ICRC", "SPORT", "DSCP", "FLAGS", "SRC-QP", "ECN", "LABEL", "OUT", "PSN", "FRAME"}}
}

// fill implements [shown].
func (r *record) fill(to *packetRow) {
	icrc := "cut"
	if r.ICRCOK != nil {
		icrc = "bad"
		if *r.ICRCOK {
			icrc = "ok"
		}
	}
	opcode := r.OpcodeName
	if r.CM != nil {
		opcode += " CM " + r.CM.Message
		if r.CM.Reason != "" {
			opcode += ": " + r.CM.Reason
		}
	}
	if r.AETH != nil && r.AETH.NAK != "" {
		opcode += " NAK " + r.AETH.refusal()
	}
	t, srcQP := &to.texts, "?"
	t.add(strconv.AppendInt(t.b, int64(r.Frame), 10))
	t.add(appendSeconds(t.b, to.start, r.Time))
	t.add(strconv.AppendUint(t.b, uint64(r.Sport), 10))
	t.add(appendLabel(t.b, r.Src, r.FlowLabel))
	t.add(strconv.AppendUint(t.b, uint64(r.DSCP), 10))
	t.add(appendQP(t.b, r.DstQP))
	t.add(strconv.AppendUint(t.b, uint64(r.PSN), 10))
	if r.SrcQP != nil {
		t.add(appendQP(t.b, *r.SrcQP))
	}
	n := t.take()
	if r.SrcQP != nil {
		srcQP = n[7]
	}
	to.cells = append(to.cells, n[0], n[1], r.Session.beside(r.Src, (*session).src, to.hosts), r.Session.beside(r.Dst, (*session).dst, to.hosts), n[2],
		n[3], n[4], r.ECN, vlanText(r.VLAN), opcode, n[5], srcQP, fromText(r.SrcQPFrom), n[6], r.flags(), icrc, r.Notification.cell())
	to.addPorts(r.In, r.Out)
}

// refusal is the reason of a NAK: of an RNR NAK with its timer, of a reserved one with its
// number.
func (h *aeth) refusal() string {
	switch {
	case h.RNRTimer > 0:
		return fmt.Sprintf("%s %gms", h.NAK, h.RNRTimer)
	case h.NAK == roce.NAKReserved.String():
		return fmt.Sprintf("%s %#02x", h.NAK, h.Syndrome)
	}
	return h.NAK
}

// src returns the source of the innermost RoCEv2 packet.
func (s *session) src() netip.Addr { return s.Src }

// dst returns its destination.
func (s *session) dst() netip.Addr { return s.Dst }

// beside is an address of the path, and in parentheses the session's, if it is another.
func (s *session) beside(path netip.Addr, of func(*session) netip.Addr, known hosts) string {
	if s == nil || of(s) == path {
		return known.text(path)
	}
	return fmt.Sprintf("%s (%s)", path, of(s))
}

// flags returns the set bits of the BTH (IBTA volume 1 section 9.2) and of the packet, by
// name.
func (r *record) flags() string {
	var set []string
	for _, f := range []struct {
		on   bool
		name string
	}{{r.SE, "SE"}, {r.M, "M"}, {r.FECN, "FECN"}, {r.BECN, "BECN"}, {r.AckReq, "ACK"}, {r.Tunnelled, "TUNNEL"}} {
		if f.on {
			set = append(set, f.name)
		}
	}
	if r.Sample != nil {
		set = append(set, fmt.Sprintf("SAMPLE:%d", r.Sample.Rate))
	}
	switch {
	case r.Missing > 0:
		set = append(set, fmt.Sprintf("GAP:%d", r.Missing))
	case r.Event != "":
		set = append(set, strings.ToUpper(r.Event))
	}
	if set == nil {
		return "-"
	}
	return strings.Join(set, ",")
}

// vlanText is the VLAN, or VLANs, of a frame.
func vlanText(ids []uint16) string {
	if ids == nil {
		return "-"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ".")
}

// qpText is a queue pair with 0x and six digits at least.
func qpText(qp uint32) string {
	return string(appendQP(nil, qp))
}

// appendQP appends the text of [qpText].
func appendQP(b []byte, qp uint32) []byte { return appendPadded(append(b, "0x"...), uint64(qp), 16, 6) }

// srcQPText returns a source queue pair as text; "?" while it is unknown: most packets
// lack it, since the BTH has the destination's only.
func srcQPText(qp *uint32) string {
	if qp == nil {
		return "?"
	}
	return qpText(*qp)
}

// fromText returns the way in which a source queue pair was learned; "-" for an unknown
// one.
func fromText(from *string) string {
	if from == nil {
		return "-"
	}
	return *from
}

// labelText returns the flow label; "-" for IPv4.
func labelText(src netip.Addr, label uint32) string {
	return string(appendLabel(nil, src, label))
}

// appendLabel appends the text of [labelText].
func appendLabel(b []byte, src netip.Addr, label uint32) []byte {
	if src.Is4() || src.Is4In6() {
		return append(b, '-')
	}
	return appendPadded(append(b, "0x"...), uint64(label), 16, 5)
}
