// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Flows returns the library, by which single flows are watched and held where
// [Driver.Probe] reports the ability. Its settings are apart from the engine's objects:
// the caller that makes them takes them back.
func (d *Driver) Flows() *sai.Library { return d.lib }

// noExtension is the reason against methods of the extension.
const noExtension = "the SAI library does not have the extension of sai_sluice_ext.h: it does not answer SAI_SWITCH_ATTR_SLUICE_EXTENSION"

// singleFlows reports whether the library watches and holds single flows.
func (d *Driver) singleFlows() engine.Ability {
	switch v := d.lib.Extension(); {
	case v >= sai.ExtensionFlows:
		return engine.Ability{Can: true, Reason: "the SAI library has the extension for single flows"}
	case v == 0:
		return engine.Ability{Reason: noExtension}
	default:
		return engine.Ability{Reason: fmt.Sprintf("the SAI library has version %d of the extension of sai_sluice_ext.h: single flows came with %d (libsoftsai: SLUICE_QUEUES=8)", v, sai.ExtensionFlows)}
	}
}

// holds returns whether the library holds single flows: one with the extension may lack what
// holds need, as the software switch without /dev/net/tun does.
func (d *Driver) holds() engine.Ability {
	a := d.singleFlows()
	if !a.Can {
		return a
	}
	ports, err := d.lib.GetObjects(saiattr.Switch, d.lib.Switch, saiattr.SwitchPorts)
	if err != nil || len(ports) == 0 {
		return a // a hold will show it
	}
	if _, err = d.lib.GetHold(ports[0], sai.HoldMatch{Kind: sai.HoldStream}); errors.Is(err, sai.ErrNotSupported) {
		return engine.Ability{Reason: fmt.Sprintf("%v; the software switch logs its reason, such as /dev/net/tun that cannot be opened", err)}
	}
	return a
}

// PortID is the library's object of a port; Null: it has none. name is SONiC's.
func (d *Driver) PortID(name string) sai.ObjectID { return d.ports[name] }

// QueueIDs are the library's egress queues of a port, by number. They are read once for
// each port and kept; the slice is the driver's. The error wraps [engine.NoPort] for a
// port that the switch lacks.
func (d *Driver) QueueIDs(name string) ([]sai.ObjectID, error) {
	port, err := d.port(name)
	if err != nil {
		return nil, err
	}
	if ids, known := d.queuesOf[port]; known {
		return ids, nil
	}
	ids, err := d.lib.GetObjects(saiattr.Port, port, saiattr.PortQueues)
	if err == nil {
		d.queuesOf[port] = ids
	}
	return ids, refusal(err)
}

// depths reports whether the library reads how full a queue is, and which flows go there is known.
func (d *Driver) depths() engine.Ability {
	const what = "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES"
	ports, err := d.lib.GetObjects(saiattr.Switch, d.lib.Switch, saiattr.SwitchPorts)
	if err != nil || len(ports) == 0 {
		return engine.Ability{Reason: "the SAI library lists no port whose queues could be read"}
	}
	queues, err := d.lib.GetObjects(saiattr.Port, ports[0], saiattr.PortQueues)
	if err != nil || len(queues) == 0 {
		return engine.Ability{Reason: "the SAI library lists no queue of a port"}
	}
	stats, err := d.lib.QueueStats(queues[0])
	if _, has := stats[sai.QueueOccupancy]; !has || err != nil {
		return engine.Ability{Reason: "the SAI library does not read " + what}
	}
	if _, err := d.readClasses(ports[0], qosMaps{}); err != nil && !d.kernel {
		return engine.Ability{Reason: fmt.Sprintf("which queue a packet waits in is not known: %v", err)}
	}
	return engine.Ability{Can: true, Reason: "the SAI library reads " + what}
}
