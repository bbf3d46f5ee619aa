// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"sluice/orchagent-ext/spread/ecmp"
)

// Level is how much a verdict asks of the operator.
type Level string

// Levels of a verdict.
const (
	OK      Level = "ok"      // nothing to do
	Note    Level = "note"    // works, with a limit to know
	Act     Level = "act"     // something is to be done
	Unknown Level = "unknown" // the fact could not be read
)

// Verdict is the judgment of one check.
type Verdict struct {
	// Check is its name: traffic, direction, data, ports, label, paths, congestion, loss or packets
	// of what passed; kernel, hash, rights, clock, asic, databases, sluiced or capability of the
	// machine; and answer, the last one.
	Check string `json:"check"`
	Level Level  `json:"level"`
	// Found is the fact, and Do the next step; "" for none.
	Found string `json:"found"`
	Do    string `json:"do,omitempty"`
	// Numbers has the figures behind the fact, by names with units, which docs/tool.md explains.
	Numbers map[string]float64 `json:"numbers,omitempty"`
	// Who has the hosts or ports that a figure is about most, by its name.
	Who map[string]string `json:"who,omitempty"`
	// Commands carry out the answer, in their order.
	Commands []string `json:"commands,omitempty"`
}

// say returns a verdict from words alone.
func say(check string, level Level, found, do string) Verdict {
	return Verdict{Check: check, Level: level, Found: found, Do: do}
}

// ranks orders levels by how much they ask; an unknown fact asks for as much as a limit.
var ranks = map[Level]int{OK: 0, Unknown: 1, Note: 1, Act: 2}

// AtLeast reports whether a verdict asks for as much as a level, or for more.
func (v *Verdict) AtLeast(l Level) bool { return ranks[v.Level] >= ranks[l] }

// Facts are those of a machine, and of the packets that passed.
type Facts struct {
	// Machine is nil where a capture alone is judged.
	Machine *Machine
	// Traffic is nil where the machine alone is judged.
	Traffic *Traffic
	// Switch is the kind that the operator named; nil: it is found by the machine.
	Switch *Switch
	// Again is the command line that computes the paths of the same packets, or "".
	Again string
}

// Machine has the facts of the machine itself.
type Machine struct {
	// Tool is the version of this program, Installed that of the sluiced beside it or in PATH; "" where
	// none is, or where it does not say.
	Tool, Installed string
	// Release is that of the kernel, as uname(2) has it; "" for an unknown one.
	Release string
	// Hash is the kernel's multipath hash of IPv6; HashError the reason of an unknown one.
	Hash      ecmp.Kernel
	HashError error
	// ProcessStatus is the text of the command's own /proc/self/status.
	ProcessStatus string
	// ClockError is how far the kernel's clock may be off, in µs; negative for a clock that
	// nothing synchronizes.
	ClockError int64
	// SONiC is its version, such as 202505; "" for a machine without SONiC, or another name.
	SONiC string
	// ASIC is SONiC's asic_type; "" for a machine without SONiC. Syncd: a syncd runs, and
	// owns the ASIC.
	ASIC  string
	Syncd bool
	// DatabaseError is the reason why SONiC's databases cannot be read; nil: the rows below
	// are theirs.
	DatabaseError error
	// Driver is that of SLUICE|global; "" for the default, sai.
	Driver string
	// State is the row of SLUICE_STATE, nil where sluiced does not run; Stale the error of a
	// sluiced that is silent.
	State map[string]string
	Stale error
	// Capability is the row of SLUICE_CAPABILITY.
	Capability map[string]string
}

// Judge returns a verdict for each check, in the order in which an operator goes about
// it: the traffic first, since it decides whether anything is to be done.
func Judge(f Facts) []Verdict {
	var all []Verdict
	if f.Traffic != nil {
		all = append(all, traffic(f.Traffic, f.kind())...)
	}
	if m := f.Machine; m != nil {
		all = append(all, version(m), kernel(m), hash(m), rights(m), clock(m), asic(m), databases(m))
		if m.DatabaseError == nil {
			all = append(all, sluiced(m))
			all = append(all, capability(m)...)
		}
	}
	if f.Traffic != nil {
		all = append(all, answer(f, all))
	}
	return all
}
