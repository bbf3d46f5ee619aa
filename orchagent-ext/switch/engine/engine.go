// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// Errors of a driver that the engine distinguishes.
var (
	// ErrRefused: the switch lacks the ability, or the room: another attempt is pointless.
	ErrRefused = errors.New("the switch refuses")

	// ErrFailing: the switch answers an error that may pass, or stay. Where it stays
	// that is a refusal.
	ErrFailing = errors.New("the switch fails")

	// ErrPending: the switch is at work. The same call again returns the result.
	ErrPending = errors.New("the switch is at work")

	// ErrWaits is [ErrPending] where all that is missing waits for others than the switch.
	ErrWaits = fmt.Errorf("%w, or waits for others", ErrPending)

	// ErrNoNextHop: the switch does not have the next hop of a redirection.
	ErrNoNextHop = errors.New("the switch lacks the next hop")

	// ErrGone: the object was removed.
	ErrGone = errors.New("the object is gone")
)

// Ledger records the objects on the switch. It outlives the process. Load returns all
// records in any order. Save writes records by their ID, and forgets gone ones first: an
// ID in both stays.
type Ledger interface {
	Load() ([]*Record, error)
	Save(records []*Record, gone []ID) error
}

// Outcome is the result of a policy. Created, Removed and Set count the changes of one
// [Engine.Reconcile].
type Outcome struct {
	Choices           // by which method each need is met
	Queues   uint8    // egress queues of a port
	NoQueues string   // why the switch has no queues; "" with 0 queues: unknown
	Problems []string // of objects that are done without
	Sampling uint32   // one of so many packets is sampled for export; 0: none is
	Left     []string // objects on the switch that may be of Sluice, or of another owner
	Created  int
	Removed  int
	Set      int // changed in place
}

// Engine brings policies to the switch. It is for one goroutine.
type Engine struct {
	driver    Driver
	traits    // of the driver
	ledger    Ledger
	log       *slog.Logger
	abilities Abilities
	features  Features       // less what tables of an earlier version lack
	offered   Features       // of the switch, less refused ones
	told      Features       // as the driver told it
	asked     Abilities      // as the driver told it; abilities also has what was refused since
	before    attempt        // abilities before the method of the flow label was tried
	probed    bool           // the table takes entries of flows
	excluded  Abilities      // methods that are not tried for the policy, as the driver told them
	lacks     []string       // missing parts, with the reason
	failures  map[string]int // in a row, by step
	refused   *Object        // the last one
	later     error          // of steps that the others did not wait for

	Now        func() time.Time
	retryAt    time.Time     // when what was refused is tried again; zero: nothing was
	retryPause time.Duration // before that

	policy     Policy // less parts beyond the switch
	redirected []Redirection
	wants      bool   // the policy asks something of the switch
	method     Method // of the flow label
	pins       bool   // single flows have entries
	outcome    Outcome
	objects    map[string]*Record
	flows      map[FlowEntry]*pinned // by the flow without its label
	fixed      map[string]bool       // attributes that the switch refused to change in place
	without    []Object              // optional ones that the switch refused
	withoutWhy []error               // of each

	dirty []*Record // to be saved
	gone  []ID
}

// chunk is how many changes the ledger may be behind while objects are created, where the
// driver finds those that it lacks.
const chunk = 512

// NewEngine asks the switch for its abilities, unless it is [Shared], and takes over the
// objects of an earlier process. log may be nil.
func NewEngine(d Driver, l Ledger, log *slog.Logger) (*Engine, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{
		driver: d, traits: traitsOf(d), ledger: l, log: log, Now: time.Now,
		objects: map[string]*Record{}, flows: map[FlowEntry]*pinned{}, fixed: map[string]bool{}, failures: map[string]int{}, method: None,
	}
	if e.shared == nil {
		if err := e.askSwitch(); err != nil {
			return nil, err
		}
	}
	return e, e.adopt()
}

// Record returns the record of an object's key, or nil. It is nil for flows, see
// [Engine.FlowCounter].
func (e *Engine) Record(key string) *Record { return e.objects[key] }

// LabelMethod returns the method by which flow labels are in force, [None] without one.
// It is that of the last [Engine.Reconcile].
func (e *Engine) LabelMethod() Method { return e.method }

// RetryAt returns when the engine tries refused objects again; the zero time without
// refusals, and with a [Shared] driver.
func (e *Engine) RetryAt() time.Time { return e.retryAt }

// Len is how many objects are on the switch. An entry of a flow counts with its counter,
// as two.
func (e *Engine) Len() int { return len(e.objects) + 2*len(e.flows) }

