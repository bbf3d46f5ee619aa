// SPDX-License-Identifier: Apache-2.0

package engine

// The contract of a driver: what it must have is [Driver], what it may have besides are
// the traits [Setter], [Finder], [Prover] and [Shared]. [NewEngine] finds the traits, once.

// Driver is one way to the switch.
type Driver interface {
	// Probe says what the switch can do. What it creates to find out, it removes.
	Probe() (Abilities, Features, error)

	// Objects returns what a policy takes by the chosen methods, each object behind those
	// that it refers to, without the entries of flows. It changes nothing.
	Objects(p Policy, c Choices, f Features) []Object

	// Create creates an object. existing has the records that it refers to.
	Create(o *Object, existing map[string]*Record) (*Record, error)

	// Remove removes an object, or sets back what was there before.
	Remove(r *Record) error

	// Exists checks whether the object of a record is on the switch. It may correct
	// the record's attributes to the actual ones.
	Exists(r *Record) (bool, error)

	// Strays removes what an earlier process created and no record tells of, as far as
	// it is certain whose it is, or adds its records to existing, which has the others
	// by key; but for the objects of flows, which known has. It returns how many there
	// were.
	Strays(existing map[string]*Record, known map[ID]bool) (int, error)
}

// Setter is a driver that changes attributes of objects in place.
type Setter interface {
	// Set makes an attribute of an object on the switch what it is in o, which may have
	// it no more.
	Set(r *Record, o *Object, attr string, existing map[string]*Record) error
}

// Finder is a driver that finds what its process had created when it was killed,
// before the ledger had the object's id.
type Finder interface {
	// Before returns the record that the ledger is to have while an object is created:
	// Exists finds the object by it, and gives the record its id. nil: there is nothing
	// to remember.
	Before(o *Object) *Record

	// Lists reports whether objects are found by what they are that the ledger does not
	// have. Else it is written after each.
	Lists() bool

	// Left are objects that a killed process may have left and that may be of another
	// owner: they stay.
	Left() []string
}

// Shared is a driver of a database that other processes write to, too: its rows may be
// changed or removed at any time, and the abilities of the switch may change. Its
// objects have ids before they are created, so the ledger has them first: a crash
// between leaves no unrecorded object.
type Shared interface {
	// Foresee returns the record that Create would return. It creates nothing; it
	// refuses objects of another owner.
	Foresee(o *Object) (*Record, error)
}

// Prover is a driver that can read back what the switch took.
type Prover interface {
	// Prove returns nil if an object on the switch is as its record says, [ErrRefused] if
	// it is not, and another error if that cannot be known.
	Prove(r *Record, existing map[string]*Record) error
}

// MethodExcluder is a driver that records which methods ended a process before.
type MethodExcluder interface {
	// ExcludedMethods returns the methods that are never tried for a policy, each with
	// the reason in its Ability.
	ExcludedMethods(Policy) Abilities
}

// traits are what a driver has besides [Driver]; nil: it lacks the trait.
type traits struct {
	setter   Setter
	finder   Finder
	prover   Prover
	shared   Shared
	excluder MethodExcluder
}

func traitsOf(d Driver) (t traits) {
	t.setter, _ = d.(Setter)
	t.finder, _ = d.(Finder)
	t.prover, _ = d.(Prover)
	t.shared, _ = d.(Shared)
	t.excluder, _ = d.(MethodExcluder)
	return t
}

// NoPort is the reason for which the switch lacks a port.
type NoPort string

func (n NoPort) Error() string { return string(n) }
