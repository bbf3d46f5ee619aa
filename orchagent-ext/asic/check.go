// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	sai "sluice/sai-shim"
)

// Checked is what came of one method on one port.
type Checked struct {
	Works    bool
	Reason   string   // why not; or how it is known
	Problems []string // of objects that are done without
}

// Checker tries the methods of a SAI library one by one.
type Checker struct {
	*SAI
	abilities Abilities
	features  Features

	// What is tried now.
	need   Need
	method Method
}

// NewChecker asks the library what it can do. The driver has its ports.
func NewChecker(d *SAI) (*Checker, error) {
	c := &Checker{SAI: d}
	var err error
	if c.abilities, c.features, err = d.Probe(); err != nil {
		return nil, fmt.Errorf("ask the switch what it can do: %w", err)
	}
	return c, nil
}

// Methods returns the methods that the driver has of a need, in order of preference.
func (c *Checker) Methods(n Need) (all []Method) {
	for _, m := range n.Methods() {
		if _, has := c.abilities[n][m]; has {
			all = append(all, m)
		}
	}
	return all
}

// Check programs one method of a need as the engine does for a policy, of one port, with
// every call that takes, and removes all of it. An error says that something may be left
// on the switch: the ledger has it.
func (c *Checker) Check(l Ledger, n Need, m Method, p Policy, log *slog.Logger) (Checked, error) {
	c.need, c.method = n, m
	e, err := NewEngine(c, l, log)
	if err != nil {
		return Checked{Reason: err.Error()}, nil
	}
	is := c.check(e, p)
	return is, emptied(e)
}

// Clear removes the objects that a ledger has.
func (c *Checker) Clear(l Ledger, log *slog.Logger) error {
	e, err := NewEngine(c, l, log)
	if err != nil {
		return err
	}
	return emptied(e)
}

func emptied(e *Engine) error {
	_, err := settled(e, Policy{})
	if err == nil && e.Len() > 0 {
		err = fmt.Errorf("%d objects are left", e.Len())
	}
	return err
}

// settled reconciles until the engine knows which failures last.
func settled(e *Engine, p Policy) (o Outcome, err error) {
	for range 4 * attempts {
		if o, err = e.Reconcile(p); err == nil {
			break
		}
	}
	return o, err
}

// Probe implements [Driver]: the library has the one method, and those that it needs.
func (c *Checker) Probe() (Abilities, Features, error) {
	a := Abilities{}
	take := func(n Need, m Method) { a.Set(n, m, c.abilities[n][m]) }
	take(c.need, c.method)
	switch {
	case c.need == NeedPlacement && c.method == Entries:
		take(NeedFlowLabel, Compute)
		take(NeedExport, Sample)
	case c.need == NeedPlacement:
		take(NeedFlowLabel, c.method)
	}
	return a, c.features, nil
}

func (c *Checker) check(e *Engine, p Policy) Checked {
	outcome, err := settled(e, p)
	choice, is := outcome.Choices[c.need], Checked{Problems: outcome.Problems}
	switch {
	case err != nil:
		is.Reason = err.Error()
		return is
	case choice.Method != c.method:
		is.Reason = strings.TrimPrefix(choice.Reason, string(c.method)+": ")
		return is
	case c.method == Exact: // whose objects package flowcontrol makes
		err = c.flows(p.Ports[0])
	case choice.State != Active:
		err = errors.New(choice.Reason)
	}
	if err != nil {
		is.Reason = err.Error()
		return is
	}
	is.Works, is.Reason = true, c.abilities[c.need][c.method].Reason
	return is
}

// flows makes the calls by which single flows of a port are watched, or held.
func (c *Checker) flows(port string) error {
	if c.need == NeedHold {
		return c.hold(port)
	}
	if _, err := c.lib.WatchFlows(); err != nil {
		return err
	}
	queues, err := c.QueueIDs(port)
	if err == nil && len(queues) == 0 {
		_, none := c.queues()
		err = errors.New(cmp.Or(none, "the port has no queues"))
	}
	if err != nil {
		return err
	}
	const high, low = 1 << 20, 1 << 19 // octets
	if err := cmp.Or(c.lib.SetFlowKey(sai.FlowKeyLabel), c.lib.SetStreamSeed(0), c.lib.SetQueueMarks(queues[0], high, low)); err != nil {
		return err
	}
	_, flows := c.lib.GetFlows(queues[0], nil)
	_, flow := c.lib.GetFlow(queues[0], 1)
	if errors.Is(flow, sai.ErrNotFound) { // the queue is empty
		flow = nil
	}
	_, stats := c.lib.FlowStats()
	return cmp.Or(flows, flow, stats, c.lib.SetQueueMarks(queues[0], 0, 0))
}

// hold holds a flow of no network for a moment.
func (c *Checker) hold(port string) error {
	match := sai.HoldMatch{Kind: sai.HoldPair, Src: probeFlow.Src, Dst: probeFlow.Dst}
	set := c.lib.SetHold(c.PortID(port), match, time.Second, 0)
	_, get := c.lib.GetHold(c.PortID(port), match)
	return cmp.Or(set, get, c.lib.SetHold(c.PortID(port), match, 0, 0))
}
