// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Switch is a kind of switch, with the methods that it gives to Sluice.
type Switch struct {
	// Name is what --switch takes.
	Name string
	// Labels: it writes flow labels, also chosen ones. HashesLabel: its ECMP can hash labels that
	// packets have. Redirects: it takes rules to next hops. HashesQueuePair: its ECMP can hash the
	// destination queue pair.
	Labels, HashesLabel, Redirects, HashesQueuePair bool
	// Samples, Copies: what Sluice exports from. Flows: it watches and holds single flows.
	Samples, Copies, Flows bool

	orchagent bool   // programmed by rows that orchagent takes
	labeling  bool   // labels are on, with an edge port
	program   string // the command line of Sluice there
	port      string // an edge port there
}

const sonicCommand = "sudo config sluice"

// orchagentOf returns a switch of a SONiC release whose syncd owns the ASIC.
func orchagentOf(release string, hashesLabel, copies bool) Switch {
	return Switch{
		Name: "sonic-" + release, HashesLabel: hashesLabel, Redirects: true, Samples: true, Copies: copies,
		orchagent: true, program: sonicCommand, port: "Ethernet0",
	}
}

// Switches are the kinds that are known: the software switch on Linux and on SONiC's virtual
// switch, and the releases of SONiC where syncd owns the ASIC. It is the one place of these facts: a
// test compares them with the schemas of the releases, and the tables of docs/compatibility.md and
// docs/sonic.md are written out of them.
var Switches = []Switch{
	{Name: "linux", Labels: true, HashesLabel: true, Redirects: true, HashesQueuePair: true, Samples: true, Copies: true, Flows: true, program: "sluice config", port: "eth1"},
	{Name: "sonic-vs", Labels: true, HashesLabel: true, Redirects: true, HashesQueuePair: true, Samples: true, Copies: true, Flows: true, program: sonicCommand, port: "Ethernet0"},
	orchagentOf("202305", false, false),
	orchagentOf("202311", false, false),
	orchagentOf("202405", false, true),
	orchagentOf("202411", false, true),
	orchagentOf("202505", true, true),
	orchagentOf("202511", true, true),
	orchagentOf("202605", true, true),
}

// ParseSwitch returns the kind of a name. An error lists the names.
func ParseSwitch(name string) (*Switch, error) {
	var names []string
	for i := range Switches {
		if Switches[i].Name == name {
			return &Switches[i], nil
		}
		names = append(names, Switches[i].Name)
	}
	return nil, fmt.Errorf("switch %q is not one of %s", name, strings.Join(names, ", "))
}

// kind returns the switch that the answer is for: the one that was named, or that of the machine;
// nil: it is unknown.
func (f *Facts) kind() *Switch {
	m := f.Machine
	switch {
	case f.Switch != nil || m == nil:
		return f.Switch
	case len(m.Capability) > 0 && m.Stale == nil:
		return m.measured()
	}
	return m.supposed()
}

// supposed returns the kind of switch that the machine looks like.
func (m *Machine) supposed() *Switch {
	name := "linux"
	switch {
	case m.ASIC == "":
	case !m.Syncd || m.ASIC == "vs":
		name = "sonic-vs"
		if m.ASIC != "vs" {
			return nil // by a vendor's library
		}
	default:
		name = "sonic-" + m.SONiC
	}
	s, err := ParseSwitch(name)
	if err != nil {
		return nil
	}
	return s
}

// measured returns the kind of switch that a running daemon reports.
func (m *Machine) measured() *Switch {
	has := func(need string, methods ...string) bool {
		return m.Capability[need+"_state"] != "none" && slices.Contains(methods, m.Capability[need+"_method"])
	}
	s := Switch{Name: "this switch", program: "sluice config", port: "eth1"}
	if m.ASIC != "" {
		s.program, s.port = sonicCommand, "Ethernet0"
	}
	s.orchagent = m.Driver == "orchagent"
	s.Labels = has("flow_label", "compute", "rewrite")
	s.labeling = s.Labels && m.Capability["flow_label_state"] == "active"
	s.HashesQueuePair = has("flow_label", "hash", "udf-hash") && !s.orchagent
	s.HashesLabel = s.Labels || has("flow_label", "hash")
	s.Redirects = has("placement", "redirect")
	if m.Capability["placement_method"] == "" { // placement is off
		s.Redirects = s.orchagent
	}
	return &s
}

// toLabel are the commands that switch labels on; with always, also in place of those of senders.
func (s *Switch) toLabel(always bool) []string {
	c := s.program + " flow-label set --admin-state enabled --manage-switch-hash true"
	if always {
		c += " --rewrite always"
	}
	return append(s.edge(), c)
}

// toPlace adds chosen labels to those by hash.
func (s *Switch) toPlace(always bool) []string {
	if s.labeling && !always {
		return []string{s.program + " placement set --admin-state enabled"}
	}
	return append(s.toLabel(always), s.program+" placement set --admin-state enabled")
}

// toRedirect makes rules to next hops.
func (s *Switch) toRedirect() []string {
	return append(s.edge(), s.program+" placement set --admin-state enabled --moves any")
}

// edge makes a port an edge port, after the way to reach the ASIC.
func (s *Switch) edge() (all []string) {
	if s.orchagent {
		// The container of the feature sflow has sflowmgrd, which orchagent takes sFlow's rows from.
		all = append(all, "sudo config feature state sflow enabled", "sudo config sflow enable", s.program+" global set --driver orchagent")
	}
	return append(all, fmt.Sprintf("%s port set %s --role edge", s.program, s.port))
}
