// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// SetPorts learns which port of the library is which, by their lanes. A port without
// lanes in PORT is the one whose lane is its netdev's interface index, as the software
// switch has them. Rows that match no port are in [Driver.Missing]. An error leaves the
// ports as they were.
func (d *Driver) SetPorts(ports []engine.Port) error {
	ids, err := d.lib.GetObjects(saiattr.Switch, d.lib.Switch, saiattr.SwitchPorts)
	if err != nil {
		return fmt.Errorf("read the switch's ports: %w", refusal(err))
	}
	byLane := map[uint32]sai.ObjectID{}
	var unread error
	for _, id := range ids {
		lanes, err := d.lib.GetNumbers(saiattr.Port, id, saiattr.PortLanes)
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
	// new maps: Counters have those of before
	d.ports, d.missing = map[string]sai.ObjectID{}, map[string]string{}
	names := map[sai.ObjectID]string{}
	indexes := map[sai.ObjectID]uint32{}
	for _, p := range ports {
		lanes, index := p.Lanes, uint32(0)
		if netdev, err := net.InterfaceByName(p.Name); err == nil {
			index = uint32(netdev.Index)
		}
		if len(lanes) == 0 && index != 0 { // without either there is no such port
			lanes = []uint32{index}
		}
		for _, lane := range lanes {
			if id, ok := byLane[lane]; ok {
				d.ports[p.Name], names[id] = id, p.Name
				indexes[id] = index
			}
		}
		if _, ok := d.ports[p.Name]; !ok {
			d.missing[p.Name] = whyMissing(p, index != 0)
			if unread != nil {
				d.missing[p.Name] += "; " + unread.Error()
			}
		}
	}
	d.ifIndex.Store(&indexes)
	d.classes = classCache{}
	maps.DeleteFunc(d.queuesOf, func(port sai.ObjectID, _ []sai.ObjectID) bool { return names[port] == "" })
	d.names.Store(&names)
	return nil
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
func (d *Driver) IfIndex(port sai.ObjectID) uint32 {
	if m := d.ifIndex.Load(); m != nil {
		return (*m)[port]
	}
	return 0
}

// PortName returns the name of a port by its object id, "" for one outside SetPorts. It may be
// called from any goroutine.
func (d *Driver) PortName(id uint64) string {
	if m := d.names.Load(); m != nil {
		return (*m)[sai.ObjectID(id)]
	}
	return ""
}

// port returns the object of a port; its error wraps [engine.ErrRefused] and the reason
// why the port is missing.
func (d *Driver) port(name string) (sai.ObjectID, error) {
	id, ok := d.ports[name]
	if !ok {
		return sai.Null, fmt.Errorf("%w: %w", engine.ErrRefused, engine.NoPort(cmp.Or(d.missing[name], "PORT has no row "+name)))
	}
	return id, nil
}

// PortStats reads the counters of ports as [Counters.PortStats] does, in the driver's goroutine.
func (d *Driver) PortStats(names []string) []*sai.PortStats {
	return portStats(d.lib, d.ports, names)
}

// queues returns the number of queues of the port with most, or the reason why there are
// none.
func (d *Driver) queues() (n uint8, none string) {
	ports, err := d.lib.GetObjects(saiattr.Switch, d.lib.Switch, saiattr.SwitchPorts)
	for _, port := range ports {
		var ids []sai.ObjectID
		if ids, err = d.lib.GetObjects(saiattr.Port, port, saiattr.PortQueues); err != nil {
			break
		}
		n = max(n, uint8(min(len(ids), math.MaxUint8)))
	}
	switch {
	case n > 0:
		return n, ""
	case err != nil:
		return 0, "the SAI library tells of no queues: " + err.Error()
	}
	return 0, "the SAI library's ports have none; the software switch has some where the SAI profile says SLUICE_QUEUES=8"
}

// Missing returns the reason for which a row of PORT lacks a port of the switch, or "".
// Lanes and netdev are named in it, for the operator.
func (d *Driver) Missing(name string) string { return d.missing[name] }
