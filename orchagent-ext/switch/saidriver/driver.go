// SPDX-License-Identifier: Apache-2.0

package saidriver

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"sluice/orchagent-ext/switch/engine"
	sai "sluice/sai-shim"
	"sluice/sai-shim/saiattr"
)

// Driver is the driver that calls a SAI library. It is for one goroutine, but for the
// methods that name others: these read atomic values.
type Driver struct {
	lib   *sai.Library
	ports map[string]sai.ObjectID // by SONiC name
	// rows of PORT that are no port of the switch, and why
	missing map[string]string
	names   atomic.Pointer[map[sai.ObjectID]string] // of ports
	ifIndex atomic.Pointer[map[sai.ObjectID]uint32]
	// egress queues of ports, as far as they were asked for
	queuesOf  map[sai.ObjectID][]sai.ObjectID
	classes   classCache
	connected bool
	kernel    bool
	created   []sai.Created // by earlier processes
	creating  string        // by the one before, when it ended
	last      func(object string) sai.ObjectID
	policer   sai.ObjectID  // of packets to the CPU; Null: none
	cpuPort   sai.ObjectID  // Null: not asked yet
	cpuSilent bool          // the library tells nothing of it
	copied    atomic.Uint64 // the trap of what entries copy to the CPU; Null: none

	left    []string                  // objects whose owner is not certain
	lists   *bool                     // whether the library lists objects; nil: not asked yet
	adopted map[string]*engine.Record // but for those of flows
	// entries and counters that were adopted, where the library lists none
	flows  map[engine.ID]bool
	fields map[string]string          // of hashes, by what Sluice added to them
	joined map[engine.ID]sai.ObjectID // members of other owners' groups, by the ids of bindings
	// Sluice's tables, groups and hashes: what is bound else is another owner's
	own map[sai.ObjectID]bool
}

// Options are how a switch is used.
type Options struct {
	// Connected: other processes create objects on the switch, too. The driver then leaves
	// out the search for objects outside Sluice's tables: they could be theirs.
	Connected bool

	// Kernel: the switch is the Linux kernel, as [engine.Features] has it.
	Kernel bool

	// Created are the objects that earlier processes created last, as far as is known.
	Created []sai.Created

	// Creating is the type, as [sai.Call] has it, of the object that the process before was
	// creating when it ended: the call was under way. "" if it is unknown.
	Creating string

	// Last returns the object of a type that a process of Sluice created last, removed or
	// there; Null for an unknown one. A nil Last knows none.
	Last func(object string) sai.ObjectID
}

// New returns a driver for an open library whose switch was created. The driver closes
// the library by [Driver.Close]. [Driver.SetPorts] comes before the first policy.
func New(lib *sai.Library, o Options) *Driver {
	return &Driver{lib: lib, connected: o.Connected, kernel: o.Kernel, created: o.Created, creating: o.Creating, last: o.Last, own: map[sai.ObjectID]bool{}, adopted: map[string]*engine.Record{}, flows: map[engine.ID]bool{}, fields: map[string]string{}, queuesOf: map[sai.ObjectID][]sai.ObjectID{}, joined: map[engine.ID]sai.ObjectID{}}
}

// Copies reports whether packets to the CPU with a trap are copies, of every packet that
// an entry matches, instead of samples. It may be called from any goroutine.
func (d *Driver) Copies(trap sai.ObjectID) bool {
	return trap != sai.Null && uint64(trap) == d.copied.Load()
}

// refusal marks errors by the use of another attempt.
func refusal(err error) error {
	answer := (*sai.Error)(nil)
	switch {
	case err == nil, errors.Is(err, engine.ErrRefused), !errors.As(err, &answer): // it is marked, or no answer
		return err
	case errors.Is(err, sai.ErrNotSupported), errors.Is(err, sai.ErrNoRoom):
		return fmt.Errorf("%w: %w", engine.ErrRefused, err)
	case errors.Is(err, sai.ErrNotFound):
		return fmt.Errorf("%w: %w", engine.ErrGone, err)
	}
	return fmt.Errorf("%w: %w", engine.ErrFailing, err)
}

// uncreated marks errors of calls that create or set: a missing object is then one that
// the call refers to.
func uncreated(err error) error {
	if err = refusal(err); errors.Is(err, engine.ErrGone) {
		return fmt.Errorf("%w: %w", engine.ErrFailing, err)
	}
	return err
}

