// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/rows"
)

// Tables of SONiC's own that matter here. Their rows are SONiC's to judge: unreadable
// values count as missing.
const (
	tablePort    = "PORT"
	tableChannel = "PORTCHANNEL"
	tableMember  = "PORTCHANNEL_MEMBER"
	tableHash    = "SWITCH_HASH"
	tableDevice  = "DEVICE_METADATA"
	tableFar     = "DEVICE_NEIGHBOR"
	tableFarData = "DEVICE_NEIGHBOR_METADATA"

	tableVLANMember = "VLAN_MEMBER"
)

// interfaces are the tables whose rows NAME have vrf_name: of ports, PortChannels, VLANs, and
// of subinterfaces, PORT.NUMBER.
var interfaces = []string{"INTERFACE", "PORTCHANNEL_INTERFACE", "VLAN_INTERFACE", "VLAN_SUB_INTERFACE"}

// Tables returns the tables of CONFIG_DB that a State reads, as [sonicdb.DB.Watch] takes
// them: Sluice's by the prefix of their names, so that one whose name is misspelled is
// seen.
func Tables() []string {
	return append([]string{prefixOurs + "*", tablePort, tableChannel, tableMember, tableHash, tableDevice, tableFar, tableFarData, tableVLANMember}, interfaces...)
}

// SwitchPort is a row of PORT.
type SwitchPort struct {
	Name      string
	Lanes     []uint32 // of the ASIC
	Index     int      // on the front panel; -1: unknown
	SpeedMbps uint32   // 0: unknown
	AdminUp   bool
}

// Neighbor is the switch or host at the other end of a port, by its row of
// DEVICE_NEIGHBOR. Fields that the rows lack are empty.
type Neighbor struct {
	Name string
	Port string // there
	// Address: of management, by DEVICE_NEIGHBOR_METADATA; it may have a length of prefix
	Address string
}

// switchPort returns a port by its row of PORT. Index is -1 without a valid one;
// unreadable lanes are left out.
func switchPort(r rows.Row) SwitchPort {
	p := SwitchPort{Name: r.Key, Index: -1, AdminUp: r.Fields["admin_status"] == "up"}
	for _, s := range strings.Split(r.Fields["lanes"], ",") {
		if lane, err := strconv.ParseUint(strings.TrimSpace(s), 10, 32); err == nil {
			p.Lanes = append(p.Lanes, uint32(lane))
		}
	}
	if i, err := strconv.Atoi(r.Fields["index"]); err == nil {
		p.Index = i
	}
	if speed, err := strconv.ParseUint(r.Fields["speed"], 10, 32); err == nil {
		p.SpeedMbps = uint32(speed)
	}
	return p
}

// sonic fills in the snapshot's values of SONiC's own tables.
func (s *Snapshot) sonic(tables map[string]map[string]rows.Row) {
	s.SwitchPorts = make(map[string]SwitchPort)
	for key, r := range tables[tablePort] {
		s.SwitchPorts[key] = switchPort(r)
	}
	s.PortChannels = make(map[string][]string)
	for key := range tables[tableChannel] {
		s.PortChannels[key] = nil
	}
	for _, key := range slices.Sorted(maps.Keys(tables[tableMember])) {
		channel, port, _ := strings.Cut(key, "|")
		_, known := s.SwitchPorts[port]
		if members, ok := s.PortChannels[channel]; ok && known {
			s.PortChannels[channel] = append(members, port)
		}
	}
	s.VRFs = vrfs(tables, s.PortChannels)
	s.Hostname = tables[tableDevice]["localhost"].Fields["hostname"]
	s.Neighbors = make(map[string]Neighbor)
	for port, r := range tables[tableFar] {
		if name := r.Fields["name"]; name != "" {
			s.Neighbors[port] = Neighbor{name, r.Fields["port"], tables[tableFarData][name].Fields["mgmt_addr"]}
		}
	}
	if hash, ok := tables[tableHash]["GLOBAL"]; ok && hash.Fields["ecmp_hash@"] != "" {
		s.ECMPHash = strings.Split(hash.Fields["ecmp_hash@"], ",")
	}
}

// SeveralVRFs is the VRF of a port whose packets belong to one or another, by their VLAN.
const SeveralVRFs = "*"

// vrfs returns the VRF of each port that packets of another one than the default come in by: its
// own, that of its PortChannel, of a VLAN with it, or of a subinterface.
func vrfs(tables map[string]map[string]rows.Row, channels map[string][]string) map[string]string {
	all, members := map[string]string{}, map[string][]string{}
	for key := range tables[tableVLANMember] {
		vlan, port, _ := strings.Cut(key, "|")
		members[vlan] = append(members[vlan], port)
	}
	var note func(link, vrf string)
	note = func(link, vrf string) {
		if was, known := all[link]; known && was != vrf {
			vrf = SeveralVRFs
		}
		all[link] = vrf
		for _, member := range channels[link] {
			note(member, vrf)
		}
	}
	for _, table := range interfaces {
		named := map[string]bool{}
		for key := range tables[table] {
			name, _, _ := strings.Cut(key, "|") // others have addresses
			named[name] = true
		}
		for name := range named {
			vrf := tables[table][name].Fields["vrf_name"]
			note(parent(name), vrf)
			for _, port := range members[name] {
				note(port, vrf)
			}
		}
	}
	maps.DeleteFunc(all, func(_, vrf string) bool { return vrf == "" })
	return all
}

// parent returns the port or PortChannel of a subinterface, which SONiC also names Eth4.10 and
// Po1.10; of any other name the name.
func parent(link string) string {
	link, _, sub := strings.Cut(link, ".")
	for short, long := range map[string]string{"Eth": "Ethernet", "Po": "PortChannel"} {
		if number, found := strings.CutPrefix(link, short); sub && found && strings.Trim(number, "0123456789") == "" {
			return long + number
		}
	}
	return link
}
