// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
)

// Errors of a driver that the engine tells apart.
var (
	// ErrRefused: the switch cannot, or has no room: to try again is pointless.
	ErrRefused = errors.New("the switch refuses")

	// ErrUnpoliced: the switch refuses, and what is refused polices packets to the CPU.
	ErrUnpoliced = fmt.Errorf("%w: packets to the CPU are not policed", ErrRefused)

	// ErrGone: the object is not there any more.
	ErrGone = errors.New("the object is gone")
)

// Driver is one way to the switch.
type Driver interface {
	// Probe says what the switch can do. What it creates to find out, it removes.
	Probe() (Methods, Features, error)

	// Objects returns what a policy takes at a method, each object behind those that it
	// refers to, without the entries of flows.
	Objects(p Policy, r Method, f Features) []Object

	// Create creates an object. stands has the records that it refers to.
	Create(o *Object, stands map[string]*Record) (*Record, error)

	// Remove removes an object, or sets back what was there before.
	Remove(r *Record) error

	// Exists looks whether a record still holds. It may correct the record's
	// attributes to what stands.
	Exists(r *Record) (bool, error)

	// Strays removes what an earlier process created and no record tells of, as far
	// as it is certain whose it is, or adds its records to stands, which has the
	// others by key. It returns how many there were.
	Strays(stands map[string]*Record) (int, error)
}

// Finder is a driver that finds what its process had created when it was killed,
// before the ledger had the object's id.
type Finder interface {
	Driver

	// Before returns the record that the ledger is to have while an object is created:
	// Exists finds the object by it, and gives the record its id. nil: there is nothing
	// to remember.
	Before(o *Object) *Record
}

// Ledger outlives the process: what stands on the switch.
type Ledger interface {
	Load() ([]*Record, error)
	Save(stands []*Record, gone []ID) error
}

// Outcome is what came of a policy.
type Outcome struct {
	Method   Method
	Reason   string   // why no better one
	Sampling Method   // how packets are sampled for export; [None]: they are not
	Unable   string   // why they cannot be sampled; "": they can
	Queues   uint8    // egress queues of a port
	NoQueues string   // why there are none; "" with 0 queues: it is not known
	Problems []string // of objects that are done without
	Created  int
	Removed  int
}

// Engine brings policies to the switch. It is for one goroutine.
type Engine struct {
	driver   Driver
	ledger   Ledger
	log      *slog.Logger
	methods  Methods
	features Features
	asked    Methods // as the driver told it; methods also has what was refused since

	policy  Policy // less what the switch cannot
	wants   bool   // the policy asks something of the switch
	method  Method
	outcome Outcome
	stands  map[string]*Record
	flows   map[string]FlowEntry
	without []Object // of a shared place, that others stood in the way of

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
	e := &Engine{driver: d, ledger: l, log: log, stands: map[string]*Record{}, flows: map[string]FlowEntry{}, method: None}
	var err error
	if _, shared := d.(Shared); !shared {
		if e.methods, e.features, err = d.Probe(); err != nil {
			return nil, fmt.Errorf("ask the switch what it can do: %w", err)
		}
	}
	return e, e.adopt()
}

// adopt reads the ledger: what still stands is ours, what is gone is forgotten.
func (e *Engine) adopt() error {
	records, err := e.ledger.Load()
	if err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	// An object whose id the ledger has is not looked for by what was written before.
	slices.SortStableFunc(records, func(a, b *Record) int { return cmp.Compare(a.before(), b.before()) })
	for _, r := range records {
		if e.stands[r.Key] != nil {
			e.gone = append(e.gone, r.ID)
			continue
		}
		written := r.ID
		there, err := e.driver.Exists(r)
		if err != nil {
			return fmt.Errorf("look for %s %s: %w", r.Type, r.ID, err)
		}
		if !there || r.ID != written {
			e.gone = append(e.gone, written)
		}
		if !there {
			continue
		}
		if r.ID != written {
			e.dirty = append(e.dirty, r)
		}
		e.stands[r.Key] = r
		if f, ok := flowOf(&r.Object); ok {
			e.flows[r.Key] = f
		}
	}
	known := maps.Clone(e.stands)
	strays, err := e.driver.Strays(e.stands)
	if err != nil {
		return fmt.Errorf("look for strays: %w", err)
	}
	for key, r := range e.stands {
		if known[key] == nil {
			e.dirty = append(e.dirty, r)
		}
	}
	if len(records) > 0 || strays > 0 {
		e.log.Info("took over what stands on the switch", "objects", len(e.stands), "gone", len(e.gone), "strays", strays)
	}
	return e.save()
}

// Flows yields the flows that have an entry.
func (e *Engine) Flows(yield func(FlowEntry) bool) { maps.Values(e.flows)(yield) }

// Record is the record of a key, nil where nothing stands.
func (e *Engine) Record(key string) *Record { return e.stands[key] }

// FlowCounter is the record of a flow's counter, nil where it has no entry.
func (e *Engine) FlowCounter(f FlowEntry) *Record { return e.stands[flowKey(f)+suffixCounter] }

