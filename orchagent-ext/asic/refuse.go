// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// attempts is how often in a row the switch fails at the same step, whatever it answers,
// before that is a refusal: the next method is tried.
const attempts = 3

// judge makes a refusal of a failure that stays. step names what is tried.
func (e *Engine) judge(step string, err error) error {
	if !errors.Is(err, ErrFailing) {
		delete(e.failures, step)
		return err
	}
	if e.failures[step]++; e.failures[step] < attempts {
		return err
	}
	return fmt.Errorf("%w: %w", ErrRefused, err)
}

// refusedAttr is the attribute that a SAI library refused; "": it did not say.
func refusedAttr(err error) string {
	if answer := (*sai.Error)(nil); errors.As(err, &answer) {
		return answer.Attribute
	}
	return ""
}

// attempt is what is believed of the switch before a method of the flow label is tried.
type attempt struct {
	offered Features
	export  map[Method]Ability
	lacks   []string
}

// doWithout decides what to do without, after the switch refused an object: what is
// optional first, then what another need has in the same object, and at last the method.
// It returns false where nothing is left to do without.
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
	case e.offered.PoliceCPU && (o.Type == TypePolicer || o.Type == TypeTrapGroup || o.Attr(saiattr.UserTrapGroup.Name) != ""):
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
		e.remember()
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

// blame takes out the methods that are not to be tried for a policy; those that were not to
// be tried for the one before are as the driver told them.
func (e *Engine) blame(p Policy) {
	if e.blamer == nil {
		return
	}
	for n, of := range e.blamed {
		for m, is := range of {
			e.asked.Set(n, m, is)
			e.abilities.Set(n, m, is)
		}
	}
	e.blamed = Abilities{}
	for n, of := range e.blamer.Blames(p) {
		for m, is := range of {
			if was, has := e.asked[n][m]; has {
				e.blamed.Set(n, m, was)
				e.asked.Set(n, m, is)
				e.abilities.Set(n, m, is)
			}
		}
	}
}

// remember notes what is believed before the next method of the flow label is tried.
func (e *Engine) remember() {
	e.before = attempt{offered: e.offered, export: Abilities{NeedExport: e.abilities[NeedExport]}.clone()[NeedExport], lacks: e.lacks[:len(e.lacks):len(e.lacks)]}
}

// without are the features less what an object used that was refused, and what that is;
// "": none. attr is the attribute that was refused; "": unknown, and all go that the
// object used.
func (f Features) without(o *Object, attr string) (less Features, lack string) {
	if o.Type == TypeACLCounter || attr == saiattr.ACLEntryCounter.Name {
		if f.Uncounted || strings.HasPrefix(o.Key, prefixFlow) {
			return f, ""
		}
		f.Uncounted = true
		return f, "counters"
	}
	if o.Type == TypeTrapRoute {
		f.TrapRoute = false
		return f, "a channel of the trap's own"
	}
	if o.Type == TypeBinding && attr == saiattr.PortIngressACL.Name && !f.Grouped {
		f.Grouped = true
		return f, "binding a table without a group"
	}
	if o.Type == TypeHash && o.added() != "" || o.Type == TypeSwitchHash {
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
	drop(&f.Opcode, "learning source queue pairs", saiattr.ACLTableOpcode, saiattr.ACLEntryOpcode)
	drop(&f.Protocol, "matching UDP only", saiattr.ACLTableProtocol, saiattr.ACLTableNextHeader, saiattr.ACLEntryProtocol, saiattr.ACLEntryNextHeader)
	return f, strings.Join(lacks, ", ")
}

// Times between two attempts at what the switch refused.
const (
	firstAgain = time.Minute
	lastAgain  = time.Hour
)

// lacking says whether something is done without that the switch may accept later.
func (e *Engine) lacking() bool { return e.demoted() || len(e.without) > 0 }

// demoted says whether the switch refused a method, or what several objects have.
func (e *Engine) demoted() bool {
	return !e.abilities.Equal(e.asked) || e.offered != e.told.waysOf(e.offered)
}

// waysOf are the features with the ways of others to bind tables, set hashes and bring packets to the CPU: one
// serves as well as another, so that a better one is not sought.
func (f Features) waysOf(others Features) Features {
	f.Grouped, f.HashList, f.TrapRoute = others.Grouped, others.HashList, others.TrapRoute
	f.HashIPv6, f.HashRDMAIPv6, f.HashRDMAIPv4 = others.HashIPv6, others.HashRDMAIPv6, others.HashRDMAIPv4
	return f
}

// asAdopted are the features less what objects on the switch do without: an earlier process
// found that out.
func (f Features) asAdopted(existing map[string]*Record) Features {
	for _, r := range existing {
		f.Grouped = f.Grouped || r.Type == TypeACLGroup
		f.HashList = f.HashList || r.Type == TypeHashList
		f.TrapRoute = f.TrapRoute && (r.Key != keyTrap || existing[keyTrapRoute] != nil)
		f.Uncounted = f.Uncounted || r.Key == keyCompute && r.Attr(saiattr.ACLEntryCounter.Name) == ""
		if hash := existing[keyHash]; r.Type == TypeSwitchHash && hash != nil && hash.added() != hashLabel {
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

// forgive forgets what the switch refused, when it has no object any more.
func (e *Engine) forgive() {
	if e.shared == nil {
		e.abilities, e.offered, e.lacks = e.asked.clone(), e.told, nil
	}
	clear(e.failures)
	clear(e.fixed)
}

// due says whether it is time to try again what the switch refused.
func (e *Engine) due() bool { return e.shared == nil && !e.again.IsZero() && !e.now().Before(e.again) }

// schedule decides when to try again what the switch refused: after a minute, and then
// twice as long each time.
func (e *Engine) schedule() {
	switch {
	case e.shared != nil:
	case !e.lacking():
		e.again, e.pause = time.Time{}, 0
	case e.again.IsZero() || e.due():
		e.pause = min(max(2*e.pause, firstAgain), lastAgain)
		e.again = e.now().Add(e.pause)
	}
}

// reconsider tries again what the switch refused, where it is time for that. What is in
// force stays until the switch took the better one beside it.
func (e *Engine) reconsider(p Policy) error {
	if !e.due() {
		return nil
	}
	clear(e.failures)
	clear(e.fixed)
	if !e.demoted() { // optional objects are tried with every plan
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
		took, err := e.try(p, all, e.told.waysOf(e.offered))
		if err != nil {
			return err
		}
		if took {
			asked := e.asked.clone()
			e.abilities[NeedExport], e.abilities[NeedPlacement] = asked[NeedExport], asked[NeedPlacement]
			e.offered, e.lacks = e.told.waysOf(e.offered), nil
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

// prefixTrial begins the keys of objects that are created to find out whether the switch
// takes them, and removed at once.
const prefixTrial = "trial/"

// try finds out whether the switch takes the objects of a policy, beside those that are in
// force: without what would put them in force. It leaves none.
func (e *Engine) try(p Policy, c Choices, f Features) (took bool, err error) {
	objects := e.driver.Objects(p, c, f)
	if c.Pins() && p.Label != nil {
		objects = append(objects, FlowObjects(p, c.Method(NeedFlowLabel), f, probeFlow)...)
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
		o.Key, o.Attrs = prefixTrial+key, slices.Clone(o.Attrs)
		for i := range o.Attrs {
			o.Attrs[i].Value = strings.ReplaceAll(o.Attrs[i].Value, "@", "@"+prefixTrial)
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
