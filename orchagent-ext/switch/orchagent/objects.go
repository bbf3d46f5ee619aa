// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/rows"
)

// Names of Sluice's rows.
const (
	nameSession = "SLUICE_SAMPLE"
	nameACL     = "SLUICE_ROCE" // the table's type, and the table
	nameCM      = "SLUICE_CM"
	nameCNP     = "SLUICE_CNP"
)

const (
	// truncateSize is how much of a sampled packet the CPU gets, in octets: the
	// headers, with tunnels.
	truncateSize = 256

	attrNeeds    = "needs" // of an object: what it refers to; not a field of the row
	separator    = "|"     // of CONFIG_DB and STATE_DB
	copyPriority = 9000    // of Sluice's rules, which are in a table of their own
)

// objects returns the objects of a policy, each after those that it refers to.
func objects(p engine.Policy, by engine.Choices, c capability, channels map[string]string) []engine.Object {
	var all []engine.Object
	if p.Label != nil && p.ManageHash {
		all = append(all, hashObjects(by.Method(engine.NeedFlowLabel) == engine.Hash, c)...)
	}
	if by.Method(engine.NeedPlacement) == engine.Redirect {
		all = append(all, redirectObjects(p.Placement, channels)...)
	}
	if !samples(p) {
		return all
	}
	var needs []string
	if by.Method(engine.NeedExport) == engine.Mirror {
		session := mirrorObject(p.Export, c)
		all, needs = append(all, session), []string{session.Key}
	}
	if copies(p, c) {
		all = append(all, copyObjects(p.Export, channels, needs)...)
	}
	return all
}

// redirectObjects are the tables that [Rules] writes rules to, and their types: one for IPv4 and
// one for IPv6, since a key of both would be wider than many switches have, and so for each VRF.
// Tables of the first VRF, which is the default one where it has ports, make the method.
func redirectObjects(p *engine.Placement, channels map[string]string) (all []engine.Object) {
	vrfs := slices.Sorted(maps.Keys(p.VRFs))
	if len(p.Ports) > 0 {
		vrfs = slices.Insert(vrfs, 0, "")
	}
	for i, vrf := range vrfs {
		ports := p.VRFs[vrf]
		if vrf == "" {
			ports = p.Ports
		}
		for _, v6 := range []bool{false, true} {
			kind := kindObject(tableOf("", v6))
			table := redirectTable(tableOf(vrf, v6), &kind, bindPoints(ports, channels))
			if i == 0 {
				table.Meets = engine.NeedPlacement
				all = append(all, kind)
			}
			all = append(all, table)
		}
	}
	return all
}

// kindObject is a type of tables for redirections.
func kindObject(name string) engine.Object {
	return rowObject(rows.Row{Table: tableType, Key: name, Fields: map[string]string{
		"MATCHES": matchesOf[name], "ACTIONS": fieldRedirect + ",COUNTER", "BIND_POINTS": "PORT,PORTCHANNEL",
	}})
}

// redirectTable is a table of a type, bound to some points.
func redirectTable(name string, kind *engine.Object, points []string) engine.Object {
	return rowObject(rows.Row{Table: tableACL, Key: name, Fields: map[string]string{
		"policy_desc": "Sluice", "type": rowOf(kind).Key, "stage": "ingress", "ports": strings.Join(points, ","),
	}}, kind.Key)
}

// matchesOf are the fields that rules of a table match.
var matchesOf = map[string]string{
	nameTable4: "SRC_IP,DST_IP,IP_PROTOCOL,L4_SRC_PORT,L4_DST_PORT",
	nameTable6: "SRC_IPV6,DST_IPV6,NEXT_HEADER,L4_SRC_PORT,L4_DST_PORT",
}

// samples reports whether the policy has packets sampled for export.
func samples(p engine.Policy) bool { return p.Export != nil && len(p.Export.Ports) > 0 }

// copies reports whether rare packets are copied to the CPU, too.
func copies(p engine.Policy, c capability) bool { return samples(p) && c.copies }

