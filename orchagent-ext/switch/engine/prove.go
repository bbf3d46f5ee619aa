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

// wanted reports whether the policy asks for a need that the engine meets.
func (e *Engine) wanted(n Need) bool {
	return n == NeedFlowLabel && e.policy.Label != nil || n == NeedExport && e.policy.Export != nil || n == NeedPlacement && e.policy.Placement != nil
}

// activate records the methods in force for the needs of the policy: those that are
// proven. An object that the switch took but lacks is a refusal.
func (e *Engine) activate() error {
	for n, c := range e.outcome.Choices {
		missing := slices.ContainsFunc(e.without, func(o Object) bool { return o.Meets == n })
		if !e.wanted(n) || missing || c.Method == None {
			continue
		}
		err := e.prove(n, c.Method)
		if errors.Is(err, ErrRefused) {
			return err
		}
		c.State = Active
		if err != nil {
			c.State, c.Reason = Unproven, fmt.Sprintf("unproven: %v", err)
			if better := e.outcome.Choices[n].Reason; better != Preferred {
				c.Reason = better + "; " + c.Reason
			}
		}
		e.outcome.Choices[n] = c
	}
	return nil
}

// prove returns nil where a method is in force: at least one port is bound, and its
// objects were read back.
func (e *Engine) prove(n Need, m Method) error {
	if err := e.bound(n, m); err != nil {
		return err
	}
	for _, key := range proofs[n][m] {
		r := e.objects[key]
		if e.prover == nil || r == nil {
			continue // the driver has no objects of this kind
		}
		if err := e.prover.Prove(r, e.objects); err != nil {
			e.refused = &r.Object
			return fmt.Errorf("%s %s: %w", r.Type, key, err)
		}
	}
	return nil
}

// provable reports whether a method is proven since the last attempt.
func (e *Engine) provable() bool {
	for n, c := range e.outcome.Choices {
		if e.prover != nil && e.wanted(n) && c.Method != None && c.State == Unproven && e.prove(n, c.Method) == nil {
			return true
		}
	}
	return false
}

// bound returns an error for a method that works on ports, while all are unbound: a
// refusal, if the switch refused one.
func (e *Engine) bound(n Need, m Method) error {
	label, ports := KeyTable, e.policy.Ports
	if n == NeedExport {
		label, ports = KeyExportTable, e.policy.Export.Ports
	}
	if e.prover == nil || m != Compute && m != Rewrite && m != Sample {
		return nil
	}
	for _, port := range ports {
		if r := e.objects[PrefixPort+port]; r != nil && r.Type == TypeBinding && (n == NeedExport || r.refersTo(label) || r.refersTo(label+SuffixGroup)) {
			return nil
		}
	}
	if len(ports) == 0 {
		return errors.New("no port is configured for it")
	}
	var missing error
	for i, o := range e.without {
		err := e.withoutWhy[i]
		switch lacks := NoPort(""); {
		case o.Type != TypeBinding || !slices.Contains(ports, BoundPort(&o)):
		case errors.As(err, &lacks): // which is no refusal of the method
			missing = lacks
		default:
			e.refused = &Object{Key: o.Key, Type: o.Type, Attrs: o.Attrs, Meets: n}
			return fmt.Errorf("no port is bound: %w", err)
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
