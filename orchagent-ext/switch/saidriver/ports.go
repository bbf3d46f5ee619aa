// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/machine"
	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Ports is the ports of the switch as the library reports them, by the names of SONiC, with
// their queues. It is for the driver's goroutine, but for the methods that name others: these
// read atomic values.
type Ports struct {
	lib     *sai.Library
	kernel  bool                    // the switch is the Linux kernel
	byName  map[string]sai.ObjectID // replaced as a whole: Counters have those of before
	missing map[string]string       // rows of PORT that are no port of the switch, and why
	names   atomic.Pointer[map[sai.ObjectID]string]
	ifIndex atomic.Pointer[map[sai.ObjectID]uint32]
	queues  map[sai.ObjectID][]sai.ObjectID // egress queues, as far as they were asked for
	classes classCache
}

// Set learns which port of the library is which, by their lanes. A port without
// lanes in PORT is the one whose lane is its netdev's interface index, as the software
// switch has them. Rows that match no port are in [Ports.Missing]. An error leaves the
// ports as they were.
func (p *Ports) Set(rows []engine.Port) error {
	ids, err := p.lib.GetObjects(saiattr.Switch, p.lib.Switch, saiattr.SwitchPorts)
	if err != nil {
		return fmt.Errorf("read the switch's ports: %w", refusal(err))
	}
	byLane := map[uint32]sai.ObjectID{}
	var unread error
	for _, id := range ids {
		lanes, err := p.lib.GetNumbers(saiattr.Port, id, saiattr.PortLanes)
		if err != nil { // other ports have theirs
			unread = fmt.Errorf("read the lanes of port %s: %w", id, refusal(err))
		}
		for _, lane := range lanes {
			byLane[lane] = id
		}
	}
	if len(byLane) == 0 && unread != nil {
		return unread
	}
	p.byName, p.missing = map[string]sai.ObjectID{}, map[string]string{}
	names := map[sai.ObjectID]string{}
	indexes, netdevs := map[sai.ObjectID]uint32{}, netdevIndexes(rows)
	for _, row := range rows {
		lanes, index := row.Lanes, netdevs[row.Name]
		if len(lanes) == 0 && index != 0 { // without either there is no such port
			lanes = []uint32{index}
		}
		for _, lane := range lanes {
			if id, ok := byLane[lane]; ok {
				p.byName[row.Name], names[id] = id, row.Name
				indexes[id] = index
			}
		}
		if _, ok := p.byName[row.Name]; !ok {
			p.missing[row.Name] = whyMissing(row, index != 0)
			if unread != nil {
				p.missing[row.Name] += "; " + unread.Error()
			}
		}
	}
	p.ifIndex.Store(&indexes)
	p.classes = classCache{}
	maps.DeleteFunc(p.queues, func(port sai.ObjectID, _ []sai.ObjectID) bool { return names[port] == "" })
	p.names.Store(&names)
	return nil
}

// netdevIndexes returns the indexes of the network devices that have names of rows.
func netdevIndexes(rows []engine.Port) map[string]uint32 {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	indexes := make(map[string]uint32, len(rows))
	// after an error rows without lanes lack their ports
	_ = machine.AskNetdevs(names, unix.SIOCGIFINDEX, func(i int, r *unix.Ifreq) { indexes[names[i]] = r.Uint32() })
	return indexes
}

// whyMissing returns the reason for which a row of PORT lacks a port of the switch;
// netdev reports whether there is a network device of that name.
func whyMissing(p engine.Port, netdev bool) string {
	var lanes []string
	for _, lane := range p.Lanes {
		lanes = append(lanes, fmt.Sprint(lane))
	}
	switch {
	case len(lanes) > 0 && netdev:
		return fmt.Sprintf("no port of the switch has the lanes %s of PORT|%s", strings.Join(lanes, ","), p.Name)
	case len(lanes) > 0:
		return fmt.Sprintf("no port of the switch has the lanes %s of PORT|%s, and there is no network device %s", strings.Join(lanes, ","), p.Name, p.Name)
	case netdev:
		return fmt.Sprintf("the SAI library has no port for the network device %s, and PORT|%s has no lanes", p.Name, p.Name)
	}
	return fmt.Sprintf("there is no network device %s, and PORT|%s has no lanes", p.Name, p.Name)
}

// IfIndex returns the interface index of a port's netdev, or 0. It may be called from any
// goroutine.
func (p *Ports) IfIndex(port sai.ObjectID) uint32 {
	if m := p.ifIndex.Load(); m != nil {
		return (*m)[port]
	}
	return 0
}

// PortName returns the name of a port by its object id, "" for one outside Set. It may be
// called from any goroutine.
func (p *Ports) PortName(id uint64) string {
	if m := p.names.Load(); m != nil {
		return (*m)[sai.ObjectID(id)]
	}
	return ""
}

// find returns the object of a port; its error wraps [engine.ErrRefused] and the reason
// why the port is missing.
func (p *Ports) find(name string) (sai.ObjectID, error) {
	id, ok := p.byName[name]
	if !ok {
		return sai.Null, fmt.Errorf("%w: %w", engine.ErrRefused, engine.NoPort(cmp.Or(p.missing[name], "PORT has no row "+name)))
	}
	return id, nil
}

// PortStats reads the counters of ports as [Counters.PortStats] does, in the driver's goroutine.
func (p *Ports) PortStats(names []string) []*sai.PortStats {
	return portStats(p.lib, p.byName, names)
}

// Missing returns the reason for which a row of PORT lacks a port of the switch, or "".
// Lanes and netdev are named in it, for the operator.
func (p *Ports) Missing(name string) string { return p.missing[name] }

// PortID is the library's object of a port; Null: it has none. name is SONiC's.
func (p *Ports) PortID(name string) sai.ObjectID { return p.byName[name] }

// QueueIDs are the library's egress queues of a port, by number. They are read once for
// each port and kept; the slice is shared. The error wraps [engine.NoPort] for a
// port that the switch lacks.
func (p *Ports) QueueIDs(name string) ([]sai.ObjectID, error) {
	port, err := p.find(name)
	if err != nil {
		return nil, err
	}
	if ids, known := p.queues[port]; known {
		return ids, nil
	}
	ids, err := p.lib.GetObjects(saiattr.Port, port, saiattr.PortQueues)
	if err == nil {
		p.queues[port] = ids
	}
	return ids, refusal(err)
}
