// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"
)

// Outcome is the result of a policy. Changes are those of one [Engine.Reconcile].
type Outcome struct {
	Choices           // by which method each need is met
	Changes           // of objects
	Queues   uint8    // egress queues of a port
	NoQueues string   // why the switch has no queues; "" with 0 queues: unknown
	Problems []string // of objects that are done without
	Sampling uint32   // one of so many packets is sampled for export; 0: none is
	Chance   uint32   // one of so many packets comes to the CPU by chance; 0: none, or of no known share
	Left     []string // objects on the switch that may be of Sluice, or of another owner
}

// Engine brings policies to the switch. It is for one goroutine. It decides what is tried
// next; its parts have the state: of the switch's offers, of the objects, and of flows.
type Engine struct {
	Now func() time.Time

	log      *slog.Logger
	prover   Prover         // nil: a method in force counts as active unread
	excluder MethodExcluder // nil: all methods are tried
	auditor  Auditor        // nil: objects are not read back later

	offers     offers
	retry      retry
	sw         programmer
	entries    flowEntries
	redirected redirections
	losses     losses

	wants   bool   // the policy asks something of the switch
	policy  Policy // less parts beyond the switch
	outcome Outcome
	last    round // the last attempt at it
}

// NewEngine asks the switch for its abilities, unless it is [Shared], and takes over the
// objects of an earlier process. log may be nil.
func NewEngine(d Driver, l Ledger, log *slog.Logger) (*Engine, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{Now: time.Now, log: log, offers: offers{log: log}}
	e.prover, _ = d.(Prover)
	e.excluder, _ = d.(MethodExcluder)
	e.auditor, _ = d.(Auditor)
	e.sw = programmer{driver: d, objects: map[string]*Record{}, failures: map[string]int{}, fixed: map[string]bool{}}
	e.sw.setter, _ = d.(Setter)
	e.sw.finder, _ = d.(Finder)
	e.sw.shared, _ = d.(Shared)
	e.sw.ledger = backlog{ledger: l, finder: e.sw.finder}
	e.entries = flowEntries{sw: &e.sw, prover: e.prover}
	if e.sw.shared == nil {
		if err := e.probe(); err != nil {
			return nil, err
		}
	}
	return e, e.adopt()
}

// probe asks the switch for its abilities.
func (e *Engine) probe() error {
	abilities, features, err := e.sw.driver.Probe()
	if err != nil {
		return fmt.Errorf("ask the switch what it can do: %w", err)
	}
	e.offers.report(abilities, features)
	return nil
}

// Record returns the record of an object's key, or nil. It is nil for flows, see
// [Engine.FlowCounter].
func (e *Engine) Record(key string) *Record { return e.sw.objects[key] }

// LabelMethod returns the method by which flow labels are in force, [None] without one.
// It is that of the last [Engine.Reconcile].
func (e *Engine) LabelMethod() Method { return e.outcome.Method(NeedFlowLabel) }

// RetryAt returns when the engine tries refused objects again; the zero time without
// refusals, and with a [Shared] driver.
func (e *Engine) RetryAt() time.Time { return e.retry.at }

// Len is how many objects are on the switch. An entry of a flow counts with its counter,
// as two.
func (e *Engine) Len() int { return len(e.sw.objects) + 2*len(e.entries.flows) }

// Reconcile brings the switch from its actual state to the policy's, by the preferred
// method that the switch takes. An error is a failure that may pass: finished steps stay,
// and the next call goes on.
func (e *Engine) Reconcile(p Policy) (Outcome, error) {
	err := e.reconcile(p)
	e.putBack(err)
	o := e.outcome
	o.Changes = e.sw.changes
	return o, err
}

// reconcile leaves the result in outcome.
func (e *Engine) reconcile(p Policy) error {
	e.wants = p.Label != nil || p.Export != nil || p.Placement != nil || p.SingleFlows
	if e.sw.shared != nil && e.wants { // an empty policy, which removes everything, must succeed without
		if err := e.probe(); err != nil {
			return err
		}
	}
	p = p.Rated(e.offers.now.features)
	if e.excluder != nil {
		e.offers.exclude(e.excluder.ExcludedMethods(p))
	}
	if err := e.retryRefused(p); err != nil {
		return err
	}
	e.outcome = Outcome{Queues: e.offers.now.features.Queues, NoQueues: e.offers.now.features.NoQueues}
	e.sw.changes = Changes{}
	if e.sw.finder != nil {
		e.outcome.Left = e.sw.finder.Left()
	}
	e.offers.remember()
	defer e.scheduleRetry()
	for {
		c := Choose(e.offers.now.abilities, p, e.offers.now.features)
		p = p.Watched(c, e.offers.now.features)
		err := e.attempt(p, c)
		if err == nil {
			if len(e.sw.objects) == 0 && e.last.later == nil {
				e.forgetRefusals()
			}
			return e.last.later
		}
		if !errors.Is(err, ErrRefused) || !e.offers.doWithout(c, failedObject(err), err) {
			return err
		}
	}
}

