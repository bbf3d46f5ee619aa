// SPDX-License-Identifier: Apache-2.0

package engine

// The contract of a driver: [Driver] is required, and optional are the traits [Setter],
// [Finder], [Prover], [Auditor], [Shared] and [MethodExcluder]. [NewEngine] finds the traits, once.

// Driver is one way to the switch.
type Driver interface {
	// Probe returns the abilities of the switch. It removes objects that it creates for the
	// question.
	Probe() (Abilities, Features, error)

	// Objects returns the objects of a policy by the chosen methods, each after those that
	// it refers to, without the entries of flows. It leaves the switch as it is.
	Objects(p Policy, c Choices, f Features) []Object

	// Create creates an object. existing has the records that it refers to.
	Create(o *Object, existing map[string]*Record) (*Record, error)

	// Remove removes an object, or restores the value before. [ErrHandedOver] is a success to come.
	Remove(r *Record) error

	// Exists checks whether the object of a record is on the switch. It may correct
	// the record's attributes to the actual ones.
	Exists(r *Record) (bool, error)

	// Strays removes objects that an earlier process created and the records lack, as far as
	// the owner is certain, or adds its records to existing, which has the others by key;
	// but for the objects of flows, which known has. It returns their number.
	Strays(existing map[string]*Record, known map[ID]bool) (int, error)
}

// Setter is a driver that changes attributes of objects in place.
type Setter interface {
	// Set gives an attribute of an object on the switch its value in o; an attribute that o
	// lacks is switched off.
	Set(r *Record, o *Object, attr string, existing map[string]*Record) error
}

// Finder is a driver that finds an object which its process had created when it was
// killed, before the ledger had the object's id.
type Finder interface {
	// Before returns the record that the ledger is to have while an object is created:
	// Exists finds the object by it, and gives the record its id. nil: the object can be
	// found without one.
	Before(o *Object) *Record

	// Lists reports whether objects that the ledger lacks are found by their attributes.
	// Else the ledger is written after each object.
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
	// Foresee returns the record that Create would return. It only reads; it refuses objects
	// of another owner.
	Foresee(o *Object) (*Record, error)

	// Answers returns why rows that were taken away stay away for now; nil: they may be put back.
	Answers() error
}

// Auditor is a driver of a switch on which other programs may take away or change what Sluice made.
type Auditor interface {
	// Audit reads an object of a record back, once each attribute. The zero Loss: it is as recorded,
	// or cannot be read.
	Audit(r *Record, existing map[string]*Record) Loss
}

// Loss is what another program did to an object.
type Loss struct {
	Fault   string // what is there instead; "": nothing was done
	Attr    string // the attribute that has another value; "": the object is gone
	Another bool   // another owner's is in its place, and stays
}

// Prover is a driver that can read objects back.
type Prover interface {
	// Prove returns nil if an object on the switch is as its record says, [ErrRefused] if it
	// differs, and another error if it is unknown.
	Prove(r *Record, existing map[string]*Record) error
}

// MethodExcluder is a driver that records which methods ended a process before.
type MethodExcluder interface {
	// ExcludedMethods returns the methods that are left out for a policy, each with the
	// reason in its Ability.
	ExcludedMethods(Policy) Abilities
}

// NoPort is the reason for which the switch lacks a port. It is for [errors.As]: a
// binding that fails so is no refusal of the method.
type NoPort string

// Error implements [error]. The text is the whole reason, for the operator.
func (n NoPort) Error() string { return string(n) }
