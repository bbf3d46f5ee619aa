// SPDX-License-Identifier: Apache-2.0

package config

import "sluice/yang/model"

// These are the rows of the tables as the model has them. Leaves with a default are
// always set; those without are nil where the row lacks them.
type (
	// Global is SLUICE|global: settings of the whole switch.
	Global = model.SonicSluice_SonicSluice_SLUICE_Global

	// Port is a row of SLUICE_PORT: the role of a port, and its threshold.
	Port = model.SonicSluice_SonicSluice_SLUICE_PORT_SLUICE_PORT_LIST

	// FlowLabel is SLUICE_FLOW_LABEL|global.
	FlowLabel = model.SonicSluice_SonicSluice_SLUICE_FLOW_LABEL_Global

	// Placement is SLUICE_PLACEMENT|global: labels that are chosen so that paths fill evenly.
	Placement = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global

	// Threshold is a row of SLUICE_THRESHOLD: per-flow marks of egress queues, in octets.
	Threshold = model.SonicSluice_SonicSluice_SLUICE_THRESHOLD_SLUICE_THRESHOLD_LIST

	// PFCM is SLUICE_PFCM|global.
	PFCM = model.SonicSluice_SonicSluice_SLUICE_PFCM_Global

	// PPFC is SLUICE_PPFC|global.
	PPFC = model.SonicSluice_SonicSluice_SLUICE_PPFC_Global

	// PPFCGateway is a row of SLUICE_PPFC_GATEWAY: which gateway serves a prefix.
	PPFCGateway = model.SonicSluice_SonicSluice_SLUICE_PPFC_GATEWAY_SLUICE_PPFC_GATEWAY_LIST

	// PPFCPeer is a row of SLUICE_PPFC_PEER: who may send PPFC.
	PPFCPeer = model.SonicSluice_SonicSluice_SLUICE_PPFC_PEER_SLUICE_PPFC_PEER_LIST

	// RateAdvice is SLUICE_RATE_ADVICE|global.
	RateAdvice = model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_Global

	// RateAdviceHost is a row of SLUICE_RATE_ADVICE_HOST: who may receive Rate Advice.
	RateAdviceHost = model.SonicSluice_SonicSluice_SLUICE_RATE_ADVICE_HOST_SLUICE_RATE_ADVICE_HOST_LIST

	// RatePolicy is a row of SLUICE_RATE_POLICY: a rate in Mbit/s for the flows that match.
	RatePolicy = model.SonicSluice_SonicSluice_SLUICE_RATE_POLICY_SLUICE_RATE_POLICY_LIST

	// IPFIX is SLUICE_IPFIX|global.
	IPFIX = model.SonicSluice_SonicSluice_SLUICE_IPFIX_Global

	// IPFIXCollector is a row of SLUICE_IPFIX_COLLECTOR: where IPFIX goes.
	IPFIXCollector = model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST
)

// Enabled and the others are values of leaves, by the names they have in rows.
const (
	Enabled  = model.SonicSluice_AdminState_enabled
	Disabled = model.SonicSluice_AdminState_disabled

	RoleEdge   = model.SonicSluice_SonicSluice_SLUICE_PORT_SLUICE_PORT_LIST_Role_edge
	RoleFabric = model.SonicSluice_SonicSluice_SLUICE_PORT_SLUICE_PORT_LIST_Role_fabric
	RoleBorder = model.SonicSluice_SonicSluice_SLUICE_PORT_SLUICE_PORT_LIST_Role_border

	DriverSAI       = model.SonicSluice_SonicSluice_SLUICE_Global_Driver_sai
	DriverOrchagent = model.SonicSluice_SonicSluice_SLUICE_Global_Driver_orchagent

	Classify5Tuple = model.SonicSluice_SonicSluice_SLUICE_Global_Classification_5_tuple

	ScopeHash   = model.SonicSluice_SonicSluice_SLUICE_Global_StreamIdScope_hash
	ScopeLocal  = model.SonicSluice_SonicSluice_SLUICE_Global_StreamIdScope_local
	ScopeGlobal = model.SonicSluice_SonicSluice_SLUICE_Global_StreamIdScope_global

	RCSourceQPLearn = model.SonicSluice_SonicSluice_SLUICE_Global_RcSourceQp_learn
	RCSourceQPZero  = model.SonicSluice_SonicSluice_SLUICE_Global_RcSourceQp_zero

	AlgorithmDraftLiteral = model.SonicSluice_SonicSluice_SLUICE_FLOW_LABEL_Global_Algorithm_draft_literal
	AlgorithmCRC32        = model.SonicSluice_SonicSluice_SLUICE_FLOW_LABEL_Global_Algorithm_crc32

	RewriteZeroOnly = model.SonicSluice_SonicSluice_SLUICE_FLOW_LABEL_Global_Rewrite_zero_only
	RewriteAlways   = model.SonicSluice_SonicSluice_SLUICE_FLOW_LABEL_Global_Rewrite_always
)

// Scopes, moves and models of placement.
const (
	PlacementLocal  = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global_Scope_local
	PlacementFabric = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global_Scope_fabric

	MovesIdle  = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global_Moves_idle
	MovesAny   = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global_Moves_any
	MovesNever = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global_Moves_never

	ModelAuto    = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global_Model_auto
	ModelLinux   = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global_Model_linux
	ModelLearned = model.SonicSluice_SonicSluice_SLUICE_PLACEMENT_Global_Model_learned
)

// Ports of IPFIX collectors (RFC 7011 section 10.3.4 and 10.4.4).
const (
	ipfixPort    = 4739
	ipfixTLSPort = 4740
)

// The defaults below depend on another leaf, so YANG cannot state them.

// Labels reports whether packets that come in at a port are to be labelled: by its row,
// or else on edge ports only.
func Labels(p *Port) bool {
	if p.FlowLabel == model.SonicSluice_AdminState_UNSET {
		return p.Role == RoleEdge
	}
	return p.FlowLabel == Enabled
}

// LowBytes returns the low-water mark in octets: by the row, or else half the high one.
func LowBytes(t *Threshold) uint64 {
	if t.LowBytes == nil {
		return *t.HighBytes / 2
	}
	return *t.LowBytes
}

// CollectorPort returns the port of a collector: by the row, or else the registered one
// of IPFIX over its transport (RFC 7011 section 10.3.4).
func CollectorPort(c *IPFIXCollector) uint16 {
	switch c.Transport {
	case model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_tls,
		model.SonicSluice_SonicSluice_SLUICE_IPFIX_COLLECTOR_SLUICE_IPFIX_COLLECTOR_LIST_Transport_dtls:
		if c.Port == nil {
			return ipfixTLSPort
		}
	}
	if c.Port == nil {
		return ipfixPort
	}
	return *c.Port
}