// Policed is how many packets to the CPU the policer of the policy dropped; 0 without a
// policer.
func (d *Driver) Policed() uint64 {
	if d.policer == sai.Null {
		return 0
	}
	n, _ := d.lib.PolicerRed(d.policer) // 0: it has gone, or the library does not count
	return n
}

// CPUDiscards is how many packets to the CPU the switch dropped before its CPU port; nil
// for a library without that counter.
func (d *Driver) CPUDiscards() *uint64 {
	if d.cpuSilent {
		return nil
	}
	if d.cpuPort == sai.Null {
		port, err := d.lib.GetObject(saiattr.Switch, d.lib.Switch, saiattr.SwitchCPUPort)
		if err != nil || port == sai.Null {
			d.cpuSilent = errors.Is(err, sai.ErrNotSupported) || err == nil
			return nil
		}
		d.cpuPort = port
	}
	n, err := d.lib.PortDiscards(d.cpuPort)
	if err != nil {
		d.cpuSilent = errors.Is(err, sai.ErrNotSupported)
		return nil
	}
	return &n
}

// MinSampling is the least sampling interval (one of so many packets) for the CPU of an
// ASIC, as for SONiC's sFlow.
const MinSampling = 256

// Probe implements [engine.Driver]. Abilities that the library leaves open are tried.
func (d *Driver) Probe() (engine.Abilities, engine.Features, error) {
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
	if d.lib.Extension() >= sai.ExtensionLabels {
		can, known := d.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryCompute)
		note(engine.NeedFlowLabel, engine.Compute, "ACL action COMPUTE_IPV6_FLOW_LABEL", can, known)
		can, known = d.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntrySetLabel)
		note(engine.NeedFlowLabel, engine.Rewrite, "ACL action SET_IPV6_FLOW_LABEL", can, known)
		note(engine.NeedPlacement, engine.Entries, "ACL action SET_IPV6_FLOW_LABEL", can, known)
		note(engine.NeedPlacement, engine.Rewrite, "ACL action SET_IPV6_FLOW_LABEL", can, known)
	} else {
		a.Set(engine.NeedFlowLabel, engine.Compute, engine.Ability{Reason: noExtension})
		a.Set(engine.NeedFlowLabel, engine.Rewrite, engine.Ability{Reason: noExtension})
		a.Set(engine.NeedPlacement, engine.Entries, engine.Ability{Reason: noExtension})
		a.Set(engine.NeedPlacement, engine.Rewrite, engine.Ability{Reason: noExtension})
	}
	can, known := d.lib.Takes(saiattr.Hash, saiattr.HashFields, engine.HashDestQP)
	note(engine.NeedFlowLabel, engine.Hash, "native hash field RDMA_BTH_DEST_QP", can, known)
	can, known = d.lib.CanCreate(saiattr.Hash, saiattr.HashUDFGroups)
	note(engine.NeedFlowLabel, engine.UDFHash, "hash over UDF groups", can, known)
	can, known = d.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntrySample)
	note(engine.NeedExport, engine.Sample, "ACL action INGRESS_SAMPLEPACKET_ENABLE", can, known)
	a.Set(engine.NeedPlacement, engine.Redirect, d.redirects())
	if err := d.watchPackets(); err != nil {
		refused := engine.Ability{Reason: fmt.Sprintf("no packet comes to the CPU: %v", err)}
		for n, m := range needPackets {
			for _, m := range m {
				if a[n][m].Can {
					a.Set(n, m, refused)
				}
			}
		}
	}
	a.Set(engine.NeedThreshold, engine.Exact, d.singleFlows())
	a.Set(engine.NeedThreshold, engine.Sampled, d.depths())
	a.Set(engine.NeedHold, engine.Exact, d.holds())
	a.Set(engine.NeedHold, engine.Source, engine.Ability{Can: true, Reason: "hosts are slowed by messages, whatever the switch"})
	f := engine.Features{
		Kernel:       d.kernel,
		HashIPv6:     d.hashUse(saiattr.ECMPHashIPv6),
		HashRDMAIPv6: d.hashUse(saiattr.ECMPHashIPv6RDMA, saiattr.ECMPHashIPv6),
		HashRDMAIPv4: d.hashUse(saiattr.ECMPHashIPv4RDMA, saiattr.ECMPHashIPv4),
	}
	if !d.kernel { // whose CPU an ASIC's packets do not drown
		f.MinSampling = MinSampling
	}
	can, known = d.lib.CanCreate(saiattr.TrapRoute, saiattr.TrapRouteTrap)
	f.TrapRoute = can || !known
	f.PoliceCPU, _ = d.lib.CanCreate(saiattr.TrapGroup, saiattr.TrapGroupPolicer)
	f.InnerPort, _ = d.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryInnerPort)
	police, _ := d.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryPolicer)
	f.First = d.kernel && police
	f.Opcode, _ = d.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryOpcode)
	can, known = d.lib.CanCreate(saiattr.ACLEntry, saiattr.ACLEntryNextHeader)
	f.Protocol = can || !known
	f.Queues, f.NoQueues = d.queues()
	if f.HashRDMAIPv6 == "" {
		f.HashList = true
		a.Set(engine.NeedFlowLabel, engine.UDFHash, engine.Ability{Reason: "the SAI library does not allow setting the ECMP hash of IPv6"})
	}
	return a, f, nil
}

