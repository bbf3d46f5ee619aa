// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
)

// usual is the number of uplinks that the answer is about, where several were computed.
const usual = 8

// answer sums up: the method to switch on, its gain and its limits, and the commands.
func answer(f Facts, all []Verdict) Verdict {
	t, on := f.Traffic, f.kind()
	v := say("answer", OK, "", "")
	if t.Packets == 0 {
		v.Level, v.Found = Unknown, "no verdict: no RoCEv2 data passed"
		return v
	}
	e := t.Entropy()
	r := figures{}
	for i := range t.Paths {
		if r.paths == 0 || t.Paths[i].Paths == usual {
			r = figuresOf(t, &t.Paths[i], on)
		}
	}
	v.Numbers = map[string]float64{"uplinks": float64(r.paths), "now": r.now, "best": r.best(), "floor": r.floor}
	cannot := spread(&v, f.Again, t, &e, &r, on)
	for _, c := range all {
		switch {
		case c.Check == "congestion" && c.Level == Act:
			cannot = append(cannot, "paths do not empty the queue of one receiver: hold or advise")
		case c.Check == "loss" && c.Level == Act:
			cannot = append(cannot, "no choice of paths mends the losses")
		}
	}
	if t.hint(&e) {
		v.Level = min2(v.Level, Note)
		v.Found = "a hint, of few packets: " + v.Found
	}
	v.Do = strings.Join(cannot, "; ")
	return v
}

// min2 returns the level that asks for less.
func min2(a, b Level) Level {
	if ranks[b] < ranks[a] {
		return b
	}
	return a
}

// spread answers how to spread the flows, and returns the limits of the answer.
func spread(v *Verdict, again string, t *Traffic, e *Entropy, r *figures, on *Switch) (cannot []string) {
	full := fmt.Sprintf("the fullest of %d uplinks has %.2f times the mean", r.paths, r.now)
	if r.paths == 0 || t.Packets == t.Tunnelled {
		v.Level, v.Found = Unknown, "no verdict about paths: the data is in tunnels"
		return nil
	}
	if e.QueuePairBits < spreadBits && e.HostPairs == 1 {
		v.Found = "nothing to switch on for paths: one queue pair has one path"
		return []string{"more queue pairs of the library make it spreadable (NCCL_IB_QPS_PER_CONNECTION, docs/adapters.md)"}
	}
	if r.now < even {
		v.Found = "nothing to switch on for paths: " + full
		if t.done(e) {
			v.Found = "done: labels spread the queue pairs, and " + full
		}
		return nil
	}
	gives := func(x float64) string { return fmt.Sprintf("from %.2f to %.2f times the mean", r.now, x) }
	toPlace, toLabel, toRedirect := r.labels && r.helps(r.placed), r.labels && r.helps(r.label), r.redirected && r.helps(r.redirect)
	if r.now < uneven {
		v.Level = Note
	} else {
		v.Level = Act
	}
	over4 := share(t.IPv6, t.Packets) < mostShare
	foreign := share(t.Labeled-t.Sluice, t.IPv6) > someShare
	switch {
	case toLabel:
		v.Found = fmt.Sprintf("switch on flow labels: the fullest of %d uplinks goes %s", r.paths, gives(r.label))
		more := r.helpsMore()
		if more {
			v.Found += fmt.Sprintf(", with chosen labels to %.2f (no choice is below %.2f)", r.placed, r.floor)
		}
		if on != nil {
			v.Commands = on.toLabel(false)
			if more {
				v.Commands = on.toPlace(foreign)
			}
		}
	case toPlace && (!over4 || !toRedirect):
		v.Found = fmt.Sprintf("switch on placement of labels: the fullest of %d uplinks goes %s (no choice is below %.2f)", r.paths, gives(r.placed), r.floor)
		if t.done(e) {
			v.Found = "labels are done; " + v.Found
		}
		if on != nil {
			v.Commands = on.toPlace(foreign)
		}
	case toRedirect:
		v.Found = fmt.Sprintf("switch on redirect: the fullest of %d uplinks goes %s (no rules are below %.2f)", r.paths, gives(r.redirect), r.redirectFloor)
		if on != nil {
			v.Commands = on.toRedirect()
		}
	default:
		v.Found = full + ", and Sluice has no way to lower it here"
		if on != nil {
			v.Found = full + ", and Sluice has no way to lower it on " + on.Name
		}
	}
	if least := r.least(); least >= even && (toLabel || toPlace || toRedirect) {
		cannot = append(cannot, fmt.Sprintf("one flow has so much of the load that no choice of one path is below %.2f", least))
	}
	if (toLabel || toPlace) && over4 {
		cannot = append(cannot, "IPv4 packets get no label")
	}
	if (toPlace && r.helpsMore() || toPlace && !toLabel) && foreign {
		cannot = append(cannot, "labels of senders change with rewrite=always alone, within your own domain (RFC 6437)")
	}
	if !toLabel && !toPlace && !toRedirect {
		if r.redirectFloor*gain > r.now && e.PortBits < portShare*e.QueuePairBits {
			cannot = append(cannot, "queue pairs of one source port stay together without labels: let the adapters vary their ports (docs/adapters.md)")
		} else {
			cannot = append(cannot, "there are too few flows")
		}
	}
	if on == nil && len(v.Commands) == 0 && (toLabel || toPlace || toRedirect) {
		cannot = append(cannot, "--switch linux, sonic-vs or sonic-RELEASE has the commands")
		if again != "" {
			v.Commands = []string{again}
		}
	}
	return cannot
}

// Names lists the kinds of switches.
func Names() string {
	var all []string
	for i := range Switches {
		all = append(all, Switches[i].Name)
	}
	return strings.Join(all, ", ")
}
