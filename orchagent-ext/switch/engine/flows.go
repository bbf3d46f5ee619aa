// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
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

// Flows yields the flows that have an entry. Their order is random. The engine must stay
// unchanged meanwhile.
func (e *Engine) Flows(yield func(FlowEntry) bool) {
	for f, p := range e.flows {
		f.Label, f.SrcPort = p.label, p.srcPort
		if !yield(f) {
			return
		}
	}
}

// Has reports whether a flow has an entry. Label and SrcPort of f are ignored.
func (e *Engine) Has(f FlowEntry) bool { return e.flows[unlabelled(f)] != nil }

// FlowCounter returns the record of a flow's counter, without its key; nil for a flow
// without an entry. It is cheap: callers need it many times a second.
func (e *Engine) FlowCounter(f FlowEntry) *Record {
	p := e.flows[unlabelled(f)]
	if p == nil || p.counter == "" {
		return nil
	}
	return &Record{Object: Object{Type: TypeACLCounter}, ID: p.counter}
}

// AddFlows gives flows an entry, where a method has entries of flows, up to the policy's
// FlowCapacity; a flow that has one keeps its label. It returns the number of flows, the
// last ones of the list, for which the switch lacks room.
func (e *Engine) AddFlows(flows []FlowEntry) (refused int, err error) {
	if !e.pins {
		return 0, nil
	}
	for i, f := range flows {
		key := unlabelled(f)
		if e.flows[key] != nil {
			continue
		}
		if len(e.flows) >= int(e.policy.FlowCapacity) {
			return len(flows) - i, e.save()
		}
		p := &pinned{label: f.Label, srcPort: f.SrcPort}
		err := e.addFlow(key, p)
		if errors.Is(err, ErrRefused) {
			return len(flows) - i, e.save()
		}
		if err != nil {
			return 0, errors.Join(err, e.save())
		}
		e.flows[key] = p
	}
	return 0, e.save()
}

// ProbeFlow is a flow of discard-only addresses (RFC 6666), without packets in real
// traffic.
var ProbeFlow = FlowEntry{netip.MustParseAddr("100::1"), netip.MustParseAddr("100::2"), 0, 1, 0}

// probe finds out whether the switch takes the entries of flows, before a flow needs one:
// it creates an entry, reads it back and removes it.
func (e *Engine) probe() (err error) {
	if e.probed || !e.pins || len(e.flows) > 0 || e.objects[KeyTable] == nil {
		return nil
	}
	created, removed := e.outcome.Created, e.outcome.Removed
	defer func() { e.outcome.Created, e.outcome.Removed = created, removed }()
	f, p := unlabelled(ProbeFlow), &pinned{label: ProbeFlow.Label}
	if err := e.addFlow(f, p); err != nil {
		return err
	}
	if e.prover != nil {
		r := &Record{Object: FlowObjects(e.policy, e.method, e.features, ProbeFlow)[1], ID: p.entry}
		if err = e.prover.Prove(r, e.objects); !errors.Is(err, ErrRefused) {
			err = nil // what cannot be read is told of the entry that copies
		}
	}
	if err != nil {
		e.refused = &Object{Key: flowKey(f), Type: TypeACLEntry, Meets: NeedFlowLabel}
	}
	e.probed = err == nil
	return errors.Join(err, e.removeFlow(f, p))
}

// addFlow creates both objects, or leaves neither. The counter is first, as the entry
// refers to it.
func (e *Engine) addFlow(f FlowEntry, p *pinned) error {
	labelled := f
	labelled.Label = p.label
	objects := FlowObjects(e.policy, e.method, e.features, labelled)
	counter, err := e.makeWith(&objects[0], e.objects)
	if err = e.judge("create counter of flow", err); err != nil {
		e.refused = &objects[0]
		return fmt.Errorf("create %s %s: %w", objects[0].Type, objects[0].Key, err)
	}
	e.objects[counter.Key] = counter
	if e.unlisted() { // the flow's row has it, once there is one
		e.dirty = append(e.dirty, counter)
		defer e.forget(counter.ID)
	}
	entry, err := e.makeWith(&objects[1], e.objects)
	delete(e.objects, counter.Key)
	if err = e.judge("create entry of flow", err); err != nil {
		e.refused = &objects[1]
		err = fmt.Errorf("create %s %s: %w", objects[1].Type, objects[1].Key, err)
		if removeErr := e.driver.Remove(counter); removeErr != nil && !errors.Is(removeErr, ErrGone) {
			err = errors.Join(err, fmt.Errorf("remove %s %s: %w", counter.Type, counter.Key, removeErr))
		}
		return err
	}
	p.entry, p.counter, p.sampling = entry.ID, counter.ID, e.wantSampling()
	e.dirty = append(e.dirty, p.record(f))
	e.outcome.Created += len(objects)
	return e.saveSome()
}

