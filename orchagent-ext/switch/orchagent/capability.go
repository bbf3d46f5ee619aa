// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"slices"
	"strings"

	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// Rows with the abilities of the switch. SFLOW is the operator's.
var (
	rowSwitch = rows.Row{Table: "SWITCH_CAPABILITY", Key: "switch"}
	rowACL    = rows.Row{Table: "ACL_STAGE_CAPABILITY_TABLE", Key: "INGRESS"}
	rowHash   = rows.Row{Table: "SWITCH_HASH", Key: "GLOBAL"}
	rowSFlow  = rows.Row{Table: "SFLOW", Key: "global"}
)

// Hash fields, as SONiC calls them.
const (
	fieldDestQP    = "RDMA_BTH_DEST_QP"
	fieldFlowLabel = "IPV6_FLOW_LABEL"
)

// minSampling is the least sampling interval (one of so many packets) of Sluice's mirror
// session, as for SONiC's sFlow.
const minSampling = 256

// capability has the abilities in the rows.
type capability struct {
	destQP, flowLabel bool // orchagent lists the hash field
	ecmp              bool // the hash of all packets can be set
	ecmpHash          bool // ecmp_hash is set
	rdma4, rdma6      bool // RoCEv2 packets of IPv4 and IPv6 have a list of their own
	hash4, hash6      bool // that is set
	mirror, truncate  bool // ports can be mirrored by samples; these can be cut
	copies            bool // ACL rules have PACKET_ACTION, and that can COPY
	redirects         bool // ACL rules have REDIRECT_ACTION
	sflow             bool // the operator has sFlow enabled
}

// capabilityOf reads the rows' fields.
func capabilityOf(sw, acl, hash, sflow map[string]string) capability {
	fields := list(sw["HASH|NATIVE_HASH_FIELD_LIST"]) // N/A: orchagent does not know
	settable := sw["ECMP_HASH_CAPABLE"] == "true"
	rdma4, rdma6 := hashTypes(sw)
	return capability{
		destQP:    (settable || rdma4 || rdma6) && slices.Contains(fields, fieldDestQP),
		flowLabel: (settable || rdma6) && slices.Contains(fields, fieldFlowLabel),
		ecmp:      settable, rdma4: rdma4, rdma6: rdma6,
		hash4: len(listOf(hash, fieldHash4)) > 0, hash6: len(listOf(hash, fieldHash6)) > 0,
		ecmpHash:  len(listOf(hash, fieldECMPHash)) > 0,
		mirror:    sw["PORT_INGRESS_SAMPLE_MIRROR_CAPABLE"] == "true",
		truncate:  sw["SAMPLEPACKET_TRUNCATION_CAPABLE"] == "true",
		copies:    slices.Contains(list(acl["action_list"]), "PACKET_ACTION") && slices.Contains(list(sw["ACL_ACTION|PACKET_ACTION"]), "COPY"),
		redirects: slices.Contains(list(acl["action_list"]), fieldRedirect),
		sflow:     sflow["admin_state"] == "up",
	}
}

// hashTypes reports which types of RoCEv2 packets have a hash of their own.
func hashTypes(sw map[string]string) (rdma4, rdma6 bool) {
	if sw["ECMP_PKT_TYPE_HASH_CAPABLE"] != "true" {
		return false, false
	}
	types := list(strings.ToUpper(strings.ReplaceAll(sw["HASH|ECMP_PKT_TYPE_LIST"], `"`, "")))
	return slices.Contains(types, "IPV4_RDMA"), slices.Contains(types, "IPV6_RDMA")
}

// lists are those that count for RoCEv2 packets, and that are there or can be made of ecmp_hash.
func (c capability) lists() (all []string) {
	if c.ecmp && c.ecmpHash && (!c.rdma4 || !c.rdma6) {
		all = append(all, fieldECMPHash)
	}
	if c.rdma4 && (c.hash4 || c.ecmpHash) {
		all = append(all, fieldHash4)
	}
	if c.rdma6 && (c.hash6 || c.ecmpHash) {
		all = append(all, fieldHash6)
	}
	return all
}

// setECMPHash is the reason against adding to a list that is absent: the switch's own
// fields are unknown, and orchagent cannot return to them.
const setECMPHash = "SWITCH_HASH|GLOBAL has no ecmp_hash: SONiC does not tell what the switch hashes then, and orchagent cannot go back to it, so set ecmp_hash first"