// Len is how many objects stand.
func (e *Engine) Len() int { return len(e.stands) }

// Reconcile brings the switch from what stands to what the policy wants, by the
// best means that it takes. An error says that something failed which may go
// well another time: what was done stays, and the next call goes on.
func (e *Engine) Reconcile(p Policy) (Outcome, error) {
	e.wants = p.Label != nil || p.Export != nil
	if err := e.ask(); err != nil {
		return e.outcome, err
	}
	var problems []string
	sampling, unable := e.features.Sample(p.Export)
	if p.Export != nil && unable != "" {
		problems = append(problems, "nothing is sampled for export: "+unable)
		p.Export = nil
	}
	e.policy, e.outcome = p, Outcome{Method: None, Sampling: sampling, Unable: unable, Queues: e.features.Queues, NoQueues: e.features.NoQueues}
	for {
		e.method, e.outcome.Reason = None, ""
		if p.Label != nil {
			e.method, e.outcome.Reason = e.choose()
		}
		e.outcome.Method = e.method
		e.outcome.Problems, e.without = slices.Clone(problems), nil
		err := e.step()
		err = errors.Join(err, e.save())
		if errors.Is(err, ErrUnpoliced) && e.features.PoliceCPU {
			e.features.PoliceCPU = false
			problems = append(problems, err.Error())
			continue
		}
		if err == nil || e.method == None || !errors.Is(err, ErrRefused) {
			return e.outcome, err
		}
		e.log.Warn("the switch refuses; the next means is tried", "method", e.method, "why", err)
		e.methods.Set(e.method, Ability{Reason: err.Error()})
	}
}

// choose leaves out methods that change the switch's hash where that is not
// allowed.
func (e *Engine) choose() (Method, string) {
	l := e.methods.clone()
	for _, r := range []Method{Hash, UDFHash} {
		if a, known := l.abilities[r]; !e.policy.ManageHash && (!known || a.Can) {
			l.Set(r, Ability{Reason: "needs manage_switch_hash=true in SLUICE_FLOW_LABEL|global"})
		}
	}
	return l.Choose()
}

// Want returns the objects of a policy at a method, flows included.
func (e *Engine) want() []Object {
	want := e.driver.Objects(e.policy, e.method, e.features)
	if e.method != Rewrite {
		clear(e.flows)
		return want
	}
	for _, key := range slices.Sorted(maps.Keys(e.flows)) {
		want = append(want, FlowObjects(e.policy, e.flows[key])...)
	}
	return want
}

func (e *Engine) step() error {
	steps, err := Compare(e.want(), e.stands)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.Remove {
			err = e.remove(s.Object.Key)
		} else {
			err = e.create(&s.Object)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *Engine) create(o *Object) error {
	for key := range o.refs {
		if e.stands[key] == nil {
			if o.Optional {
				return nil // what it stands on was refused, and that was said
			}
			return fmt.Errorf("create %s %s: %s does not stand", o.Type, o.Key, key)
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
	e.stands[o.Key] = r
	e.dirty = append(e.dirty, r)
	e.outcome.Created++
	return e.saveSome()
}

func (e *Engine) remove(key string) error {
	r := e.stands[key]
	if err := e.driver.Remove(r); err != nil && !errors.Is(err, ErrGone) {
		return fmt.Errorf("remove %s %s: %w", r.Type, key, err)
	}
	delete(e.stands, key)
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

// AddFlows gives flows an entry, where the method is [Rewrite]; a flow that has one
// keeps its label. It returns how many could not get one, for want of room.
func (e *Engine) AddFlows(flows []FlowEntry) (refused int, err error) {
	if e.method != Rewrite {
		return 0, nil
	}
	for i, f := range flows {
		key := flowKey(f)
		if _, has := e.flows[key]; has {
			continue
		}
		err := e.addFlow(f)
		if errors.Is(err, ErrRefused) {
			return len(flows) - i, e.save()
		}
		if err != nil {
			return 0, errors.Join(err, e.save())
		}
		e.flows[key] = f
	}
	return 0, e.save()
}

// addFlow creates both objects or none.
func (e *Engine) addFlow(f FlowEntry) error {
	objects := FlowObjects(e.policy, f)
	for i := range objects {
		if err := e.create(&objects[i]); err != nil {
			for _, o := range objects[:i] {
				err = errors.Join(err, e.remove(o.Key))
			}
			return err
		}
	}
	return nil
}

// RemoveFlows takes the entries of flows away.
func (e *Engine) RemoveFlows(flows []FlowEntry) error {
	for _, f := range flows {
		key := flowKey(f)
		if _, has := e.flows[key]; !has {
			continue
		}
		delete(e.flows, key)
		for _, k := range []string{key, key + suffixCounter} {
			if e.stands[k] == nil {
				continue
			}
			if err := e.remove(k); err != nil {
				return errors.Join(err, e.save())
			}
		}
	}
	return e.save()
}
