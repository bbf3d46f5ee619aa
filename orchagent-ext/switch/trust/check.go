// SPDX-License-Identifier: Apache-2.0

package trust

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/saicheck"
	"sluice/orchagent-ext/switch/saidriver"
	sai "sluice/sai-shim"
)

// checked is the result of one method on one port.
type checked struct {
	Works    bool
	Reason   string   // why not; or how it is known
	Problems []string // of objects that are done without

	Entry time.Duration // that an entry of a redirected flow took to create; 0: not measured
	Room  *uint64       // for more of these; nil: the library does not report it

	Trials []saicheck.Trial
}

// checker tries the methods of a SAI library one by one.
type checker struct {
	*saidriver.Driver
	abilities engine.Abilities
	features  engine.Features

	// The method that is tried now.
	need   engine.Need
	method engine.Method

	trial []engine.Object // beside the objects of the method
}

// newChecker asks the library for its abilities. The driver has its ports.
func newChecker(d *saidriver.Driver) (*checker, error) {
	c := &checker{Driver: d}
	var err error
	if c.abilities, c.features, err = d.Probe(); err != nil {
		return nil, fmt.Errorf("ask the switch what it can do: %w", err)
	}
	return c, nil
}

// methods returns the methods that the driver has of a need, in order of preference.
func (c *checker) methods(n engine.Need) (all []engine.Method) {
	for _, m := range n.Methods() {
		if _, has := c.abilities[n][m]; has {
			all = append(all, m)
		}
	}
	return all
}

// tryMethod programs one method of a need as the engine does for a policy, of one port,
// with every call that takes, and removes all of it. After an error objects may be left
// on the switch: the ledger has them.
func (c *checker) tryMethod(l engine.Ledger, n engine.Need, m engine.Method, p engine.Policy, log *slog.Logger) (checked, error) {
	c.need, c.method = n, m
	e, err := engine.NewEngine(c, l, log)
	if err != nil {
		return checked{Reason: err.Error()}, nil
	}
	is := c.outcome(e, p)
	if is.Works && m == engine.Redirect {
		c.measure(e, l, p.Ports[0], &is)
		is.Trials = c.try(e, l, p)
	}
	return is, emptied(e)
}

// clear removes the objects that a ledger has.
func (c *checker) clear(l engine.Ledger, log *slog.Logger) error {
	e, err := engine.NewEngine(c, l, log)
	if err != nil {
		return err
	}
	return emptied(e)
}

// emptied removes all objects of an engine; objects that stay are an error.
func emptied(e *engine.Engine) error {
	_, err := settled(e, engine.Policy{})
	if err == nil && e.Len() > 0 {
		err = fmt.Errorf("%d objects are left", e.Len())
	}
	return err
}

// settled reconciles until the engine knows which failures last.
func settled(e *engine.Engine, p engine.Policy) (o engine.Outcome, err error) {
	for range 4 * engine.Attempts {
		if o, err = e.Reconcile(p); err == nil {
			break
		}
	}
	return o, err
}

// Probe implements [engine.Driver]: the library has the one method, and those that it needs.
func (c *checker) Probe() (engine.Abilities, engine.Features, error) {
	a := engine.Abilities{}
	take := func(n engine.Need, m engine.Method) { a.Set(n, m, c.abilities[n][m]) }
	take(c.need, c.method)
	switch {
	case c.need == engine.NeedPlacement && c.method == engine.Entries:
		take(engine.NeedFlowLabel, engine.Compute)
		take(engine.NeedExport, engine.Sample)
	case c.need == engine.NeedPlacement && c.method == engine.Redirect:
		take(engine.NeedExport, engine.Sample)
	case c.need == engine.NeedPlacement:
		take(engine.NeedFlowLabel, c.method)
	}
	return a, c.features, nil
}