// needPackets are the methods that depend on packets to the CPU.
var needPackets = map[engine.Need][]engine.Method{
	engine.NeedFlowLabel: {engine.Rewrite},
	engine.NeedExport:    {engine.Sample},
	engine.NeedPlacement: {engine.Entries, engine.Rewrite, engine.Redirect},
}

// watchPackets returns the error with which the library refused the callback for packets
// to the CPU, or nil. It tries again after a failure that may pass.
func (d *Driver) watchPackets() (err error) {
	for range engine.Attempts {
		if err = d.lib.WatchesPackets(); err == nil || errors.Is(err, sai.ErrNotSupported) {
			break
		}
	}
	return err
}

// kinds are the library's types of objects that have ids.
var kinds = map[engine.Type]saiattr.Kind{
	engine.TypeTrapRoute: saiattr.TrapRoute, engine.TypeACLGroup: saiattr.ACLGroup, engine.TypeACLMember: saiattr.ACLMember, engine.TypeACLTable: saiattr.ACLTable, engine.TypeACLCounter: saiattr.ACLCounter, engine.TypeACLEntry: saiattr.ACLEntry,
	engine.TypeSample: saiattr.Sample, engine.TypeUserTrap: saiattr.UserTrap, engine.TypeUDFMatch: saiattr.UDFMatch, engine.TypeUDFGroup: saiattr.UDFGroup,
	engine.TypeUDF: saiattr.UDF, engine.TypeHash: saiattr.Hash, engine.TypePolicer: saiattr.Policer, engine.TypeTrapGroup: saiattr.TrapGroup, engine.TypeInterface: saiattr.Interface, engine.TypeNextHop: saiattr.NextHop,
	engine.TypeHopGroup: saiattr.HopGroup, engine.TypeHopMember: saiattr.HopMember,
}

// Objects implements [engine.Driver]: those of [engine.Objects], hashes with the fields
// that they got before.
func (d *Driver) Objects(p engine.Policy, c engine.Choices, f engine.Features) []engine.Object {
	return d.withFields(engine.Objects(p, c, f))
}

// Create implements [engine.Driver]. A refusal of the library wraps [engine.ErrRefused];
// any other answer is [engine.ErrFailing], since the engine tries again before it
// believes it.
func (d *Driver) Create(o *engine.Object, existing map[string]*engine.Record) (*engine.Record, error) {
	r, at := &engine.Record{Object: *o}, refs{existing}
	r.Values = nil
	switch o.Type {
	case engine.TypeBinding:
		return r, uncreated(d.bind(o, at, r))
	case engine.TypeSwitchHash:
		return r, uncreated(d.setHash(o, at, r))
	case engine.TypeHash:
		r.Attrs = slices.Clone(r.Attrs)
		return r, uncreated(d.createHash(o, at, r))
	case engine.TypeHashList:
		return r, uncreated(d.extendList(o, r))
	case engine.TypeInterface:
		return r, d.createInterface(o, r)
	case engine.TypeSwitchSeed:
		r.ID = idSeed
		return r, uncreated(d.lib.Set(saiattr.Switch, d.lib.Switch, o.Values[0]))
	}
	kind, known := kinds[o.Type]
	if !known {
		return nil, fmt.Errorf("create %s: no such object type", o.Type)
	}
	values := make([]saiattr.Value, len(o.Values))
	for i := range values {
		values[i] = o.Values[i].Resolve(at.number)
	}
	id, err := d.lib.Create(kind, values...)
	if err != nil {
		return nil, uncreated(err)
	}
	r.ID = engine.ID(id.String())
	d.know(r, id)
	return r, nil
}