// abilities returns the methods. refused is the reason for which orchagent refused the
// mirror session, and redirect those for a table of placement; "" if it took them, or has yet to be asked.
func (c capability) abilities(refused, redirect string) engine.Abilities {
	noLabel := engine.Ability{Reason: "SONiC has no ACL action that writes a flow label"}
	noFlows := engine.Ability{Reason: "the driver orchagent cannot: SONiC's tables neither watch nor hold single flows"}
	return engine.Abilities{
		engine.NeedFlowLabel: {
			engine.Compute: noLabel, engine.Rewrite: noLabel,
			engine.Hash: c.hash(), engine.UDFHash: {Reason: "SONiC hashes no user-defined field"},
		},
		engine.NeedExport: {
			engine.Sample: {Reason: "SONiC has no ACL action that samples"},
			engine.SFlow:  c.samples(), engine.Mirror: c.mirrors(refused),
		},
		engine.NeedThreshold: {engine.Exact: noFlows},
		engine.NeedHold:      {engine.Exact: noFlows, engine.Source: {Can: true, Reason: "hosts are slowed by messages, whatever the switch"}},
		engine.NeedPlacement: {engine.Entries: noLabel, engine.Rewrite: noLabel, engine.Redirect: c.redirect(redirect)},
	}
}

// redirect reports whether ACL rules send flows to next hops. Only sFlow's samples have the port
// that a packet leaves by.
func (c capability) redirect(refused string) engine.Ability {
	switch {
	case !c.redirects:
		return engine.Ability{Reason: "the switch lists no ACL action " + fieldRedirect}
	case !c.sflow:
		return engine.Ability{Reason: "SONiC's own sFlow would show which flows are large, and where they leave: enable it"}
	case refused != "":
		return engine.Ability{Reason: refused}
	}
	return engine.Ability{Can: true, Reason: "the switch lists the ACL action " + fieldRedirect}
}

// depths reports whether the depth of queues is read, and which flows go there is known. Only
// sFlow's samples have the port that a packet leaves by.
func (c capability) depths(queues map[string]string, streams bool) engine.Ability {
	switch {
	case len(queues) == 0:
		return engine.Ability{Reason: mapQueues + " of COUNTERS_DB is empty: \"counterpoll queue enable\" makes orchagent list queues"}
	case !c.sflow:
		return engine.Ability{Reason: "SONiC's own sFlow would show which flows go to a queue: enable it"}
	}
	by := "syncd polls"
	if streams {
		by = "High Frequency Telemetry streams"
	}
	return engine.Ability{Can: true, Reason: "orchagent lists queues, which " + by}
}

// hash reports whether orchagent hashes the destination queue pair.
func (c capability) hash() engine.Ability {
	switch {
	case c.destQP && len(c.lists()) > 0:
		return engine.Ability{Can: true, Reason: "orchagent lists the hash field " + fieldDestQP}
	case c.destQP:
		return engine.Ability{Reason: setECMPHash}
	case c.flowLabel && !c.ecmpHash:
		return engine.Ability{Reason: "orchagent lists no hash field " + fieldDestQP + "; for " + fieldFlowLabel + ": " + setECMPHash}
	case c.flowLabel:
		return engine.Ability{Reason: "orchagent lists no hash field " + fieldDestQP + ", but " + fieldFlowLabel + ": flows that come with a label can be spread"}
	}
	return engine.Ability{Reason: "orchagent lists neither the hash field " + fieldDestQP + " nor " + fieldFlowLabel}
}

// samples reports whether SONiC's own sFlow samples packets.
func (c capability) samples() engine.Ability {
	if c.sflow {
		return engine.Ability{Can: true, Reason: "the operator has sFlow enabled"}
	}
	return engine.Ability{Reason: "SONiC's own sFlow would do: enable it, and Sluice reads its samples"}
}

// mirrors reports whether a mirror session samples packets to the CPU.
func (c capability) mirrors(refused string) engine.Ability {
	switch {
	case !c.mirror:
		return engine.Ability{Reason: "the switch cannot mirror samples (PORT_INGRESS_SAMPLE_MIRROR_CAPABLE), and to copy every RoCEv2 packet would drown the CPU"}
	case refused != "":
		return engine.Ability{Reason: refused}
	}
	return engine.Ability{Can: true, Reason: "the switch mirrors samples"}
}

// listOf reads a list of a row of CONFIG_DB, whose field may be marked as list
// by an @ behind its name.
func listOf(fields map[string]string, name string) []string {
	if v := list(fields[name+"@"]); len(v) > 0 {
		return v
	}
	return list(fields[name])
}

// list splits a list with commas.
func list(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' })
}
