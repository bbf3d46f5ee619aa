// SPDX-License-Identifier: Apache-2.0

package control

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/congestion"
	"sluice/orchagent-ext/hold/flowcontrol"
	"sluice/orchagent-ext/hold/neighbors"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
)

// Settings are what flow control works by, of a configuration. With the zero value it is off.
type Settings struct {
	PFCM, PPFC, Advice bool // kinds of messages that are enabled

	Task      flowcontrol.Config // but for Ports, Queues and Source
	Source    flowcontrol.Source // holds at the senders of flows, where the switch has that method
	FiveTuple bool               // the switch distinguishes flows by their 5-tuple, else by label

	Ports      []string             // of the switch, sorted by name
	Devices    []Device             // sorted by name
	Thresholds map[string]Threshold // by port

	// Read are the queues whose depth is read by the method sampled, PORT:NUMBER; Unread is how
	// many more there are.
	Read   []string
	Unread int

	Warnings []string // of rows that lack others, or have no effect
}

// On reports whether notifications are sent or obeyed. Only then the real-time task runs.
func (s *Settings) On() bool { return s.PFCM || s.PPFC || s.Advice }

// Device is a netdev that has addresses: a port, or a PortChannel with its members.
type Device struct {
	Port     flowcontrol.Port // as configured: its name, and what it faces
	Watched  bool             // its neighbor is needed. Hosts get no PFCM unless Upstream is set
	Upstream netip.Addr       // the configured neighbor; the zero value: it is looked for
	Members  []Member
}

// Member is a port of the switch.
type Member struct {
	Name      string
	SpeedMbps uint32 // 0: unknown
}

// Threshold is that of the queues of a port.
type Threshold struct {
	congestion.Threshold
	Queues    []uint8 // numbers; empty: all
	Buffer    uint64  // octets that a queue has room for; 0: unknown
	SpeedMbps uint32  // of the port; 0: unknown
}

// Inputs are what flow control goes by beside its settings.
type Inputs struct {
	Choices  engine.Choices // methods of the switch; nil before it was probed
	Hosts    []rtt.Host     // round-trip times that packets show, in ns since 1970
	Now      time.Time
	Sampling uint32 // packets that a sample represents, or 0
}

// wanted are settings with inputs.
type wanted struct {
	*Settings
	Inputs
}

// config returns the configuration of the task by the methods of the switch, all but its ports
// and queues.
func (w wanted) config() *flowcontrol.Config {
	c := w.Task
	if c.Advice != nil {
		advice := *c.Advice
		c.Advice = &advice
	}
	if !w.watches() {
		c.Generate, c.PPFC = false, nil
	}
	if w.Choices.Method(engine.NeedHold) == engine.Source {
		c.Source = &w.Source
	}
	return &c
}

// partial returns which part of the settings the switch cannot do; "": it does all. A
// configuration that leaves queues alone is complete where none is watched.
func (w wanted) partial() string {
	switch {
	case w.Choices.Method(engine.NeedHold) == engine.None && w.holds():
		return "neighbors are asked for holds, and no flow is held here: " + w.Choices[engine.NeedHold].Reason
	case !w.watches() && (needsThreshold(&w.Task) || w.Task.Generate && len(w.Thresholds) > 0):
		return "flows are held at their senders, and nothing is sent about queues: " + w.Choices[engine.NeedThreshold].Reason
	}
	return ""
}

// watches reports whether the switch watches single flows.
func (w wanted) watches() bool { return w.Choices.Method(engine.NeedThreshold) != engine.None }

// holds reports whether flows are to be held here.
func (w wanted) holds() bool { return w.Task.Obey || w.Task.Ingress != nil }

// unable returns why the switch neither watches single flows nor holds those that are to be
// held; nil: it does.
func (w wanted) unable() error {
	if w.Choices == nil {
		return errors.New("the abilities of the switch are not known yet")
	}
	if w.watches() {
		return nil
	}
	if w.Choices.Method(engine.NeedHold) == engine.Source && w.holds() {
		return nil
	}
	return errors.New(w.Choices[engine.NeedThreshold].Reason)
}

// watched returns the netdevs whose neighbors are needed, each with the configured neighbor or
// the zero value.
func (s *Settings) watched() map[string]netip.Addr {
	all := map[string]netip.Addr{}
	for i := range s.Devices {
		if d := &s.Devices[i]; d.Watched {
			all[d.Port.Name] = d.Upstream
		}
	}
	return all
}

// ports returns the ports of the task, sorted by name.
func (s *Settings) ports(known map[string]neighbors.Port, id func(name string) sai.ObjectID) []flowcontrol.Port {
	var ports []flowcontrol.Port
	for i := range s.Devices {
		d := &s.Devices[i]
		p, n := d.Port, known[d.Port.Name]
		p.Index, p.MAC, p.Self, p.Neighbor, p.Also = n.Index, n.MAC, n.Self, n.Neighbor, n.Also
		for _, m := range d.Members {
			if port := id(m.Name); port != sai.Null {
				p.Members = append(p.Members, port)
				p.Speed = m.SpeedMbps
			}
		}
		if len(p.Members) > 0 {
			ports = append(ports, p)
		}
	}
	return ports
}

// queues returns the queues that have a threshold; sends reports whether the node sends
// messages about them. The error names the ports whose queues the switch does not list.
func (s *Settings) queues(sw Ports, sends bool) (map[sai.ObjectID]flowcontrol.Queue, error) {
	queues := map[sai.ObjectID]flowcontrol.Queue{}
	if !sends {
		return queues, nil
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(s.Thresholds)) {
		port, t := sw.PortID(name), s.Thresholds[name]
		if port == sai.Null {
			continue
		}
		ids, err := sw.QueueIDs(name)
		if err == nil && len(ids) == 0 {
			err = errors.New("the switch has none; the software switch has some where the SAI profile says SLUICE_QUEUES=8")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("queues of port %s, which has a threshold: %w", name, err))
			continue
		}
		for i, id := range ids {
			if len(t.Queues) == 0 || slices.Contains(t.Queues, uint8(i)) {
				queues[id] = flowcontrol.Queue{Port: port, Name: name, Number: uint8(i), Threshold: t.Threshold}
			}
		}
	}
	return queues, errors.Join(errs...)
}
