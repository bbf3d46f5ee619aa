// SPDX-License-Identifier: Apache-2.0

package asic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"sync/atomic"

	"sluice/orchagent-ext/flow"
	"sluice/orchagent-ext/roce"
	sai "sluice/sai-shim"
)

// SAI is the driver that calls a SAI library.
type SAI struct {
	lib       *sai.Library
	ports     map[string]sai.ObjectID // by SONiC name
	names     map[sai.ObjectID]string // of ports
	ifIndex   atomic.Pointer[map[sai.ObjectID]uint32]
	connected bool
	policer   sai.ObjectID  // of packets to the CPU; Null: none
	copied    atomic.Uint64 // the trap of what entries copy to the CPU; Null: none
}

// Port is a port as CONFIG_DB's PORT has it.
type Port struct {
	Name  string
	Lanes []uint32 // of the ASIC; none: the library's port of the netdev of that name

	Channel string // the PortChannel that it is a member of; "": of none
}

// SAIOptions are how a switch is used.
type SAIOptions struct {
	// Connected: other processes create objects on the switch, too. An object outside
	// Sluice's tables is then not searched for: it could be theirs.
	Connected bool
}

// NewSAI returns a driver for an open library whose switch was created.
func NewSAI(lib *sai.Library, o SAIOptions) *SAI { return &SAI{lib: lib, connected: o.Connected} }

// SetPorts learns which port of the library is which, by their lanes.
func (d *SAI) SetPorts(ports []Port) error {
	ids, err := d.lib.Ports()
	if err != nil {
		return fmt.Errorf("read the switch's ports: %w", refusal(err))
	}
	byLane := map[uint32]sai.ObjectID{}
	for _, id := range ids {
		lanes, err := d.lib.Lanes(id)
		if err != nil {
			return fmt.Errorf("read the lanes of port %s: %w", id, refusal(err))
		}
		for _, lane := range lanes {
			byLane[lane] = id
		}
	}
	d.ports, d.names = map[string]sai.ObjectID{}, map[sai.ObjectID]string{}
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
				d.ports[p.Name], d.names[id] = id, p.Name
				indexes[id] = index
			}
		}
	}
	d.ifIndex.Store(&indexes)
	return nil
}

// IfIndex returns the interface index of a port's netdev, 0 where there is none.
// It may be called from any goroutine.
func (d *SAI) IfIndex(port sai.ObjectID) uint32 {
	if m := d.ifIndex.Load(); m != nil {
		return (*m)[port]
	}
	return 0
}

// PortName returns the name of a port by its object id, "" for one that is none of
// SetPorts.
func (d *SAI) PortName(id uint64) string { return d.names[sai.ObjectID(id)] }

// Copies says whether packets to the CPU with a trap are copies, of every packet
// that an entry matches, not samples. It may be called from any goroutine.
func (d *SAI) Copies(trap sai.ObjectID) bool {
	return trap != sai.Null && uint64(trap) == d.copied.Load()
}

func (d *SAI) port(name string) (sai.ObjectID, error) {
	id, ok := d.ports[name]
	if !ok {
		return sai.Null, fmt.Errorf("%w: the switch has no port with the lanes of %s", ErrRefused, name)
	}
	return id, nil
}

