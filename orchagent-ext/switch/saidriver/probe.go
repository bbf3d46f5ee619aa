// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"math"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// MinSampling is the least sampling interval (one of so many packets) for the CPU of an
// ASIC, as for SONiC's sFlow.
const MinSampling = 256

// prober asks the library for its abilities. It has no state of its own.
type prober struct {
	lib       *sai.Library
	ports     *Ports
	connected bool // other processes create objects on the switch, too
	kernel    bool // the switch is the Linux kernel
}

// probe returns the abilities and the features of the switch.
func (p prober) probe() (engine.Abilities, engine.Features) {
	a := engine.Abilities{}
	note := func(n engine.Need, m engine.Method, what string, can, known bool) {
		switch {
		case !known:
			a.Set(n, m, engine.Ability{Can: true, Reason: "the SAI library does not say whether it has " + what})
		case can:
			a.Set(n, m, engine.Ability{Can: true, Reason: "the SAI library has " + what})
		default:
			a.Set(n, m, engine.Ability{Reason: "the SAI library has no " + what})
		}
	}
	// else nothing of it is called, whatever the library says
	if p.lib.Extension() >= sai.ExtensionLabels {
		can, known := p.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryCompute)
		note(engine.NeedFlowLabel, engine.Compute, "ACL action COMPUTE_IPV6_FLOW_LABEL", can, known)
		can, known = p.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntrySetLabel)
		note(engine.NeedFlowLabel, engine.Rewrite, "ACL action SET_IPV6_FLOW_LABEL", can, known)
		note(engine.NeedPlacement, engine.Entries, "ACL action SET_IPV6_FLOW_LABEL", can, known)
		note(engine.NeedPlacement, engine.Rewrite, "ACL action SET_IPV6_FLOW_LABEL", can, known)
	} else {
		a.Set(engine.NeedFlowLabel, engine.Compute, engine.Ability{Reason: noExtension})
		a.Set(engine.NeedFlowLabel, engine.Rewrite, engine.Ability{Reason: noExtension})
		a.Set(engine.NeedPlacement, engine.Entries, engine.Ability{Reason: noExtension})
		a.Set(engine.NeedPlacement, engine.Rewrite, engine.Ability{Reason: noExtension})
	}
	can, known := p.lib.Takes(saiattr.Hash, saiattr.HashFields, engine.HashDestQP)
	note(engine.NeedFlowLabel, engine.Hash, "native hash field RDMA_BTH_DEST_QP", can, known)
	can, known = p.lib.CanCreate(saiattr.Hash, saiattr.HashUDFGroups)
	note(engine.NeedFlowLabel, engine.UDFHash, "hash over UDF groups", can, known)
	can, known = p.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntrySample)
	note(engine.NeedExport, engine.Sample, "ACL action INGRESS_SAMPLEPACKET_ENABLE", can, known)
	a.Set(engine.NeedPlacement, engine.Redirect, p.redirects())
	if err := p.watchPackets(); err != nil {
		refused := engine.Ability{Reason: fmt.Sprintf("no packet comes to the CPU: %v", err)}
		for n, m := range needPackets {
			for _, m := range m {
				if a[n][m].Can {
					a.Set(n, m, refused)
				}
			}
		}
	}
	a.Set(engine.NeedThreshold, engine.Exact, p.singleFlows())
	a.Set(engine.NeedThreshold, engine.Sampled, p.depths())
	a.Set(engine.NeedHold, engine.Exact, p.holds())
	a.Set(engine.NeedHold, engine.Source, engine.Ability{Can: true, Reason: "hosts are slowed by messages, whatever the switch"})
	f := engine.Features{
		Kernel:       p.kernel,
		HashIPv6:     hashUse(p.lib, saiattr.ECMPHashIPv6),
		HashRDMAIPv6: hashUse(p.lib, saiattr.ECMPHashIPv6RDMA, saiattr.ECMPHashIPv6),
		HashRDMAIPv4: hashUse(p.lib, saiattr.ECMPHashIPv4RDMA, saiattr.ECMPHashIPv4),
	}
	if !p.kernel { // whose CPU an ASIC's packets do not drown
		f.MinSampling = MinSampling
	}
	can, known = p.lib.CanCreate(saiattr.TrapRoute, saiattr.TrapRouteTrap)
	f.TrapRoute = can || !known
	f.PoliceCPU, _ = p.lib.CanCreate(saiattr.TrapGroup, saiattr.TrapGroupPolicer)
	f.InnerPort, _ = p.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryInnerPort)
	police, _ := p.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryPolicer)
	f.First = p.kernel && police
	f.Opcode, _ = p.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryOpcode)
	can, known = p.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryNextHeader)
	f.Protocol = can || !known
	f.Queues, f.NoQueues = p.queues()
	if f.HashRDMAIPv6 == "" {
		f.HashList = true
		a.Set(engine.NeedFlowLabel, engine.UDFHash, engine.Ability{Reason: "the SAI library does not allow setting the ECMP hash of IPv6"})
	}
	return a, f
}