// mirrorObject returns the session that sends samples of packets that come in by the
// ports to the CPU.
func mirrorObject(e *engine.Export, c capability) engine.Object {
	fields := map[string]string{
		"type": "SPAN", "dst_port": "CPU", "direction": "RX",
		"src_port":    strings.Join(e.Ports, ","),
		"sample_rate": fmt.Sprint(e.Rate),
	}
	if c.truncate {
		fields["truncate_size"] = fmt.Sprint(truncateSize)
	}
	o := rowObject(rows.Row{Table: tableMirror, Key: nameSession, Fields: fields})
	o.Meets = engine.NeedExport
	return o
}

// copyObjects returns the rules that copy rare packets, all of which are needed to learn
// queue pairs: messages of RDMA-CM, and CNPs.
func copyObjects(e *engine.Export, channels map[string]string, needs []string) []engine.Object {
	kind := rowObject(rows.Row{Table: tableType, Key: nameACL, Fields: map[string]string{
		"MATCHES": "L4_DST_PORT,BTH_OPCODE", "ACTIONS": "PACKET_ACTION,COUNTER", "BIND_POINTS": "PORT,PORTCHANNEL",
	}}, needs...)
	table := rowObject(rows.Row{Table: tableACL, Key: nameACL, Fields: map[string]string{
		"policy_desc": "Sluice", "type": nameACL, "stage": "ingress", "ports": strings.Join(bindPoints(e.Ports, channels), ","),
	}}, kind.Key)
	rule := func(name string, opcode byte, priority int) engine.Object {
		return rowObject(rows.Row{Table: tableRule, Key: nameACL + ":" + name, Fields: map[string]string{
			"PRIORITY": fmt.Sprint(priority), "L4_DST_PORT": fmt.Sprint(roce.UDPPort),
			"BTH_OPCODE": fmt.Sprintf("%#02x/0xff", opcode), "PACKET_ACTION": "COPY",
		}}, table.Key)
	}
	return []engine.Object{kind, table, rule(nameCM, byte(roce.UDSendOnly), copyPriority), rule(nameCNP, byte(roce.CNP), copyPriority-1)}
}

// bindPoints are the ports, where orchagent binds tables to: a member of a
// PortChannel is bound with it.
func bindPoints(ports []string, channels map[string]string) []string {
	var points []string
	for _, p := range ports {
		if channel := channels[p]; channel != "" {
			p = channel
		}
		points = append(points, p)
	}
	slices.Sort(points)
	return slices.Compact(points)
}

// rowObject returns a row as object. All objects of this driver are optional, but those
// that make the method.
func rowObject(r rows.Row, needs ...string) engine.Object {
	return engine.Object{Key: r.Name(), Type: engine.TypeRow, Attrs: attrs(r.Fields, needs), Optional: true}
}

// attrs returns the fields of a row as attributes, sorted, with its references.
func attrs(fields map[string]string, needs []string) []engine.Attr {
	var all []engine.Attr
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all = append(all, engine.Attr{Name: name, Value: fields[name]})
	}
	if len(needs) > 0 {
		all = append(all, engine.Attr{Name: attrNeeds, Value: "@" + strings.Join(needs, ",@")})
	}
	return all
}

// rowOf is the row that an object is.
func rowOf(o *engine.Object) rows.Row {
	table, key, _ := strings.Cut(o.Key, separator)
	r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
	for _, a := range o.Attrs {
		if a.Name != attrNeeds {
			r.Fields[a.Name] = a.Value
		}
	}
	return r
}

// hashObjects are the fields of the lists that the switch has for RoCEv2 packets: those of their packet types,
// and the list of all packets for a type without one.
func hashObjects(queuePair bool, c capability) (all []engine.Object) {
	for _, list := range c.lists() {
		if queuePair {
			all = append(all, hashObject(list, fieldDestQP, false))
		}
		if c.flowLabel && list != fieldHash4 {
			all = append(all, hashObject(list, fieldFlowLabel, true))
		}
	}
	return all
}

// hashObject is a field of a list of SWITCH_HASH|GLOBAL.
func hashObject(list, field string, optional bool) engine.Object {
	return engine.Object{
		Key: rowHash.Name() + separator + list + separator + field, Type: engine.TypeHashField,
		Attrs: []engine.Attr{{Name: list, Value: field}}, Optional: optional,
	}
}

// Owns reports whether a record is of this driver.
func Owns(r *engine.Record) bool { return r.Type == engine.TypeRow || r.Type == engine.TypeHashField }
