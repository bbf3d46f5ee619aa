// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// classSelector is how many DSCP share a queue of the software switch, which takes the three bits
// of the class selector (RFC 2474 section 4.2.2).
const classSelector = 8

// classesKept is how long maps of ports are kept: a change of maps is rare, and each reading is a call
// of the library for each port.
const classesKept = time.Minute

// classCache has the maps of ports as they were read last.
type classCache struct {
	at    time.Time
	ports map[string]*engine.Classes
}

// qosMaps are maps that were read, by their objects: ports share them.
type qosMaps map[sai.ObjectID][]sai.QoSPair

// Classes returns the maps by which packets of ports wait in queues, as of a minute ago at most.
// Ports that the switch lacks are left out.
func (p *Ports) Classes(names []string) (map[string]*engine.Classes, error) {
	if time.Since(p.classes.at) > classesKept {
		p.classes = classCache{time.Now(), map[string]*engine.Classes{}}
	}
	all, known := make(map[string]*engine.Classes, len(names)), qosMaps{}
	for _, name := range names {
		id := p.byName[name]
		if id == sai.Null {
			continue
		}
		if p.classes.ports[name] == nil {
			c, err := p.readClasses(id, known)
			if err != nil {
				return all, fmt.Errorf("port %s: %w", name, err)
			}
			p.classes.ports[name] = c
		}
		all[name] = p.classes.ports[name]
	}
	return all, nil
}

// readClasses reads the maps of a port. Without a map of its own it has the switch's; without that all
// packets have class 0, and a class goes to the queue of its number.
func (p *Ports) readClasses(port sai.ObjectID, known qosMaps) (*engine.Classes, error) {
	c := &engine.Classes{}
	for class := range c.Queue {
		c.Queue[class] = uint8(class)
	}
	if p.kernel {
		for dscp := range c.Class {
			c.Class[dscp] = uint8(dscp / classSelector)
		}
		return c, nil
	}
	for _, m := range []struct {
		own, all *saiattr.Attr
		queue    bool
		to       []uint8
	}{
		{saiattr.PortDSCPToClass, saiattr.SwitchDSCPToClass, false, c.Class[:]},
		{saiattr.PortClassToQueue, saiattr.SwitchClassToQueue, true, c.Queue[:]},
	} {
		id, err := p.lib.GetObject(saiattr.Port, port, m.own)
		if err == nil && id == sai.Null {
			id, _ = p.lib.GetObject(saiattr.Switch, p.lib.Switch, m.all) // not every switch has one
		}
		if err != nil {
			return nil, refusal(err)
		}
		if id == sai.Null {
			continue
		}
		if _, read := known[id]; !read {
			if known[id], err = p.lib.QoSMap(id, m.queue); err != nil {
				return nil, refusal(err)
			}
		}
		for _, pair := range known[id] {
			if int(pair.From) < len(m.to) {
				m.to[pair.From] = pair.To
			}
		}
	}
	return c, nil
}