// wantSampling returns whether the policy has flows sampled.
func (e *Engine) wantSampling() sampling {
	if e.policy.Export != nil {
		return samples
	}
	return samplesNothing
}

// RemoveFlows takes the entries of flows away. Flows without an entry are skipped. After
// an error the flows before it are removed, and the same call goes on.
func (e *Engine) RemoveFlows(flows []FlowEntry) error {
	for _, f := range flows {
		f = unlabelled(f)
		if p := e.flows[f]; p != nil {
			if err := e.removeFlow(f, p); err != nil {
				return errors.Join(err, e.save())
			}
			delete(e.flows, f)
		}
	}
	return e.save()
}

// removeFlow removes the objects of a flow. The engine still knows the flow.
func (e *Engine) removeFlow(f FlowEntry, p *pinned) error {
	entry := p.entry
	for _, r := range []*Record{p.record(f), p.counterRecord(f)} {
		if r.ID == "" {
			continue
		}
		if err := e.driver.Remove(r); err != nil && !errors.Is(err, ErrGone) {
			return fmt.Errorf("remove %s %s: %w", r.Type, r.Key, err)
		}
		e.outcome.Removed++
	}
	p.entry, p.counter = "", ""
	if entry == "" {
		return nil
	}
	e.forget(entry)
	return e.saveSome()
}

// flowsWhere are some flows, in an order that is the same in each process.
func (e *Engine) flowsWhere(wanted func(*pinned) bool) (flows []FlowEntry) {
	for f, p := range e.flows {
		if wanted(p) {
			flows = append(flows, f)
		}
	}
	slices.SortFunc(flows, FlowEntry.compare)
	return flows
}

// leaveTable removes the entries of all flows, before their table goes. The flows are
// forgotten where the policy labels by another method from now on.
func (e *Engine) leaveTable() error {
	for _, f := range e.flowsWhere(func(p *pinned) bool { return p.entry != "" }) {
		if err := e.removeFlow(f, e.flows[f]); err != nil {
			return err
		}
	}
	if !e.pins {
		clear(e.flows)
	}
	return nil
}

// restoreFlows creates the entries of flows that lost theirs with the table. A flow above
// the room of now comes to the CPU again, and is offered then.
func (e *Engine) restoreFlows() error {
	for _, f := range e.flowsWhere(func(p *pinned) bool { return p.entry == "" }) {
		err := e.addFlow(f, e.flows[f])
		if errors.Is(err, ErrRefused) {
			delete(e.flows, f)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sampleFlows switches the sampling of the flows' entries, in place. The ledger has a
// mark meanwhile: which entries of a killed process sample is unknown.
func (e *Engine) sampleFlows(want sampling) error {
	change := e.flowsWhere(func(p *pinned) bool { return p.entry != "" && p.sampling != want })
	if len(change) == 0 {
		return nil
	}
	mark := &Record{Object: Object{Key: keySampling, Type: typeChanging}, ID: idSampling}
	e.gone = slices.DeleteFunc(e.gone, func(id ID) bool { return id == mark.ID })
	e.dirty = append(e.dirty, mark)
	if err := e.save(); err != nil {
		return err
	}
	for _, f := range change {
		if err := e.sampleFlow(f, e.flows[f], want); err != nil {
			return err
		}
	}
	if err := e.save(); err != nil { // before the mark goes
		return err
	}
	e.gone = append(e.gone, mark.ID)
	return nil
}

// sampleFlow changes one entry. Where the switch refuses, the entry is removed, and
// restoreFlows creates it again: the label of this flow has a gap.
func (e *Engine) sampleFlow(f FlowEntry, p *pinned, want sampling) error {
	policy := e.policy
	if want == samplesNothing {
		policy.Export = nil
	}
	labelled := f
	labelled.Label = p.label
	err := e.set(p.record(f), &FlowObjects(policy, e.method, e.features, labelled)[1], saiattr.ACLEntrySample.Name)
	if errors.Is(err, ErrRefused) {
		return e.removeFlow(f, p)
	}
	if err != nil {
		return fmt.Errorf("set %s of %s %s: %w", saiattr.ACLEntrySample.Name, TypeACLEntry, flowKey(f), err)
	}
	p.sampling = want
	e.dirty = append(e.dirty, p.record(f))
	e.outcome.Set++
	return e.saveSome()
}
