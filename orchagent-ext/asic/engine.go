// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Errors of a driver that the engine tells apart.
var (
	// ErrRefused: the switch cannot, or has no room: to try again is pointless.
	ErrRefused = errors.New("the switch refuses")

	// ErrUnpoliced: the switch refuses, and what is refused polices packets to the CPU.
	ErrUnpoliced = fmt.Errorf("%w: packets to the CPU are not policed", ErrRefused)

	// ErrUnsampled: the switch refuses, and what is refused samples packets for export.
	ErrUnsampled = fmt.Errorf("%w: packets are not sampled for export", ErrRefused)

	// ErrGone: the object is not there any more.
	ErrGone = errors.New("the object is gone")
)

// Ledger records the objects on the switch. It outlives the process.
type Ledger interface {
	Load() ([]*Record, error)
	Save(records []*Record, gone []ID) error
}

// Outcome is what came of a policy.
type Outcome struct {
	Choices           // by which method each need is met
	Queues   uint8    // egress queues of a port
	NoQueues string   // why the switch has no queues; "" with 0 queues: unknown
	Problems []string // of objects that are done without
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
	features  Features  // less what tables of an earlier version lack
	offered   Features  // of the switch
	asked     Abilities // as the driver told it; abilities also has what was refused since

	policy  Policy // less what the switch cannot
	wants   bool   // the policy asks something of the switch
	method  Method // of the flow label
	pins    bool   // single flows have entries
	outcome Outcome
	objects map[string]*Record
	flows   map[FlowEntry]*pinned // by the flow without its label
	fixed   map[string]bool       // attributes that the switch refused to change in place
	without []Object              // of a shared database, blocked by rows of another owner

	dirty []*Record // to be saved
	gone  []ID
}

// chunk is how many changes the ledger may be behind while objects are created.
const chunk = 512

// NewEngine asks the switch what it can do, unless it is [Shared], and takes over
// what an earlier process left. No log: nil.
func NewEngine(d Driver, l Ledger, log *slog.Logger) (*Engine, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{driver: d, traits: traitsOf(d), ledger: l, log: log, objects: map[string]*Record{}, flows: map[FlowEntry]*pinned{}, fixed: map[string]bool{}, method: None}
	var err error
	if e.shared == nil {
		if e.abilities, e.features, err = d.Probe(); err != nil {
			return nil, fmt.Errorf("ask the switch what it can do: %w", err)
		}
	}
	e.offered = e.features
	return e, e.adopt()
}

// Record is the record of a key, nil without an object. Flows have no record here.
func (e *Engine) Record(key string) *Record { return e.objects[key] }

// Len is how many objects are on the switch.
func (e *Engine) Len() int { return len(e.objects) + 2*len(e.flows) }

// Reconcile brings the switch from its actual state to what the policy wants, by the
// preferred method that the switch takes. An error says that something failed which
// may go well another time: what was done stays, and the next call goes on.
func (e *Engine) Reconcile(p Policy) (Outcome, error) {
	e.wants = p.Label != nil || p.Export != nil || p.SingleFlows
	if err := e.ask(); err != nil {
		return e.outcome, err
	}
	e.outcome = Outcome{Queues: e.features.Queues, NoQueues: e.features.NoQueues}
	var unpoliced []string
	for {
		c := Choose(e.abilities, p, e.features)
		e.policy, e.method, e.pins = p, c.Method(NeedFlowLabel), c.Pins()
		e.outcome.Choices, e.outcome.Problems, e.without = c, slices.Clone(unpoliced), nil
		if x := c[NeedExport]; p.Export != nil && x.Method == None {
			e.policy.Export = nil
			e.outcome.Problems = append(e.outcome.Problems, "nothing is sampled for export: "+x.Reason)
		}
		err := e.step()
		err = errors.Join(err, e.save())
		if errors.Is(err, ErrUnpoliced) && e.features.PoliceCPU {
			e.features.PoliceCPU = false
			unpoliced = append(unpoliced, err.Error())
			continue
		}
		placed := c.Method(NeedPlacement) == Entries
		if errors.Is(err, ErrUnsampled) && (e.policy.Export != nil || placed) {
			e.abilities.Set(NeedExport, c.Method(NeedExport), Ability{Reason: err.Error()})
			continue
		}
		if err == nil {
			e.activate()
		}
		if err == nil || e.method == None || !errors.Is(err, ErrRefused) {
			return e.outcome, err
		}
		if placed { // labels may go on without
			e.log.Warn("the switch refuses what entries of flows take: labels are not chosen", "error", err)
			e.abilities.Set(NeedPlacement, Entries, Ability{Reason: err.Error()})
			continue
		}
		e.log.Warn("the switch refuses; the next method is tried", "method", e.method, "error", err)
		e.abilities.Set(NeedFlowLabel, e.method, Ability{Reason: err.Error()})
	}
}