// Reconcile brings the switch from its actual state to the policy's, by the preferred
// method that the switch takes. An error is a failure that may pass: finished steps stay,
// and the next call goes on.
func (e *Engine) Reconcile(p Policy) (Outcome, error) {
	e.wants = p.Label != nil || p.Export != nil || p.Placement != nil || p.SingleFlows
	if err := e.ask(); err != nil {
		return e.outcome, err
	}
	p = p.Rated(e.offered)
	e.excludeMethods(p)
	if err := e.retryRefused(p); err != nil {
		return e.outcome, err
	}
	e.outcome = Outcome{Queues: e.offered.Queues, NoQueues: e.offered.NoQueues}
	if e.finder != nil {
		e.outcome.Left = e.finder.Left()
	}
	e.snapshotBeliefs()
	defer e.scheduleRetry()
	for {
		c := Choose(e.abilities, p, e.offered)
		p = p.Watched(c, e.offered)
		if p.Export != nil {
			e.outcome.Sampling = p.Export.Rate
		}
		e.policy, e.method, e.pins = p, c.Method(NeedFlowLabel), c.Pins()
		e.keepRedirected(c)
		e.outcome.Choices, e.outcome.Problems = c, slices.Clone(e.lacks)
		e.without, e.withoutWhy, e.refused, e.later = nil, nil, nil, nil
		if x := c[NeedExport]; p.Export != nil && x.Method == None {
			e.policy.Export = nil
			e.outcome.Problems = append(e.outcome.Problems, "nothing is sampled for export: "+x.Reason)
		}
		err := e.step()
		if err == nil {
			err = e.activate()
		}
		err = errors.Join(err, e.save())
		if err == nil {
			if len(e.objects) == 0 && e.later == nil {
				e.clearRefusals()
			}
			return e.outcome, e.later
		}
		if !errors.Is(err, ErrRefused) || !e.doWithout(c, err) {
			return e.outcome, err
		}
	}
}

// settable reports whether an attribute may be changed in place here.
func (e *Engine) settable(attr string) bool {
	return e.setter != nil && Settable(attr) && !e.fixed[attr]
}

// step carries out a plan. Where the switch refuses to change an attribute in place, it
// makes another plan, which creates the object again.
func (e *Engine) step() error {
	e.features = e.offered.Within(e.objects)
	for {
		plan, err := Compare(e.wantedObjects(), e.objects, e.settable, e.usedByFlows()...)
		if err != nil {
			return err
		}
		refused, err := e.carryOut(plan)
		if refused == "" || err == nil {
			return err
		}
		e.log.Warn("the switch refuses to change an attribute in place: objects are created again", "attribute", refused, "error", err)
		e.fixed[refused] = true
	}
}

// usedByFlows are the keys that the entries of flows refer to.
func (e *Engine) usedByFlows() []string {
	if len(e.flows) == 0 {
		return nil
	}
	return []string{KeyTable, keySample}
}

// carryOut returns the attribute that the switch refused to change in place. Removals
// that creations need come first, then creations and changes, then the entries of flows,
// and at last the removals of objects that were in use until then.
func (e *Engine) carryOut(p Plan) (refused string, err error) {
	if !e.wants {
		p.First = e.unbind(p.First)
	}
	if !e.pins || containsKey(p.First, KeyTable) || containsKey(p.Last, KeyTable) || e.objects[KeyTable] == nil {
		if err := e.leaveTable(); err != nil {
			return "", err
		}
	}
	if containsKey(p.First, keySample) { // which has to be created again
		if err := e.sampleFlows(samplesNothing); err != nil {
			return "", err
		}
	}
	for _, s := range slices.Concat(p.First, p.Then) {
		switch {
		case s.Remove && containsKey(p.Then, s.Object.Key):
			err = e.remove(s.Object.Key)
		case s.Remove:
			e.removeOld(s.Object.Key)
		case s.Set != nil:
			refused, err = e.change(&s)
		default:
			err = e.create(&s.Object)
		}
		if err != nil {
			return refused, err
		}
	}
	if e.pins {
		if err := e.probe(); err != nil {
			return "", err
		}
		if err := errors.Join(e.sampleFlows(e.wantSampling()), e.restoreFlows()); err != nil {
			return "", err
		}
	}
	for _, s := range p.Last {
		e.removeOld(s.Object.Key)
	}
	return "", nil
}

// unbind removes the bindings of a plan at once, and returns the other steps: where nothing is
// wanted no packet is changed from then on, however many entries are to be removed.
func (e *Engine) unbind(steps []Step) (rest []Step) {
	for _, s := range steps {
		if s.Object.Type == TypeBinding {
			e.removeOld(s.Object.Key)
		} else {
			rest = append(rest, s)
		}
	}
	return rest
}

// removeOld removes an object that is not wanted. If that fails the rest goes on, except
// for the objects that it refers to, which are in use.
func (e *Engine) removeOld(key string) {
	for _, r := range e.objects {
		if e.later != nil && r.refersTo(key) {
			return
		}
	}
	if err := e.remove(key); err != nil {
		e.later = errors.Join(e.later, err)
	}
}

