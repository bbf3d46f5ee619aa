// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"log/slog"
	"strings"

	"sluice/sai-shim/saiattr"
)

// offer is what a switch offers: methods, and the features that objects depend on.
type offer struct {
	abilities Abilities
	features  Features
}

// offers has what the switch reported, and what it offers still, less what it refused since.
type offers struct {
	log      *slog.Logger
	reported offer
	now      offer
	excluded Abilities // methods that are not tried for the policy, as the switch reported them
	before   snapshot  // now, before the method of the flow label was tried
	lacks    []string  // missing parts, with the reason
}

// snapshot has the offer before a method of the flow label is tried.
type snapshot struct {
	features Features
	export   map[Method]Ability
	lacks    []string
}

// report records what the switch reported.
func (o *offers) report(a Abilities, f Features) {
	o.now, o.reported = offer{a, f}, offer{a.clone(), f}
}

// changed reports whether the switch reports something else than before.
func (o *offers) changed(a Abilities, f Features) bool {
	return f != o.reported.features || !a.Equal(o.reported.abilities)
}

// adopt takes off the features that an earlier process found refused, by its objects.
func (o *offers) adopt(existing map[string]*Record) {
	o.now.features = o.now.features.asAdopted(existing)
	if within := o.now.features.Within(existing); within != o.now.features {
		o.log.Warn("tables of an earlier version are kept: their entries match less until labels and export are switched off and on, or the switch restarts",
			"tunnels", within.InnerPort, "only_udp", within.Protocol)
	}
}

// exclude takes out methods of the switch that are not tried for a policy. Those that were
// taken out before have the switch's answer again.
func (o *offers) exclude(methods Abilities) {
	for n, of := range o.excluded {
		for m, is := range of {
			o.set(n, m, is)
		}
	}
	o.excluded = Abilities{}
	for n, of := range methods {
		for m, is := range of {
			if was, has := o.reported.abilities[n][m]; has {
				o.excluded.Set(n, m, was)
				o.set(n, m, is)
			}
		}
	}
}

// set replaces what the switch reported of a method.
func (o *offers) set(n Need, m Method, is Ability) {
	o.reported.abilities.Set(n, m, is)
	o.now.abilities.Set(n, m, is)
}

// remember keeps the offer before the next method of the flow label is tried.
func (o *offers) remember() {
	export := Abilities{NeedExport: o.now.abilities[NeedExport]}.clone()[NeedExport]
	o.before = snapshot{features: o.now.features, export: export, lacks: o.lacks[:len(o.lacks):len(o.lacks)]}
}

// doWithout decides on the object, feature or method to give up, after the switch refused
// an object: optional ones first, then the parts of another need in the same object, and
// at last the method. It returns false where all was given up, or refused is nil.
func (o *offers) doWithout(c Choices, refused *Object, err error) bool {
	if refused == nil {
		return false
	}
	attr := refusedAttr(err)
	label, export := c.Method(NeedFlowLabel), c.Method(NeedExport)
	without := func(lack string) {
		o.log.Warn("the switch refuses an object: it is done without", "without", lack, "error", err)
		o.lacks = append(o.lacks, fmt.Sprintf("done without %s: %v", lack, err))
	}
	sampled := attr == "" || attr == saiattr.ACLEntrySample.Name
	less, lack := o.now.features.without(refused, attr)
	switch {
	case o.now.features.PoliceCPU && (refused.Type == TypePolicer && !strings.HasSuffix(refused.Key, suffixFirst) || refused.Type == TypeTrapGroup || refused.Attr(saiattr.UserTrapGroup.Name) != ""):
		o.now.features.PoliceCPU = false
		without("policing packets to the CPU")
	case refused.Meets == NeedExport && lack == "", refused.Attr(saiattr.ACLEntrySample.Name) != "" && sampled:
		o.refuse(NeedExport, export, err)
	case lack != "" && (refused.Type == TypeHash || refused.Type == TypeSwitchHash || refused.Type == TypeBinding || refused.Type == TypeTrapRoute): // another one serves as well
		o.log.Info("the switch refuses an object: another one is tried", "without", lack, "error", err)
		o.now.features = less
	case lack != "":
		o.now.features = less
		without(lack)
	case c.Method(NeedPlacement) == Entries: // labels are computed without
		o.refuse(NeedPlacement, Entries, err)
	case label != None:
		o.now.features, o.lacks = o.before.features, o.before.lacks // these may not have been at fault
		if o.before.export != nil {
			o.now.abilities[NeedExport] = o.before.export
		}
		o.refuse(NeedFlowLabel, label, err)
		o.remember()
	default:
		return false
	}
	return true
}

// refuse notes that the switch refuses a method.
func (o *offers) refuse(n Need, m Method, err error) {
	o.log.Warn("the switch refuses; the next method is tried", "need", n, "method", m, "error", err)
	o.now.abilities.Set(n, m, Ability{Reason: err.Error()})
}

// degraded reports whether the switch refused a method, or a feature of several objects.
func (o *offers) degraded() bool {
	return !o.now.abilities.Equal(o.reported.abilities) || o.now.features != o.undegraded()
}

// undegraded returns the features as reported, with the alternatives that are in use.
func (o *offers) undegraded() Features {
	return o.reported.features.withAlternatives(o.now.features)
}

// restore forgets the refusals of features, of export and of placement.
func (o *offers) restore() {
	reported := o.reported.abilities.clone()
	o.now.abilities[NeedExport], o.now.abilities[NeedPlacement] = reported[NeedExport], reported[NeedPlacement]
	o.now.features, o.lacks = o.undegraded(), nil
}

// allow forgets the refusal of a method of the flow label.
func (o *offers) allow(m Method) {
	o.now.abilities.Set(NeedFlowLabel, m, o.reported.abilities[NeedFlowLabel][m])
}

// reset forgets all refusals. It is for a switch that is empty.
func (o *offers) reset() {
	o.now, o.lacks = offer{o.reported.abilities.clone(), o.reported.features}, nil
}