// activate notes by which methods the switch does now what the policy asks for.
func (e *Engine) activate() {
	for n, wanted := range map[Need]bool{NeedFlowLabel: e.policy.Label != nil, NeedExport: e.policy.Export != nil, NeedPlacement: e.policy.Placement != nil} {
		missing := slices.ContainsFunc(e.without, func(o Object) bool { return o.Meets == n })
		if c := e.outcome.Choices[n]; wanted && !missing && c.Method != None {
			c.State = Active
			e.outcome.Choices[n] = c
		}
	}
}

// settable says which attributes may be changed in place here.
func (e *Engine) settable(attr string) bool {
	return e.setter != nil && Settable(attr) && !e.fixed[attr]
}

// step carries out a plan. Where the switch refuses to change an attribute in place,
// it makes another plan, without that.
func (e *Engine) step() error {
	e.features.InnerPort, e.features.Protocol = e.offered.InnerPort, e.offered.Protocol
	e.features = e.features.Within(e.objects)
	for {
		plan, err := Compare(e.driver.Objects(e.policy, e.outcome.Choices, e.features), e.objects, e.settable, e.usedByFlows()...)
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
	return []string{keyTable, keySample}
}

// carryOut returns the attribute that the switch refused to change in place.
func (e *Engine) carryOut(p Plan) (refused string, err error) {
	if !e.pins || containsKey(p.First, keyTable) || containsKey(p.Last, keyTable) || e.objects[keyTable] == nil {
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
		case s.Remove:
			err = e.remove(s.Object.Key)
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
		if err := errors.Join(e.sampleFlows(e.wantSampling()), e.restoreFlows()); err != nil {
			return "", err
		}
	}
	for _, s := range p.Last {
		if err := e.remove(s.Object.Key); err != nil {
			return "", err
		}
	}
	return "", nil
}

// change sets attributes of an object. The ledger has them as unknown until then.
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
				return name, err
			}
			return "", err
		}
	}
	now := &Record{Object: *o, ID: r.ID, Previous: r.Previous}
	now.values = nil
	e.objects[o.Key] = now
	e.dirty = append(e.dirty, now)
	e.outcome.Set++
	return "", e.saveSome()
}

// unsettled is the value of an attribute that is being set. It refers to what both
// values refer to.
func unsettled(was, will string) string {
	values := slices.DeleteFunc([]string{was, will}, func(v string) bool { return !strings.HasPrefix(v, "@") })
	return strings.Join(append(values, valueUnknown), ",")
}

func (e *Engine) set(r *Record, o *Object, attr string) error {
	if e.setter == nil {
		return fmt.Errorf("%w: the driver changes no object in place", ErrRefused)
	}
	return e.setter.Set(r, o, attr, e.objects)
}

func (e *Engine) create(o *Object) error {
	for key := range o.refs {
		if e.objects[key] == nil {
			if o.Optional {
				return nil // an object that it refers to was refused, and that was reported
			}
			return fmt.Errorf("create %s %s: %s is not on the switch", o.Type, o.Key, key)
		}
	}
	r, err := e.make(o)
	if err != nil && o.Optional && errors.Is(err, ErrRefused) {
		e.outcome.Problems = append(e.outcome.Problems, fmt.Sprintf("%s: %v", o.Key, err))
		e.without = append(e.without, *o)
		return nil
	}
	if err != nil {
		return fmt.Errorf("create %s %s: %w", o.Type, o.Key, err)
	}
	e.objects[o.Key] = r
	e.dirty = append(e.dirty, r)
	e.outcome.Created++
	return e.saveSome()
}

func (e *Engine) remove(key string) error {
	r := e.objects[key]
	if err := e.driver.Remove(r); err != nil && !errors.Is(err, ErrGone) {
		return fmt.Errorf("remove %s %s: %w", r.Type, key, err)
	}
	delete(e.objects, key)
	e.gone = append(e.gone, r.ID)
	e.outcome.Removed++
	return e.saveSome()
}

func (e *Engine) saveSome() error {
	if len(e.dirty)+len(e.gone) < chunk {
		return nil
	}
	return e.save()
}

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