// outcome carries out a policy and returns the result of its method.
func (c *checker) outcome(e *engine.Engine, p engine.Policy) checked {
	outcome, err := settled(e, p)
	choice, is := outcome.Choices[c.need], checked{Problems: outcome.Problems}
	switch {
	case err != nil:
		is.Reason = err.Error()
		return is
	case choice.Method != c.method:
		is.Reason = strings.TrimPrefix(choice.Reason, string(c.method)+": ")
		return is
	case c.method == engine.Exact: // whose objects package flowcontrol makes
		err = c.flows(p.Ports[0])
	case c.method == engine.Redirect:
		err = redirect(e, p.Ports[0])
	case choice.State != engine.Active:
		err = errors.New(choice.Reason)
	}
	if err != nil {
		is.Reason = err.Error()
		return is
	}
	is.Works, is.Reason = true, c.abilities[c.need][c.method].Reason
	return is
}

// measured is how many entries are timed.
const measured = 8

// measure times entries, and reads how many more the library has room for. What it refuses is
// left out: the method works without.
func (c *checker) measure(e *engine.Engine, l engine.Ledger, port string, is *checked) {
	all := redirections(port)
	for i := range measured {
		more := all[len(all)-1]
		more.SrcPort += uint16(i + 1)
		all = append(all, more)
	}
	began := time.Now()
	if refused, err := e.Redirect(all); err != nil || len(refused) > 0 {
		return
	}
	is.Entry = time.Since(began) / measured
	records, err := l.Load()
	if err != nil {
		return
	}
	for _, r := range records {
		if r.Key != engine.KeyExportTable {
			continue
		}
		if room, err := c.Room(r.ID); err == nil {
			is.Room = &room
		}
	}
}

// redirect sends flows without packets to next hops by a port, of both families.
func redirect(e *engine.Engine, port string) error {
	all := redirections(port)
	refused, err := e.Redirect(all)
	for i := range all {
		err = errors.Join(err, refused[all[i].Key()])
	}
	return err
}

// redirections are those of a flow of each family, of addresses that are never used.
func redirections(port string) (all []engine.Redirection) {
	// RFC 6666, RFC 5737
	for _, a := range [][3]string{{"100::1", "100::2", "100::3"}, {"192.0.2.1", "192.0.2.2", "192.0.2.3"}} {
		all = append(all, engine.Redirection{
			Src: netip.MustParseAddr(a[0]), Dst: netip.MustParseAddr(a[1]), SrcPort: 1, To: engine.NextHop{Address: netip.MustParseAddr(a[2]), Port: port},
		})
	}
	return all
}

// flows makes the calls by which single flows of a port are watched, or held.
func (c *checker) flows(port string) error {
	if c.need == engine.NeedHold {
		return c.hold(port)
	}
	if _, err := c.Flows().WatchFlows(); err != nil {
		return err
	}
	queues, err := c.Ports.QueueIDs(port)
	if err == nil && len(queues) == 0 {
		err = errors.New(cmp.Or(c.features.NoQueues, "the port has no queues"))
	}
	if err != nil {
		return err
	}
	const high, low = 1 << 20, 1 << 19 // octets
	if err := cmp.Or(c.Flows().SetFlowKey(sai.FlowKeyLabel), c.Flows().SetStreamSeed(0), c.Flows().SetQueueMarks(queues[0], high, low)); err != nil {
		return err
	}
	_, flows := c.Flows().GetFlows(queues[0], nil)
	_, flow := c.Flows().GetFlow(queues[0], 1)
	if errors.Is(flow, sai.ErrNotFound) { // the queue is empty
		flow = nil
	}
	_, stats := c.Flows().FlowStats()
	return cmp.Or(flows, flow, stats, c.Flows().SetQueueMarks(queues[0], 0, 0))
}

// hold holds a flow of discarded addresses for a moment.
func (c *checker) hold(port string) error {
	match := sai.HoldMatch{Kind: sai.HoldPair, Src: engine.ProbeFlow.Src, Dst: engine.ProbeFlow.Dst}
	set := c.Flows().SetHold(c.Ports.PortID(port), match, time.Second, 0)
	_, get := c.Flows().GetHold(c.Ports.PortID(port), match)
	return cmp.Or(set, get, c.Flows().SetHold(c.Ports.PortID(port), match, 0, 0))
}