// change sets attributes of an object. The ledger has them as unknown until then. An
// attribute is unknown rather than old or new, since a process that is killed in the call
// leaves either.
func (e *Engine) change(s *Step) (refused string, err error) {
	o := &s.Object
	r := e.objects[o.Key]
	unknown := *r
	unknown.Attrs = slices.DeleteFunc(slices.Clone(r.Attrs), func(a Attr) bool { return slices.Contains(s.Set, a.Name) })
	for _, name := range s.Set {
		unknown.Attrs = append(unknown.Attrs, Attr{name, unsettled(r.Attr(name), o.Attr(name))})
	}
	e.objects[o.Key] = &unknown
	e.dirty = append(e.dirty, &unknown)
	if err := e.save(); err != nil {
		return "", err
	}
	for _, name := range s.Set {
		if err := e.set(&unknown, o, name); err != nil {
			err = fmt.Errorf("set %s of %s %s: %w", name, o.Type, o.Key, err)
			if errors.Is(err, ErrRefused) {
				e.refused = o
				return name, err
			}
			return "", err
		}
	}
	now := &Record{Object: *o, ID: r.ID, Previous: r.Previous}
	now.Values = nil
	e.objects[o.Key] = now
	e.dirty = append(e.dirty, now)
	e.outcome.Set++
	return "", e.saveSome()
}

// unsettled returns the value of an attribute that is being set. It has the references of
// both values.
func unsettled(was, will string) string {
	values := slices.DeleteFunc([]string{was, will}, func(v string) bool { return !strings.HasPrefix(v, "@") })
	return strings.Join(append(values, ValueUnknown), ",")
}

// set changes an attribute of an object in place; [ErrRefused] with a driver that cannot.
func (e *Engine) set(r *Record, o *Object, attr string) error {
	if e.setter == nil {
		return fmt.Errorf("%w: the driver changes no object in place", ErrRefused)
	}
	return e.judge("set "+attr+" "+o.Key, e.setter.Set(r, o, attr, e.objects))
}

// create creates an object and records it. An optional object whose reference was refused
// is skipped.
func (e *Engine) create(o *Object) error {
	for key := range o.References {
		if e.objects[key] == nil {
			if o.Optional {
				return nil // an object that it refers to was refused, and that was reported
			}
			return fmt.Errorf("create %s %s: %s is not on the switch", o.Type, o.Key, key)
		}
	}
	r, err := e.make(o)
	err = e.judge("create "+o.Key, err)
	if o.Optional && errors.Is(err, ErrRefused) {
		if _, other := e.offered.without(o, refusedAttr(err)); other != "" && o.Type != TypeACLEntry {
			e.refused = o
			return fmt.Errorf("create %s %s: %w", o.Type, o.Key, err)
		}
	}
	if o.Optional && (errors.Is(err, ErrRefused) || errors.Is(err, ErrFailing)) {
		e.outcome.Problems = append(e.outcome.Problems, fmt.Sprintf("%s: %v", o.Key, err))
		e.without, e.withoutWhy = append(e.without, *o), append(e.withoutWhy, err)
		if !errors.Is(err, ErrRefused) {
			e.later = errors.Join(e.later, fmt.Errorf("create %s %s: %w", o.Type, o.Key, err))
		}
		return nil
	}
	if err != nil {
		e.refused = o
		return fmt.Errorf("create %s %s: %w", o.Type, o.Key, err)
	}
	e.objects[o.Key] = r
	e.probed = e.probed && o.Key != KeyTable
	e.dirty = append(e.dirty, r)
	e.outcome.Created++
	// those are found by their table
	if e.finder != nil && o.Type != TypeACLEntry && o.Type != TypeACLCounter {
		return e.save()
	}
	return e.saveSome()
}

// remove removes an object and its record; one that is gone already is a success.
func (e *Engine) remove(key string) error {
	r := e.objects[key]
	if err := e.driver.Remove(r); err != nil && !errors.Is(err, ErrGone) {
		return fmt.Errorf("remove %s %s: %w", r.Type, key, err)
	}
	delete(e.objects, key)
	e.forget(r.ID)
	e.outcome.Removed++
	return e.saveSome()
}

// forget has the ledger forget an object.
func (e *Engine) forget(id ID) {
	e.dirty = slices.DeleteFunc(e.dirty, func(r *Record) bool { return r.ID == id })
	e.gone = append(e.gone, id)
}

// unlisted reports whether the driver depends on the ledger to find objects: the ledger
// is then written after each call.
func (e *Engine) unlisted() bool { return e.finder != nil && !e.finder.Lists() }

// saveSome writes the ledger once enough changes wait, or after each with a driver that
// depends on it.
func (e *Engine) saveSome() error {
	if len(e.dirty)+len(e.gone) < chunk && !e.unlisted() {
		return nil
	}
	return e.save()
}

// save writes the changes to the ledger. After an error they wait for the next save.
func (e *Engine) save() error {
	if len(e.dirty)+len(e.gone) == 0 {
		return nil
	}
	if err := e.ledger.Save(e.dirty, e.gone); err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	e.dirty, e.gone = nil, nil
	return nil
}