// know notes an object that is on the switch.
func (d *Driver) know(r *engine.Record, id sai.ObjectID) {
	switch {
	case r.Type == engine.TypeACLTable || r.Type == engine.TypeACLGroup:
		d.own[id] = true
	case r.Type == engine.TypeHash:
		d.own[id] = true
		d.rememberFields(r)
	case r.Key == engine.KeyTrap:
		d.copied.Store(uint64(id))
	case r.Key == engine.KeyPolicer:
		d.policer = id
	}
}

// Set implements [engine.Setter]. The errors are those of Create.
func (d *Driver) Set(r *engine.Record, o *engine.Object, attr string, existing map[string]*engine.Record) error {
	at := refs{existing}
	if o.Type == engine.TypeBinding {
		return uncreated(d.rebind(o, r, at))
	}
	v, known := o.Typed(attr)
	if !known {
		return fmt.Errorf("%w: %s of %s does not change in place", engine.ErrRefused, attr, o.Type)
	}
	if o.Type == engine.TypeSwitchSeed {
		return uncreated(d.lib.Set(saiattr.Switch, d.lib.Switch, v))
	}
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return err
	}
	return uncreated(d.lib.Set(kinds[o.Type], id, v.Resolve(at.number)))
}

// refs finds the ids of an object's references.
type refs struct{ existing map[string]*engine.Record }

// id returns the id of an object by its key; Null for an unknown one.
func (r refs) id(key string) sai.ObjectID {
	if key == "" || r.existing[key] == nil {
		return sai.Null
	}
	id, _ := sai.ParseObjectID(string(r.existing[key].ID))
	return id
}

// number returns that id as a number.
func (r refs) number(key string) uint64 { return uint64(r.id(key)) }

const (
	// Ids of settings of the switch, which have no object of their own.
	prefixUse = "switch:"
	idSeed    = engine.ID("seed:ecmp")
)

// another reports whether another owner has put an object of its own where Sluice's was.
// An unreadable value counts as Sluice's.
func (d *Driver) another(now sai.ObjectID, err error) bool {
	return err == nil && now != sai.Null && !d.own[now]
}

// Remove implements [engine.Driver]. A binding or a hash that another owner has changed meanwhile
// stays.
func (d *Driver) Remove(r *engine.Record) error {
	if r.Type == engine.TypeBinding {
		return d.unbind(r)
	}
	if name, ok := strings.CutPrefix(string(r.ID), prefixUse); ok {
		return d.resetHash(r, name)
	}
	if r.Type == engine.TypeHashList {
		return d.resetList(r)
	}
	if r.ID == idSeed { // 0: the one before
		return refusal(d.lib.Set(saiattr.Switch, d.lib.Switch, saiattr.SwitchHashSeed.Of(0)))
	}
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return err
	}
	kind, known := kinds[r.Type]
	if !known {
		return fmt.Errorf("remove %s: no such object type", r.Type)
	}
	return refusal(d.lib.Remove(kind, id))
}

// HashSeed reads the seed of ECMP's hash, as it is now. It is
// SAI_SWITCH_ATTR_ECMP_DEFAULT_HASH_SEED; the software switch has it of the kernel.
func (d *Driver) HashSeed() (uint32, error) {
	seed, err := d.lib.Get(saiattr.Switch, d.lib.Switch, saiattr.SwitchHashSeed)
	return uint32(seed), refusal(err)
}

// Count reads an ACL counter. The error is [engine.ErrGone] for a counter that was
// removed, [engine.ErrRefused] where the library does not count.
func (d *Driver) Count(counter *engine.Record) (packets, octets uint64, err error) {
	id, err := sai.ParseObjectID(string(counter.ID))
	if err != nil {
		return 0, 0, err
	}
	if packets, err = d.lib.Get(saiattr.ACLCounter, id, saiattr.ACLCounterPackets); err != nil {
		return 0, 0, refusal(err)
	}
	octets, err = d.lib.Get(saiattr.ACLCounter, id, saiattr.ACLCounterOctets)
	return packets, octets, refusal(err)
}

// LeaveWarm has the library prepare a warm restart: it is closed next. It sets
// SAI_SWITCH_ATTR_RESTART_WARM (saiswitch.h); a library that lacks it answers
// [sai.ErrNotSupported].
func (d *Driver) LeaveWarm() error {
	return d.lib.Set(saiattr.Switch, d.lib.Switch, saiattr.SwitchRestartWarm.Is(true))
}

// Close closes the library. The objects stay on the switch, as far as the library
// keeps them.
func (d *Driver) Close() error { return d.lib.Close() }