// refusal marks errors that will stay.
func refusal(err error) error {
	switch {
	case errors.Is(err, sai.ErrNotSupported), errors.Is(err, sai.ErrNoRoom):
		return fmt.Errorf("%w: %w", ErrRefused, err)
	case errors.Is(err, sai.ErrNotFound):
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// unpoliced marks a refusal of what polices.
func unpoliced(err error) error {
	if errors.Is(refusal(err), ErrRefused) {
		return fmt.Errorf("%w: %w", ErrUnpoliced, err)
	}
	return err
}

// Policed is how many packets to the CPU the policer of the policy dropped.
func (d *SAI) Policed() uint64 {
	if d.policer == sai.Null {
		return 0
	}
	s, err := d.lib.PolicerStats(d.policer)
	if err != nil {
		return 0 // it has gone, or the library does not count
	}
	return s.RedPackets
}

// Probe implements [Driver]. What the library does not report is tried.
func (d *SAI) Probe() (Abilities, Features, error) {
	a := Abilities{}
	note := func(n Need, m Method, what string, can, known bool) {
		switch {
		case !known:
			a.Set(n, m, Ability{Can: true, Reason: "the SAI library does not say whether it has " + what})
		case can:
			a.Set(n, m, Ability{Can: true, Reason: "the SAI library has " + what})
		default:
			a.Set(n, m, Ability{Reason: "the SAI library has no " + what})
		}
	}
	can, known := d.lib.CanComputeLabel()
	note(NeedFlowLabel, Compute, "ACL action COMPUTE_IPV6_FLOW_LABEL", can, known)
	can, known = d.lib.CanSetLabel()
	note(NeedFlowLabel, Rewrite, "ACL action SET_IPV6_FLOW_LABEL", can, known)
	can, known = d.lib.CanHash(sai.HashBTHDestQP)
	note(NeedFlowLabel, Hash, "native hash field RDMA_BTH_DEST_QP", can, known)
	can, known = d.lib.CanHashUDF()
	note(NeedFlowLabel, UDFHash, "hash over UDF groups", can, known)
	can, known = d.lib.CanSample()
	note(NeedExport, Sample, "ACL action INGRESS_SAMPLEPACKET_ENABLE", can, known)
	a.Set(NeedThreshold, Exact, d.singleFlows())
	a.Set(NeedHold, Exact, d.singleFlows())
	f := Features{
		HashIPv6:     d.hashUse(sai.ECMPHashIPv6),
		HashRDMAIPv6: d.hashUse(sai.ECMPHashIPv6RDMA, sai.ECMPHashIPv6),
		HashRDMAIPv4: d.hashUse(sai.ECMPHashIPv4RDMA, sai.ECMPHashIPv4),
	}
	f.PoliceCPU, _ = d.lib.CanPoliceTraps()
	f.InnerPort, _ = d.lib.CanMatchInnerPort()
	can, known = d.lib.CanMatchProtocol()
	f.Protocol = can || !known
	f.Queues, f.NoQueues = d.queues()
	if f.HashRDMAIPv6 == "" {
		none := Ability{Reason: "the SAI library does not allow setting the ECMP hash of IPv6"}
		a.Set(NeedFlowLabel, Hash, none)
		a.Set(NeedFlowLabel, UDFHash, none)
	}
	return a, f, nil
}

// hashUse is the first use that can be set, as its attribute's name.
func (d *SAI) hashUse(uses ...sai.HashUse) string {
	for _, u := range uses {
		if can, known := d.lib.CanSet(u); can || !known {
			return u.String()
		}
	}
	return ""
}

// kinds are the library's types of objects that have ids.
var kinds = map[Type]sai.Kind{
	TypeACLTable: sai.KindACLTable, TypeACLCounter: sai.KindACLCounter, TypeACLEntry: sai.KindACLEntry,
	TypeSample: sai.KindSample, TypeUserTrap: sai.KindUserTrap, TypeUDFMatch: sai.KindUDFMatch, TypeUDFGroup: sai.KindUDFGroup,
	TypeUDF: sai.KindUDF, TypeHash: sai.KindHash, TypePolicer: sai.KindPolicer, TypeTrapGroup: sai.KindTrapGroup,
}

var hashUses = []sai.HashUse{sai.ECMPHashIPv4, sai.ECMPHashIPv6, sai.ECMPHashIPv4RDMA, sai.ECMPHashIPv6RDMA}

func hashUseOf(name string) (sai.HashUse, error) {
	for _, u := range hashUses {
		if u.String() == name {
			return u, nil
		}
	}
	return 0, fmt.Errorf("%w: the switch takes no hash by %q", ErrRefused, name)
}

// Objects implements [Driver].
func (d *SAI) Objects(p Policy, c Choices, f Features) []Object { return Objects(p, c, f) }

// Create implements [Driver].
func (d *SAI) Create(o *Object, existing map[string]*Record) (*Record, error) {
	r := &Record{Object: *o}
	id, err := d.create(o.spec, refs{existing}, r)
	if err != nil {
		return nil, refusal(err)
	}
	if r.ID == "" {
		r.ID = ID(id.String())
	}
	r.spec = nil
	return r, nil
}

// Set implements [Setter].
func (d *SAI) Set(r *Record, o *Object, attr string, existing map[string]*Record) error {
	at := refs{existing}
	if s, ok := o.spec.(bindingSpec); ok {
		return refusal(d.rebind(s, r, at))
	}
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return err
	}
	switch s := o.spec.(type) {
	case entrySpec:
		e := saiEntry(s, at)
		switch attr {
		case attrSample:
			return refusal(d.lib.SetACLEntrySample(id, e.Sample))
		case attrSetLabel:
			return refusal(d.lib.SetACLEntryLabel(id, e.SetLabel))
		case attrCompute:
			return refusal(d.lib.SetACLEntryCompute(id, e.ComputeLabel))
		}
	case sampleSpec:
		return refusal(d.lib.SetSampleRate(id, s.rate))
	case policerSpec:
		if attr == attrPolicerRate {
			return refusal(d.lib.SetPolicerRate(id, uint64(s.cpu.Rate)))
		}
		return refusal(d.lib.SetPolicerBurst(id, uint64(s.cpu.Burst)))
	}
	return fmt.Errorf("%w: %s of %s does not change in place", ErrRefused, attr, o.Type)
}

// rebind binds another of Sluice's tables to a port that has one.
func (d *SAI) rebind(s bindingSpec, r *Record, at refs) error {
	port, err := d.port(s.port)
	if err != nil {
		return err
	}
	bound, err := d.lib.IngressACL(port)
	if err != nil {
		return err
	}
	ours := bound == sai.Null
	for key := range r.refs {
		ours = ours || at.id(key) == bound
	}
	if !ours {
		return fmt.Errorf("%w: port %s has an ingress ACL of another owner, %s", ErrRefused, s.port, bound)
	}
	return d.lib.SetIngressACL(port, at.id(s.table))
}

// refs finds the ids of what an object refers to.
type refs struct{ existing map[string]*Record }

func (r refs) id(key string) sai.ObjectID {
	if key == "" || r.existing[key] == nil {
		return sai.Null
	}
	id, _ := sai.ParseObjectID(string(r.existing[key].ID))
	return id
}

func (r refs) ids(key string) []sai.ObjectID {
	if key == "" {
		return nil
	}
	return []sai.ObjectID{r.id(key)}
}

func (d *SAI) create(s spec, at refs, r *Record) (sai.ObjectID, error) {
	switch s := s.(type) {
	case tableSpec:
		return d.lib.CreateACLTable(sai.ACLTable{
			Size: s.size, L4DstPort: true, InnerL4DstPort: s.inner, IPType: true, IPv6FlowLabel: s.flowLabel,
			IPProtocol: s.protocol, IPv6NextHeader: s.protocol,
			SrcIPv6: s.addresses, DstIPv6: s.addresses, UDFGroup: at.id(s.udfGroup),
		})
	case counterSpec:
		return d.lib.CreateACLCounter(at.id(s.table))
	case entrySpec:
		return d.lib.CreateACLEntry(saiEntry(s, at))
	case sampleSpec:
		return d.lib.CreateSample(s.rate)
	case trapSpec:
		id, err := d.lib.CreateUserTrap(at.id(s.group))
		d.copied.Store(uint64(id))
		return id, err
	case policerSpec:
		id, err := d.lib.CreatePolicer(sai.Policer{Packets: true, Rate: uint64(s.cpu.Rate), Burst: uint64(s.cpu.Burst), Red: sai.Drop})
		d.policer = id
		return id, unpoliced(err)
	case trapGroupSpec:
		id, err := d.lib.CreateTrapGroup(at.id(s.policer))
		return id, unpoliced(err)
	case udfMatchSpec:
		return d.lib.CreateUDFMatch(roce.UDPPort)
	case udfGroupSpec:
		return d.lib.CreateUDFGroup(s.hash, destQPLength)
	case udfSpec:
		var mask []byte
		if s.hash {
			mask = binary.BigEndian.AppendUint32(nil, destQPMask)
		}
		return d.lib.CreateUDF(at.id(s.match), at.id(s.group), destQPOffset, mask)
	case hashSpec:
		fields := []sai.HashField{sai.HashSrcIP, sai.HashDstIP, sai.HashIPProtocol, sai.HashL4SrcPort, sai.HashL4DstPort}
		if s.label {
			fields = append(fields, sai.HashIPv6FlowLabel)
		}
		if s.destQP {
			fields = append(fields, sai.HashBTHDestQP)
		}
		return d.lib.CreateHash(fields, at.ids(s.udfGroup))
	case switchHashSpec:
		return sai.Null, d.setHash(s, at, r)
	case bindingSpec:
		return sai.Null, d.bind(s, at, r)
	}
	return sai.Null, fmt.Errorf("create %T: no such object", s)
}

func saiEntry(s entrySpec, at refs) sai.ACLEntry {
	port, protocol := uint16(roce.UDPPort), uint8(udpProtocol)
	e := sai.ACLEntry{Table: at.id(s.table), Priority: s.priority, OnlyIPv6: !s.anyIP && !s.ipv4, OnlyIPv4: s.ipv4, Counter: at.id(s.counter), Sample: at.id(s.sample)}
	if s.inner {
		e.InnerL4DstPort = &port
	} else {
		e.L4DstPort = &port
	}
	switch {
	case s.udp && s.ipv4:
		e.IPProtocol = &protocol
	case s.udp:
		e.IPv6NextHeader = &protocol
	}
	if s.unlabelled {
		label := uint32(noLabel)
		e.IPv6FlowLabel = &label
	}
	if f := s.flow; f != nil {
		e.SrcIPv6, e.DstIPv6 = f.Src, f.Dst
		e.UDF = &sai.UDFValue{Value: f.DestQP, Mask: destQPMask}
		e.SetLabel = &f.Label
	}
	if s.compute != nil {
		e.ComputeLabel = &sai.ComputeLabel{Algorithm: sai.DraftLiteral, ZeroOnly: s.unlabelled, Outer: s.inner}
		if *s.compute == flow.CRC32 {
			e.ComputeLabel.Algorithm = sai.CRC32
		}
	}
	if s.trap != "" {
		e.CopyToCPU, e.UserTrap = true, at.id(s.trap)
	}
	return e
}

const (
	prefixBinding = "port:"
	prefixUse     = "switch:"
)

func (d *SAI) bind(s bindingSpec, at refs, r *Record) error {
	port, err := d.port(s.port)
	if err != nil {
		return err
	}
	table := at.id(s.table)
	was, err := d.lib.IngressACL(port)
	if err != nil {
		return err
	}
	if was != sai.Null && was != table {
		return fmt.Errorf("%w: port %s has an ingress ACL of another owner, %s", ErrRefused, s.port, was)
	}
	r.ID = ID(prefixBinding + s.port)
	return d.lib.SetIngressACL(port, table)
}

func (d *SAI) setHash(s switchHashSpec, at refs, r *Record) error {
	use, err := hashUseOf(s.attribute)
	if err != nil {
		return err
	}
	hash := at.id(s.hash)
	if was, err := d.lib.HashOf(use); err == nil && was != sai.Null && was != hash {
		r.Previous = ID(was.String())
	}
	r.ID = ID(prefixUse + s.attribute)
	return d.lib.SetHash(use, hash)
}

// Remove implements [Driver].
func (d *SAI) Remove(r *Record) error {
	if name, ok := strings.CutPrefix(string(r.ID), prefixBinding); ok {
		port, err := d.port(name)
		if err != nil {
			return fmt.Errorf("%w: port %s", ErrGone, name)
		}
		return refusal(d.lib.SetIngressACL(port, sai.Null))
	}
	if name, ok := strings.CutPrefix(string(r.ID), prefixUse); ok {
		use, err := hashUseOf(name)
		if err != nil {
			return err
		}
		was := sai.Null
		if r.Previous != "" {
			if was, err = sai.ParseObjectID(string(r.Previous)); err != nil {
				return err
			}
		}
		return refusal(d.lib.SetHash(use, was))
	}
	id, err := sai.ParseObjectID(string(r.ID))
	if err != nil {
		return err
	}
	remove := map[Type]func(sai.ObjectID) error{
		TypeACLTable: d.lib.RemoveACLTable, TypeACLCounter: d.lib.RemoveACLCounter, TypeACLEntry: d.lib.RemoveACLEntry,
		TypeSample: d.lib.RemoveSample, TypeUserTrap: d.lib.RemoveUserTrap, TypeUDFMatch: d.lib.RemoveUDFMatch, TypeUDFGroup: d.lib.RemoveUDFGroup,
		TypeUDF: d.lib.RemoveUDF, TypeHash: d.lib.RemoveHash, TypePolicer: d.lib.RemovePolicer, TypeTrapGroup: d.lib.RemoveTrapGroup,
	}[r.Type]
	if remove == nil {
		return fmt.Errorf("remove %s: no such object type", r.Type)
	}
	return refusal(remove(id))
}

// Count reads an ACL counter.
func (d *SAI) Count(counter *Record) (packets, octets uint64, err error) {
	id, err := sai.ParseObjectID(string(counter.ID))
	if err != nil {
		return 0, 0, err
	}
	packets, octets, err = d.lib.ACLCount(id)
	return packets, octets, refusal(err)
}

// PortStats reads the counters of a port.
func (d *SAI) PortStats(name string) (sai.PortStats, error) {
	port, err := d.port(name)
	if err != nil {
		return sai.PortStats{}, err
	}
	s, err := d.lib.PortStats(port)
	return s, refusal(err)
}

// queues is how many queues the port with most has, or why there are none.
func (d *SAI) queues() (n uint8, none string) {
	ports, err := d.lib.Ports()
	for _, port := range ports {
		var ids []sai.ObjectID
		if ids, err = d.lib.Queues(port); err != nil {
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

// QueueStats reads the statistics of the egress queues of a port, by number; none
// where the port has no queues.
func (d *SAI) QueueStats(name string) ([]map[sai.QueueStat]uint64, error) {
	port, err := d.port(name)
	if err != nil {
		return nil, err
	}
	ids, err := d.lib.Queues(port)
	if err != nil {
		return nil, refusal(err)
	}
	all := make([]map[sai.QueueStat]uint64, len(ids))
	for i, id := range ids {
		if all[i], err = d.lib.QueueStats(id); err != nil {
			return nil, refusal(err)
		}
	}
	return all, nil
}

// Close closes the library. The objects stay on the switch, as far as the library
// keeps them.
func (d *SAI) Close() error { return d.lib.Close() }