// needPackets are the methods that depend on packets to the CPU.
var needPackets = map[engine.Need][]engine.Method{
	engine.NeedFlowLabel: {engine.Rewrite},
	engine.NeedExport:    {engine.Sample},
	engine.NeedPlacement: {engine.Entries, engine.Rewrite, engine.Redirect},
}

// watchPackets returns the error with which the library refused the callback for packets
// to the CPU, or nil. It tries again after a failure that may pass.
func (p prober) watchPackets() (err error) {
	for range engine.Attempts {
		if err = p.lib.WatchesPackets(); err == nil || errors.Is(err, sai.ErrNotSupported) {
			break
		}
	}
	return err
}

// redirects reports whether entries can send flows to next hops of Sluice's own. Where SONiC
// creates the objects of routes, a port has its router interface already: those are another
// owner's, and the driver orchagent is the way there.
func (p prober) redirects() engine.Ability {
	if p.connected {
		return engine.Ability{Reason: "the next hops of this switch are of SONiC, and by the driver sai Sluice uses its own only"}
	}
	for _, is := range []struct {
		kind saiattr.Kind
		attr *saiattr.Attr
		name string
	}{
		{saiattr.ACLEntry, saiattr.ACLEntryRedirect, "ACL action REDIRECT"},
		{saiattr.ACLEntry, saiattr.ACLEntrySourcePort, "ACL match on the UDP source port"},
		{saiattr.NextHop, saiattr.NextHopAddress, "next hops"},
	} {
		if can, known := p.lib.CanCreate(is.kind, is.attr); !known || !can {
			return engine.Ability{Reason: "the SAI library has no " + is.name}
		}
	}
	return engine.Ability{Can: true, Reason: "the SAI library has ACL action REDIRECT"}
}

// noExtension is the reason against methods of the extension.
const noExtension = "the SAI library does not have the extension of sai_sluice_ext.h: it does not answer SAI_SWITCH_ATTR_SLUICE_EXTENSION"

// singleFlows reports whether the library watches and holds single flows.
func (p prober) singleFlows() engine.Ability {
	switch v := p.lib.Extension(); {
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
func (p prober) holds() engine.Ability {
	a := p.singleFlows()
	if !a.Can {
		return a
	}
	ports, err := p.lib.GetObjects(saiattr.Switch, p.lib.Switch, saiattr.SwitchPorts)
	if err != nil || len(ports) == 0 {
		return a // a hold will show it
	}
	if _, err = p.lib.GetHold(ports[0], sai.HoldMatch{Kind: sai.HoldStream}); errors.Is(err, sai.ErrNotSupported) {
		return engine.Ability{Reason: fmt.Sprintf("%v; the software switch logs its reason, such as /dev/net/tun that cannot be opened", err)}
	}
	return a
}

// queues returns the number of queues of the port with most, or the reason why there are
// none.
func (p prober) queues() (n uint8, none string) {
	ports, err := p.lib.GetObjects(saiattr.Switch, p.lib.Switch, saiattr.SwitchPorts)
	for _, port := range ports {
		var ids []sai.ObjectID
		if ids, err = p.lib.GetObjects(saiattr.Port, port, saiattr.PortQueues); err != nil {
			break
		}
		n = max(n, uint8(min(len(ids), math.MaxUint8)))
	}
	switch {
	case n > 0:
		return n, ""
	case err != nil:
		return 0, "the SAI library lists no queues: " + err.Error()
	}
	return 0, "the SAI library's ports have none; the software switch has some where the SAI profile says SLUICE_QUEUES=8"
}

// depths reports whether the library reads how full a queue is, and which flows go there is known.
func (p prober) depths() engine.Ability {
	const what = "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES"
	ports, err := p.lib.GetObjects(saiattr.Switch, p.lib.Switch, saiattr.SwitchPorts)
	if err != nil || len(ports) == 0 {
		return engine.Ability{Reason: "the SAI library lists no port whose queues could be read"}
	}
	queues, err := p.lib.GetObjects(saiattr.Port, ports[0], saiattr.PortQueues)
	if err != nil || len(queues) == 0 {
		return engine.Ability{Reason: "the SAI library lists no queue of a port"}
	}
	stats, err := p.lib.QueueStats(queues[0])
	if _, has := stats[sai.QueueOccupancy]; !has || err != nil {
		return engine.Ability{Reason: "the SAI library does not read " + what}
	}
	if _, err := p.ports.readClasses(ports[0], qosMaps{}); err != nil && !p.kernel {
		return engine.Ability{Reason: fmt.Sprintf("which queue a packet waits in is not known: %v", err)}
	}
	return engine.Ability{Can: true, Reason: "the SAI library reads " + what}
}