// attempt brings a policy to the switch by some methods, and reads back the result.
func (e *Engine) attempt(p Policy, c Choices) error {
	e.policy = p
	e.redirected.keep(c)
	e.outcome.Choices, e.outcome.Problems = c, slices.Clone(e.offers.lacks)
	if p.Export != nil {
		e.outcome.Sampling = p.Export.Rate
	}
	if x := c[NeedExport]; p.Export != nil && x.Method == None {
		e.policy.Export = nil
		e.outcome.Problems = append(e.outcome.Problems, "nothing is sampled for export: "+x.Reason)
	}
	e.outcome.Chance = e.policy.chance(c, e.offers.now.features)
	err := e.step()
	e.outcome.Problems = append(e.outcome.Problems, e.last.problems...)
	if err == nil {
		err = e.activate()
	}
	return errors.Join(err, e.sw.ledger.save())
}

// step carries out a plan. Where the switch refuses to change an attribute in place, it
// makes another plan, which creates the object again.
func (e *Engine) step() error {
	features := e.offers.now.features.Within(e.sw.objects)
	e.last = round{sw: &e.sw, features: e.offers.now.features}
	e.entries.follow(e.policy, e.outcome.Choices, features)
	var again *Object
	for {
		want := e.redirected.beside(e.sw.driver.Objects(e.policy, e.outcome.Choices, features), features)
		plan, err := Compare(want, e.sw.objects, e.sw.settable, e.entries.uses()...)
		if err != nil {
			return err
		}
		err = e.carryOut(plan)
		refused := (*objectError)(nil)
		if !errors.As(err, &refused) && err != nil && again != nil {
			return &objectError{again, "", err} // which is at fault
		}
		if refused == nil || refused.set == "" {
			return err
		}
		e.log.Warn("the switch refuses to change an attribute in place: objects are created again", "attribute", refused.set, "error", err)
		e.sw.fixed[refused.set] = true
		again = refused.object
	}
}

// carryOut carries out the steps of a plan. Removals that creations need come first, then
// creations and changes, then the entries of flows, and at last the removals of objects that
// were in use until then.
func (e *Engine) carryOut(p Plan) error {
	if !e.wants {
		p.First = e.last.unbind(p.First)
	}
	if !e.entries.pins || containsKey(p.First, KeyTable) || containsKey(p.Last, KeyTable) || e.sw.objects[KeyTable] == nil {
		if err := e.entries.leaveTable(); err != nil {
			return err
		}
	}
	if containsKey(p.First, keySample) { // which has to be created again
		if err := e.entries.sample(samplesNothing); err != nil {
			return err
		}
	}
	for _, s := range slices.Concat(p.First, p.Then) {
		var err error
		switch {
		case s.Remove && containsKey(p.Then, s.Object.Key):
			err = e.sw.remove(s.Object.Key)
		case s.Remove:
			e.last.removeOld(s.Object.Key)
		case s.Set != nil:
			err = e.sw.change(&s)
		default:
			e.entries.probed = e.entries.probed && s.Object.Key != KeyTable
			err = e.last.create(&s.Object)
		}
		if err != nil {
			return err
		}
	}
	if e.entries.pins {
		if err := e.entries.probe(); err != nil {
			return err
		}
		if err := errors.Join(e.entries.sample(e.entries.wantSampling()), e.entries.restore()); err != nil {
			return err
		}
	}
	for _, s := range p.Last {
		e.last.removeOld(s.Object.Key)
	}
	return nil
}

// proof returns the proof of the methods in force.
func (e *Engine) proof() *proof {
	return &proof{prover: e.prover, policy: e.policy, objects: e.sw.objects, without: e.last.without}
}

// activate records the methods in force for the needs of the policy: those that are
// proven.
func (e *Engine) activate() error {
	proof := e.proof()
	for n, c := range e.outcome.Choices {
		c, err := proof.state(n, c)
		if err != nil {
			return err
		}
		e.outcome.Choices[n] = c
	}
	return nil
}
