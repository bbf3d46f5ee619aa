// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"slices"
)

// proofs are the objects that are read back before a method counts as in force.
var proofs = map[Need]map[Method][]string{
	NeedFlowLabel: {Compute: {keyCompute}, Rewrite: {keyCopied}, Hash: {KeyHash, keySwitchHash + "-ipv6", keyHashList}, UDFHash: {KeyHash, keySwitchHash + "-ipv6"}},
	NeedExport:    {Sample: {keySample}},
}

// proof reads back whether the methods of a policy are in force.
type proof struct {
	prover  Prover // nil: the driver reads no objects back
	policy  Policy
	objects map[string]*Record // on the switch
	without []lacking
}

// wants reports whether the policy asks for a need that the engine meets.
func (p *proof) wants(n Need) bool {
	return n == NeedFlowLabel && p.policy.Label != nil || n == NeedExport && p.policy.Export != nil || n == NeedPlacement && p.policy.Placement != nil
}

// state returns a choice with its state: active where the method is proven. An object that
// the switch took but lacks is a refusal.
func (p *proof) state(n Need, c Choice) (Choice, error) {
	missing := slices.ContainsFunc(p.without, func(o lacking) bool { return o.Meets == n })
	if !p.wants(n) || missing || c.Method == None {
		return c, nil
	}
	err := p.prove(n, c.Method)
	if errors.Is(err, ErrRefused) {
		return c, err
	}
	better := c.Reason
	c.State = Active
	if err != nil {
		c.State, c.Reason = Unproven, fmt.Sprintf("unproven: %v", err)
		if better != Preferred {
			c.Reason = better + "; " + c.Reason
		}
	}
	return c, nil
}

// provable reports whether one of some methods is proven since the last attempt.
func (p *proof) provable(choices Choices) bool {
	for n, c := range choices {
		if p.prover != nil && p.wants(n) && c.Method != None && c.State == Unproven && p.prove(n, c.Method) == nil {
			return true
		}
	}
	return false
}

// prove returns nil where a method is in force: at least one port is bound, and its
// objects were read back.
func (p *proof) prove(n Need, m Method) error {
	if err := p.bound(n, m); err != nil {
		return err
	}
	for _, key := range proofs[n][m] {
		r := p.objects[key]
		if p.prover == nil || r == nil {
			continue // the driver has no objects of this kind
		}
		if err := p.prover.Prove(r, p.objects); err != nil {
			return &objectError{&r.Object, "", fmt.Errorf("%s %s: %w", r.Type, key, err)}
		}
	}
	return nil
}

// bound returns an error for a method that works on ports, while all are unbound: a
// refusal, if the switch refused one.
func (p *proof) bound(n Need, m Method) error {
	label, ports := KeyTable, p.policy.Ports
	if n == NeedExport {
		label, ports = KeyExportTable, p.policy.Export.Ports
	}
	if p.prover == nil || m != Compute && m != Rewrite && m != Sample {
		return nil
	}
	for _, port := range ports {
		if r := p.objects[PrefixPort+port]; r != nil && r.Type == TypeBinding && (n == NeedExport || r.refersTo(label) || r.refersTo(label+SuffixGroup)) {
			return nil
		}
	}
	if len(ports) == 0 {
		return errors.New("no port is configured for it")
	}
	var missing error
	for _, o := range p.without {
		switch lacks := NoPort(""); {
		case o.Type != TypeBinding || !slices.Contains(ports, BoundPort(&o.Object)):
		case errors.As(o.why, &lacks): // which is no refusal of the method
			missing = lacks
		default:
			refused := &Object{Key: o.Key, Type: o.Type, Attrs: o.Attrs, Meets: n}
			return &objectError{refused, "", fmt.Errorf("no port is bound: %w", o.why)}
		}
	}
	if missing == nil {
		missing = errors.New("it is tried again")
	}
	return fmt.Errorf("no port is bound: %w", missing)
}

// refersTo reports whether a record refers to an object.
func (r *Record) refersTo(key string) bool {
	return slices.ContainsFunc(r.Attrs, func(a Attr) bool { return refers(a.Value, key) })
}
