// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Attempts is how often in a row the switch fails at the same step, whatever it answers,
// before that is a refusal: the next method is tried.
const Attempts = 3

// judge makes a refusal of a failure that stays. step is the name of the attempt.
func (e *Engine) judge(step string, err error) error {
	if !errors.Is(err, ErrFailing) {
		delete(e.failures, step)
		return err
	}
	if e.failures[step]++; e.failures[step] < Attempts {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// refusedAttr returns the attribute that a SAI library refused, or "".
func refusedAttr(err error) string {
	if answer := (*sai.Error)(nil); errors.As(err, &answer) {
		return answer.Attribute
	}
	return ""
}

// attempt has the beliefs about the switch before a method of the flow label is tried.
type attempt struct {
	offered Features
	export  map[Method]Ability
	lacks   []string
}

// doWithout decides on the object, feature or method to give up, after the switch refused
// an object: optional ones first, then the parts of another need in the same object, and
// at last the method. It returns false where all was given up.
func (e *Engine) doWithout(c Choices, err error) bool {
	o, attr := e.refused, refusedAttr(err)
	label, export := c.Method(NeedFlowLabel), c.Method(NeedExport)
	if o == nil {
		return false
	}
	without := func(lack string) {
		e.log.Warn("the switch refuses an object: it is done without", "without", lack, "error", err)
		e.lacks = append(e.lacks, fmt.Sprintf("done without %s: %v", lack, err))
	}
	sampled := attr == "" || attr == saiattr.ACLEntrySample.Name
	less, lack := e.offered.without(o, attr)
	switch {
	case e.offered.PoliceCPU && (o.Type == TypePolicer && !strings.HasSuffix(o.Key, suffixFirst) || o.Type == TypeTrapGroup || o.Attr(saiattr.UserTrapGroup.Name) != ""):
		e.offered.PoliceCPU = false
		without("policing packets to the CPU")
	case o.Meets == NeedExport && lack == "", o.Attr(saiattr.ACLEntrySample.Name) != "" && sampled:
		e.refuse(NeedExport, export, err)
	case lack != "" && (o.Type == TypeHash || o.Type == TypeSwitchHash || o.Type == TypeBinding || o.Type == TypeTrapRoute): // another one serves as well
		e.log.Info("the switch refuses an object: another one is tried", "without", lack, "error", err)
		e.offered = less
	case lack != "":
		e.offered = less
		without(lack)
	case c.Method(NeedPlacement) == Entries: // labels are computed without
		e.refuse(NeedPlacement, Entries, err)
	case label != None:
		e.offered, e.lacks = e.before.offered, e.before.lacks // these may not have been at fault
		if e.before.export != nil {
			e.abilities[NeedExport] = e.before.export
		}
		e.refuse(NeedFlowLabel, label, err)
		e.snapshotBeliefs()
	default:
		return false
	}
	return true
}

// refuse notes that the switch refuses a method.
func (e *Engine) refuse(n Need, m Method, err error) {
	e.log.Warn("the switch refuses; the next method is tried", "need", n, "method", m, "error", err)
	e.abilities.Set(n, m, Ability{Reason: err.Error()})
}

// excludeMethods takes out the methods that the driver excludes for a policy. Methods that
// were excluded for the policy before have the driver's answer again.
func (e *Engine) excludeMethods(p Policy) {
	if e.excluder == nil {
		return
	}
	for n, of := range e.excluded {
		for m, is := range of {
			e.asked.Set(n, m, is)
			e.abilities.Set(n, m, is)
		}
	}
	e.excluded = Abilities{}
	for n, of := range e.excluder.ExcludedMethods(p) {
		for m, is := range of {
			if was, has := e.asked[n][m]; has {
				e.excluded.Set(n, m, was)
				e.asked.Set(n, m, is)
				e.abilities.Set(n, m, is)
			}
		}
	}
}

// snapshotBeliefs records the beliefs before the next method of the flow label is tried.
func (e *Engine) snapshotBeliefs() {
	e.before = attempt{offered: e.offered, export: Abilities{NeedExport: e.abilities[NeedExport]}.clone()[NeedExport], lacks: e.lacks[:len(e.lacks):len(e.lacks)]}
}

// without returns the features less the one that a refused object used, and the name of
// that, or "". attr is the attribute that was refused; with "" all go that the object
// used.
func (f Features) without(o *Object, attr string) (less Features, lack string) {
	if o.Type == TypeACLCounter || attr == saiattr.ACLEntryCounter.Name {
		if f.Uncounted || strings.HasPrefix(o.Key, PrefixFlow) {
			return f, ""
		}
		f.Uncounted = true
		return f, "counters"
	}
	if o.Type == TypePolicer && strings.HasSuffix(o.Key, suffixFirst) && f.First {
		f.First = false
		return f, "the first packets of flows"
	}
	if o.Type == TypeTrapRoute {
		f.TrapRoute = false
		return f, "a channel of the trap's own"
	}
	if o.Type == TypeBinding && attr == saiattr.PortIngressACL.Name && !f.Grouped {
		f.Grouped = true
		return f, "binding a table without a group"
	}
	if o.Type == TypeHash && o.AddedField() != "" || o.Type == TypeSwitchHash {
		return f.withoutHash(o)
	}
	if o.Type != TypeACLTable && o.Type != TypeACLEntry {
		return f, ""
	}
	var lacks []string
	drop := func(has *bool, what string, attrs ...*saiattr.Attr) {
		for _, a := range attrs {
			if *has && o.Attr(a.Name) != "" && (attr == "" || attr == a.Name) {
				*has = false
				lacks = append(lacks, what)
			}
		}
	}
	drop(&f.InnerPort, "packets in tunnels", saiattr.ACLTableInnerPort, saiattr.ACLEntryInnerPort)
	drop(&f.First, "the first packets of flows", saiattr.ACLEntryPolicer)
	drop(&f.Opcode, "learning source queue pairs", saiattr.ACLTableOpcode, saiattr.ACLEntryOpcode)
	drop(&f.Protocol, "matching UDP only", saiattr.ACLTableProtocol, saiattr.ACLTableNextHeader, saiattr.ACLEntryProtocol, saiattr.ACLEntryNextHeader)
	return f, strings.Join(lacks, ", ")
}

// Times between two attempts at refused objects.
const (
	FirstRetry = time.Minute
	LastRetry  = time.Hour
)

// hasRefusals reports whether the switch refused something that it may accept later. Each
// of them is a reason for another attempt later.
func (e *Engine) hasRefusals() bool { return e.isDegraded() || len(e.without) > 0 }

// isDegraded reports whether the switch refused a method, or a feature of several objects.
func (e *Engine) isDegraded() bool {
	return !e.abilities.Equal(e.asked) || e.offered != e.told.withAlternatives(e.offered)
}

// withAlternatives returns the features with the alternatives that other features use to bind
// tables, set hashes and bring packets to the CPU. All alternatives serve equally well, so the
// engine keeps the one in use.
func (f Features) withAlternatives(others Features) Features {
	f.Grouped, f.HashList, f.TrapRoute = others.Grouped, others.HashList, others.TrapRoute
	f.HashIPv6, f.HashRDMAIPv6, f.HashRDMAIPv4 = others.HashIPv6, others.HashRDMAIPv6, others.HashRDMAIPv4
	return f
}

// asAdopted returns the features less those that objects on the switch were created
// without: an earlier process found that out.
func (f Features) asAdopted(existing map[string]*Record) Features {
	for _, r := range existing {
		f.Grouped = f.Grouped || r.Type == TypeACLGroup
		f.HashList = f.HashList || r.Type == TypeHashList
		f.TrapRoute = f.TrapRoute && (r.Key != KeyTrap || existing[keyTrapRoute] != nil)
		f.Uncounted = f.Uncounted || r.Key == keyCompute && r.Attr(saiattr.ACLEntryCounter.Name) == ""
		if hash := existing[KeyHash]; r.Type == TypeSwitchHash && hash != nil && hash.AddedField() != HashLabel {
			switch r.Attrs[0].Name {
			case saiattr.ECMPHashIPv6.Name:
				f.HashRDMAIPv6 = r.Attrs[0].Name
			case saiattr.ECMPHashIPv4.Name:
				f.HashRDMAIPv4 = r.Attrs[0].Name
			}
		}
	}
	return f
}

// clearRefusals forgets all refusals. It is for an engine whose switch is empty.
func (e *Engine) clearRefusals() {
	if e.shared == nil {
		e.abilities, e.offered, e.lacks = e.asked.clone(), e.told, nil
	}
	clear(e.failures)
	clear(e.fixed)
}

// retryDue reports whether it is time to try refused methods and objects again.
func (e *Engine) retryDue() bool {
	return e.shared == nil && !e.retryAt.IsZero() && !e.Now().Before(e.retryAt)
}

// scheduleRetry decides when to try refused objects again: after a minute, and then twice
// as long each time up to an hour, which is the cost of a switch that never can.
func (e *Engine) scheduleRetry() {
	switch {
	case e.shared != nil:
	case !e.hasRefusals():
		e.retryAt, e.retryPause = time.Time{}, 0
	case e.retryAt.IsZero() || e.retryDue():
		e.retryPause = min(max(2*e.retryPause, FirstRetry), LastRetry)
		e.retryAt = e.Now().Add(e.retryPause)
	}
}

// retryRefused tries refused methods again, where it is time for that. The method in
// force stays until the switch took the better one beside it.
func (e *Engine) retryRefused(p Policy) error {
	if !e.retryDue() {
		return nil
	}
	clear(e.failures)
	clear(e.fixed)
	if !e.isDegraded() { // optional objects are tried with every plan
		return nil
	}
	all := Choose(e.asked, p, e.told)
	for _, m := range append(NeedFlowLabel.Methods(), None) {
		if !e.asked[NeedFlowLabel][m].Can && m != None {
			continue
		}
		better := m != e.method
		all[NeedFlowLabel] = Choice{Method: m}
		all[NeedPlacement] = e.asked.choosePlacement(p, all)
		took, err := e.try(p, all, e.told.withAlternatives(e.offered))
		if err != nil {
			return err
		}
		if took {
			asked := e.asked.clone()
			e.abilities[NeedExport], e.abilities[NeedPlacement] = asked[NeedExport], asked[NeedPlacement]
			e.offered, e.lacks = e.told.withAlternatives(e.offered), nil
		} else if better {
			withoutExport := p
			withoutExport.Export = nil
			if took, err = e.try(withoutExport, all, e.offered); err != nil {
				return err
			}
		}
		if took && m != None {
			e.abilities.Set(NeedFlowLabel, m, e.asked[NeedFlowLabel][m])
		}
		if took || !better {
			return nil
		}
	}
	return nil
}

// PrefixTrial begins the keys of objects that are created to find out whether the switch
// takes them, and removed at once.
const PrefixTrial = "trial/"

// try finds out whether the switch takes the objects of a policy, beside those that are
// in force: without the objects that would put them in force. It removes all of them.
func (e *Engine) try(p Policy, c Choices, f Features) (took bool, err error) {
	objects := e.driver.Objects(p, c, f)
	if c.Pins() && p.Label != nil {
		objects = append(objects, FlowObjects(p, c.Method(NeedFlowLabel), f, ProbeFlow)...)
	}
	made := map[string]*Record{}
	var all []string
	took = true
	for i := range objects {
		o := objects[i]
		if o.Optional || o.Type == TypeSwitchHash {
			continue
		}
		key := o.Key
		o.Key, o.Attrs = PrefixTrial+key, slices.Clone(o.Attrs)
		for i := range o.Attrs {
			o.Attrs[i].Value = strings.ReplaceAll(o.Attrs[i].Value, "@", "@"+PrefixTrial)
		}
		r, err := e.makeWith(&o, made)
		if err != nil {
			took = false
			break
		}
		made[key], e.objects[o.Key] = r, r
		all = append(all, o.Key)
		e.dirty = append(e.dirty, r)
	}
	for _, key := range slices.Backward(all) {
		err = errors.Join(err, e.remove(key))
	}
	return took, errors.Join(err, e.save())
}

// withoutHash are the features less the use of a hash that was refused: the hash of all
// packets serves, and at last the list of the default hash.
func (f Features) withoutHash(o *Object) (less Features, lack string) {
	if f.HashList {
		return f, ""
	}
	if o.Type == TypeSwitchHash {
		for rdma, all := range map[*saiattr.Attr]*saiattr.Attr{saiattr.ECMPHashIPv6RDMA: saiattr.ECMPHashIPv6, saiattr.ECMPHashIPv4RDMA: saiattr.ECMPHashIPv4} {
			if o.Attrs[0].Name != rdma.Name {
				continue
			}
			for _, use := range []*string{&f.HashIPv6, &f.HashRDMAIPv6, &f.HashRDMAIPv4} {
				if *use == rdma.Name {
					*use = all.Name
				}
			}
			return f, "a hash for RDMA packets alone"
		}
		if o.Attrs[0].Name == saiattr.ECMPHashIPv4.Name {
			return f, ""
		}
	}
	f.HashList = true
	return f, "a hash of its own"
}
