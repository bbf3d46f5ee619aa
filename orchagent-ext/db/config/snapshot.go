// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"

	"github.com/openconfig/ygot/ygot"
	"sluice/yang/rows"
)

// Rejection is a row that is out of force, with the reason.
type Rejection = rows.Error

// Snapshot is the configuration in force. It is immutable, with all that it points to.
type Snapshot struct {
	// Rows TABLE|global; a missing row has the defaults, so these are always set.
	Global     *Global
	FlowLabel  *FlowLabel
	Placement  *Placement
	PFCM       *PFCM
	PPFC       *PPFC
	RateAdvice *RateAdvice
	IPFIX      *IPFIX

	// Rows by key, which for prefixes is as the operator wrote it.
	Ports           map[string]*Port // of Ethernet and PortChannel names
	Thresholds      map[string]*Threshold
	PPFCGateways    map[string]*PPFCGateway
	PPFCPeers       map[string]*PPFCPeer
	RateAdviceHosts map[string]*RateAdviceHost
	RatePolicies    map[string]*RatePolicy
	IPFIXCollectors map[string]*IPFIXCollector

	// SONiC's own tables.
	SwitchPorts map[string]SwitchPort // PORT, by name
	// PortChannels: names of their members that PORT has, sorted
	PortChannels map[string][]string
	// VRFs: by port or PortChannel, the VRF that its packets come in by where that is another one
	// than the default, or [SeveralVRFs]
	VRFs map[string]string
	// Neighbors: DEVICE_NEIGHBOR that has a name, by port
	Neighbors map[string]Neighbor
	Hostname  string // DEVICE_METADATA|localhost hostname, or ""
	// ECMPHash: SWITCH_HASH|GLOBAL ecmp_hash; nil: not set
	ECMPHash []string

	// Rejections are the rows that differ from CONFIG_DB, or are out of force, sorted by
	// table and key.
	Rejections []Rejection

	// LastGood are the versions in force of rows that are rejected, by TABLE|key.
	LastGood map[string]rows.Row
}

// Resolve returns the row that holds for each port of the switch that one of
// Ports names, itself or by its PortChannel; its own row comes first.
func (s *Snapshot) Resolve() map[string]*Port {
	resolved := make(map[string]*Port)
	for name, members := range s.PortChannels {
		if p, ok := s.Ports[name]; ok {
			for _, member := range members {
				resolved[member] = p
			}
		}
	}
	for name, p := range s.Ports {
		if _, ok := s.SwitchPorts[name]; ok {
			resolved[name] = p
		}
	}
	return resolved
}

// snapshot collects the rows in force.
func (st *State) snapshot() *Snapshot {
	s := &Snapshot{
		Global:     one[Global](st, "SLUICE"),
		FlowLabel:  one[FlowLabel](st, "SLUICE_FLOW_LABEL"),
		Placement:  one[Placement](st, "SLUICE_PLACEMENT"),
		PFCM:       one[PFCM](st, "SLUICE_PFCM"),
		PPFC:       one[PPFC](st, "SLUICE_PPFC"),
		RateAdvice: one[RateAdvice](st, "SLUICE_RATE_ADVICE"),
		IPFIX:      one[IPFIX](st, "SLUICE_IPFIX"),

		Ports:           all[Port](st, "SLUICE_PORT"),
		Thresholds:      all[Threshold](st, "SLUICE_THRESHOLD"),
		PPFCGateways:    all[PPFCGateway](st, "SLUICE_PPFC_GATEWAY"),
		PPFCPeers:       all[PPFCPeer](st, "SLUICE_PPFC_PEER"),
		RateAdviceHosts: all[RateAdviceHost](st, "SLUICE_RATE_ADVICE_HOST"),
		RatePolicies:    all[RatePolicy](st, "SLUICE_RATE_POLICY"),
		IPFIXCollectors: all[IPFIXCollector](st, "SLUICE_IPFIX_COLLECTOR"),

		LastGood: make(map[string]rows.Row),
	}
	s.Rejections = merged(st.bad.list, slices.SortedFunc(maps.Values(st.rejected), ByName), ByName)
	for key, r := range st.rejected {
		if v := st.inForce[name{r.Table, r.Key}]; v != nil {
			s.LastGood[key] = v.row
		}
	}
	s.sonic(st.sonic)
	return s
}

// one returns the row TABLE|global, or its defaults.
func one[T any, P interface {
	*T
	ygot.GoStruct
}](st *State, table string) *T {
	if c, ok := st.inForce[name{table, "global"}]; ok {
		return (*T)(c.filled.(P))
	}
	row := P(new(T))
	rows.Fill(row)
	return row
}

// all returns the rows of a table by key.
func all[T any, P interface {
	*T
	ygot.GoStruct
}](st *State, table string) map[string]*T {
	m := make(map[string]*T)
	for n, c := range st.inForce {
		if n.table == table {
			m[n.key] = (*T)(c.filled.(P))
		}
	}
	return m
}
