// SPDX-License-Identifier: Apache-2.0

package placer

import (
	"fmt"

	"sluice/orchagent-ext/spread/ecmp"
	"sluice/orchagent-ext/spread/nexthops"
)

// mostMembers is how many next hops a group may have: the search of a label takes as many
// tries, and more.
const mostMembers = 1024

// observations is the number of flows that a model of type [ecmp.Observed] remembers.
const observations = 16384

// modelOf is the model of a group; reason is the reason of a model that cannot predict.
func (p *Placer) modelOf(w *nexthops.Group, gaveUp bool) (m ecmp.Model, linear *ecmp.Linear, reason string) {
	nothing := ecmp.NewObserved(1)
	switch n := len(w.Members); {
	case n > mostMembers:
		return nothing, nil, fmt.Sprintf("the group has %d next hops: labels are chosen among at most %d", n, mostMembers)
	case !p.cfg.Kernel && gaveUp:
		return ecmp.NewObserved(observations), nil, ""
	case !p.cfg.Kernel:
		linear = ecmp.NewLinear(len(w.Members))
		return linear, linear, ""
	}
	if p.reading.hashErr != nil {
		return nothing, nil, "how the kernel hashes is not known: " + p.reading.hashErr.Error()
	}
	if p.cfg.Seed != 0 && p.reading.hash.Seed != p.cfg.Seed {
		return nothing, nil, fmt.Sprintf("net.ipv4.fib_multipath_hash_seed is %d, and Sluice set it to %d: another program has changed it. Labels stay, and are not chosen until it is %d again", p.reading.hash.Seed, p.cfg.Seed, p.cfg.Seed)
	}
	known, err := w.Model(p.reading.hash)
	if err != nil {
		return nothing, nil, err.Error()
	}
	if !known.HashesLabel() {
		reason = "ECMP does not hash the flow label: set manage_switch_hash=true in SLUICE_FLOW_LABEL|global"
	}
	return known, nil, reason
}
