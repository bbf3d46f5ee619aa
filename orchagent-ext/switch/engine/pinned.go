// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"sluice/sai-shim/saiattr"
)

// pinned is the engine's state of a flow with an entry, in a compact form: flows are
// many, and all alike.
type pinned struct {
	label, from    uint32 // from: the switch may have this one still; 0: it has label
	srcPort        uint16 // 0: unknown
	entry, counter ID     // "": they are to be created
	sampling       sampling
}

// sampling reports whether an entry samples packets.
type sampling uint8

const (
	samplesNothing sampling = iota
	samples
	samplesUnknown // a process was killed while it changed that
)

// keySampling is a record of the ledger while the entries of flows begin or end to
// sample. It is without an object.
const (
	keySampling  = "flow/sampling"
	idSampling   = ID(PrefixUnknown + keySampling)
	typeChanging = Type("changing")
)

// Attributes of a flow's record only, apart from those of its objects.
const (
	attrSrcPort = "udp-source-port"
	attrFrom    = "label-before" // while the label changes
)

// unlabelled returns the part of an entry that identifies the flow.
func unlabelled(f FlowEntry) FlowEntry {
	f.Label, f.SrcPort = 0, 0
	return f
}

// flowKey names the objects of a flow.
func flowKey(f FlowEntry) string {
	return fmt.Sprintf("%s%s/%s/%06x", PrefixFlow, f.Src, f.Dst, f.DestQP)
}

// compare orders flows, so that steps are the same in every run.
func (f FlowEntry) compare(other FlowEntry) int {
	return cmp.Or(f.Src.Compare(other.Src), f.Dst.Compare(other.Dst), cmp.Compare(f.DestQP, other.DestQP))
}

// parseFlowKey parses the text of flowKey.
func parseFlowKey(key string) (f FlowEntry, ok bool) {
	words := strings.Split(strings.TrimPrefix(key, PrefixFlow), "/")
	if !strings.HasPrefix(key, PrefixFlow) || len(words) != 3 {
		return f, false
	}
	var errs [3]error
	f.Src, errs[0] = netip.ParseAddr(words[0])
	f.Dst, errs[1] = netip.ParseAddr(words[1])
	qp, err := strconv.ParseUint(words[2], 16, 24)
	f.DestQP, errs[2] = uint32(qp), err
	return f, errs == [3]error{}
}

// record is the flow in the ledger: one row, of the entry, with the attributes in
// which flows differ. The counter has its id instead of a key.
func (p *pinned) record(f FlowEntry) *Record {
	attrs := []Attr{{saiattr.ACLEntrySetLabel.Name, fmt.Sprintf("0x%05x", p.label)}, {saiattr.ACLEntryCounter.Name, string(p.counter)}}
	if p.sampling == samples {
		attrs = append(attrs, Attr{saiattr.ACLEntrySample.Name, "@" + keySample})
	}
	if p.srcPort != 0 {
		attrs = append(attrs, Attr{attrSrcPort, fmt.Sprint(p.srcPort)})
	}
	if p.from != 0 {
		attrs = append(attrs, Attr{attrFrom, fmt.Sprintf("0x%05x", p.from)})
	}
	return &Record{Object: Object{Key: flowKey(f), Type: TypeACLEntry, Attrs: attrs}, ID: p.entry}
}

// counterRecord returns the record of the flow's counter.
func (p *pinned) counterRecord(f FlowEntry) *Record {
	return &Record{Object: Object{Key: flowKey(f) + suffixCounter, Type: TypeACLCounter}, ID: p.counter}
}

// parsePinned parses the result of record, or the entry of an earlier version, whose
// counter is a record of its own and is referred to by key.
func parsePinned(r *Record) (f FlowEntry, p pinned, ok bool) {
	f, ok = parseFlowKey(r.Key)
	if !ok || r.Type != TypeACLEntry {
		return f, p, false
	}
	label, err := strconv.ParseUint(r.Attr(saiattr.ACLEntrySetLabel.Name), 0, 20)
	if err != nil {
		return f, p, false
	}
	p.label = uint32(label)
	p.entry = r.ID
	if port, err := strconv.ParseUint(r.Attr(attrSrcPort), 10, 16); err == nil {
		p.srcPort = uint16(port)
	}
	if from, err := strconv.ParseUint(r.Attr(attrFrom), 0, 20); err == nil {
		p.from = uint32(from)
	}
	if counter := r.Attr(saiattr.ACLEntryCounter.Name); !strings.HasPrefix(counter, "@") {
		p.counter = ID(counter)
	}
	if r.Attr(saiattr.ACLEntrySample.Name) != "" {
		p.sampling = samples
	}
	return f, p, true
}

// OfFlow reports whether a record is of an object that labels one flow. That includes the
// counter of a flow, and the mark of a change of sampling.
func OfFlow(r *Record) bool {
	_, ok := parseFlowKey(strings.TrimSuffix(r.Key, suffixCounter))
	return ok || r.Type == typeChanging
}
