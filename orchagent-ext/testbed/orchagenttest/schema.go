// SPDX-License-Identifier: Apache-2.0

package orchagenttest

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"sluice/yang/rows"
)

// Release has the parts of a SONiC release's orchagent schema that tests need.
type Release struct {
	Name          string
	Matches       []string // of ACL table types and rules
	Actions       []string
	PacketActions []string
	HashFields    []string // of SWITCH_HASH; nil: there is no such table
	Session       []string // fields of MIRROR_SESSION
	SPANToCPU     bool     // a session's dst_port may be CPU
	Sampled       bool     // SWITCH_CAPABILITY tells of sampled mirroring
	PacketTypes   []string // that have lists of hash fields of their own
	Parks         bool     // a rule without room is parked, and not tried on each pass
}

var (
	// Words of the schemas, as the releases' code has them.
	matches = []string{
		"IN_PORTS", "SRC_IP", "DST_IP", "SRC_IPV6", "DST_IPV6", "L4_SRC_PORT", "L4_DST_PORT", "ETHER_TYPE", "IP_PROTOCOL",
		"NEXT_HEADER", "VLAN_ID", "TCP_FLAGS", "IP_TYPE", "DSCP", "TC", "ICMP_TYPE", "ICMPV6_TYPE", "BTH_OPCODE", "AETH_SYNDROME",
	}
	actions = []string{"PACKET_ACTION", "REDIRECT_ACTION", "MIRROR_INGRESS_ACTION", "MIRROR_EGRESS_ACTION", "COUNTER"}
	tuple   = []string{
		"IN_PORT", "DST_MAC", "SRC_MAC", "ETHERTYPE", "VLAN_ID", "IP_PROTOCOL", "DST_IP", "SRC_IP", "L4_DST_PORT", "L4_SRC_PORT",
		"INNER_DST_MAC", "INNER_SRC_MAC", "INNER_ETHERTYPE", "INNER_IP_PROTOCOL", "INNER_DST_IP", "INNER_SRC_IP", "INNER_L4_DST_PORT", "INNER_L4_SRC_PORT",
	}
	session = []string{"type", "src_ip", "dst_ip", "gre_type", "dscp", "ttl", "queue", "policer", "src_port", "dst_port", "direction"}
	early   = []string{"FORWARD", "DROP"}
	later   = append(slices.Clone(early), "COPY")
	label   = append(slices.Clone(tuple), "IPV6_FLOW_LABEL")
	sampled = append(slices.Clone(session), "sample_rate", "truncate_size")
)

// builtIn are types of ACL tables that orchagent brings along.
var builtIn = []string{"L3", "L3V6", "MIRROR", "MIRRORV6"}

// Releases are the known releases. "proposed" lies ahead of them: it has the
// fields proposed to SONiC (RDMA hash fields), and a mirror session to the CPU,
// which SONiC's YANG has and every orchagent refuses. "packet types" is sonic-swss #4568 in May 2026.
var Releases = []Release{
	{"202305", matches, actions, early, nil, session, false, false, nil, false},
	{"202311", matches, actions, early, tuple, session, false, false, nil, false},
	{"202405", matches, actions, later, tuple, session, false, false, nil, false},
	{"202411", matches, actions, later, tuple, session, false, false, nil, false},
	{"202505", matches, actions, later, label, session, false, false, nil, false},
	{"202511", matches, actions, later, label, session, false, false, nil, false},
	{"202605", matches, actions, later, label, session, false, false, nil, true},
	{"master", matches, append(slices.Clone(actions), "POLICER_ACTION"), later, label, sampled, false, true, nil, true},
	{"proposed", matches, actions, later, append(slices.Clone(label), "RDMA_BTH_OPCODE", "RDMA_BTH_DEST_QP"), sampled, true, true, nil, true},
	{"packet types", matches, actions, later, append(slices.Clone(label), "RDMA_BTH_OPCODE", "RDMA_BTH_DEST_QP"), session, false, false, []string{"IPV4", "IPV6", "IPNIP", "IPV4_RDMA", "IPV6_RDMA"}, true},
}

// ByName returns the release of a name. It panics for an unknown name.
func ByName(name string) Release {
	return Releases[slices.IndexFunc(Releases, func(r Release) bool { return r.Name == name })]
}

// Capability is SWITCH_CAPABILITY|switch.
func (r Release) Capability() map[string]string {
	c := map[string]string{"PORT_INGRESS_MIRROR_CAPABLE": "true", "ACL_ACTION|PACKET_ACTION": strings.Join(r.PacketActions, ",")}
	if r.HashFields != nil {
		c["HASH|NATIVE_HASH_FIELD_LIST"], c["ECMP_HASH_CAPABLE"] = strings.Join(r.HashFields, ","), "true"
	}
	if r.PacketTypes != nil {
		c["ECMP_PKT_TYPE_HASH_CAPABLE"], c["HASH|ECMP_PKT_TYPE_LIST"] = "true", strings.Join(r.PacketTypes, ",")
	}
	if r.Sampled {
		c["PORT_INGRESS_SAMPLE_MIRROR_CAPABLE"], c["SAMPLEPACKET_TRUNCATION_CAPABLE"] = "true", "true"
	}
	return c
}

// errWaits is the error of a row that waits for another one; orchagent leaves it
// unanswered.
var errWaits = errors.New("it waits for another row")

// Check returns the reason why orchagent refuses a row; nil for one that it
// takes. types and tables are those that it took before.
func (r Release) Check(row rows.Row, types, tables map[string]map[string]string) error {
	fields := row.Fields
	switch row.Table {
	case "ACL_TABLE_TYPE":
		return errorsOf(only(fields, "MATCHES", "ACTIONS", "BIND_POINTS"), among(fields["MATCHES"], r.Matches),
			among(fields["ACTIONS"], r.Actions), among(fields["BIND_POINTS"], []string{"PORT", "PORTCHANNEL"}))
	case "ACL_TABLE":
		err := errorsOf(only(fields, "policy_desc", "type", "stage", "ports"), among(fields["stage"], []string{"ingress", "egress"}))
		if err == nil && types[fields["type"]] == nil && !slices.Contains(builtIn, fields["type"]) {
			err = errWaits // AclOrch::doAclTableTask
		}
		return err
	case "ACL_RULE":
		return r.rule(row, fields, types, tables)
	case "MIRROR_SESSION":
		return r.session(fields)
	case "SWITCH_HASH":
		return r.hash(fields)
	}
	return fmt.Errorf("no such table")
}

// rule checks a row of ACL_RULE.
func (r Release) rule(row rows.Row, fields map[string]string, types, tables map[string]map[string]string) error {
	table, _, _ := strings.Cut(row.Key, "|")
	kind := types[tables[table]["type"]]
	if slices.Contains(builtIn, tables[table]["type"]) {
		return nil // whose rules are not Sluice's
	}
	if tables[table] == nil {
		return errWaits // AclOrch::doAclRuleTask
	}
	for name, v := range fields {
		var err error
		switch name {
		case "PRIORITY", "L4_DST_PORT":
			_, err = strconv.ParseUint(v, 10, 16)
		case "L4_SRC_PORT", "IP_PROTOCOL", "NEXT_HEADER":
			_, err = strconv.ParseUint(v, 0, 16)
		case "SRC_IP", "DST_IP", "SRC_IPV6", "DST_IPV6":
			var p netip.Prefix
			if p, err = netip.ParsePrefix(v); err == nil && p.Addr().Is6() != strings.HasSuffix(name, "V6") {
				err = fmt.Errorf("%q is of the other family", v)
			}
		case fieldRedirect:
			err = among(name, strings.Split(kind["ACTIONS"], ","))
			if err == nil && !slices.Contains(r.Actions, name) {
				err = fmt.Errorf("the release lacks it")
			}
			if ip, link, ok := strings.Cut(v, "@"); err == nil && (!ok || link == "" || !isAddress(ip)) {
				err = fmt.Errorf("%q is not ip@interface", v)
			}
		case "PACKET_ACTION":
			err = errorsOf(among(v, r.PacketActions), among(name, strings.Split(kind["ACTIONS"], ",")))
		case "BTH_OPCODE":
			data, mask, ok := strings.Cut(v, "/")
			_, err1 := strconv.ParseUint(data, 0, 8)
			_, err2 := strconv.ParseUint(mask, 0, 8)
			if !ok || err1 != nil || err2 != nil {
				err = fmt.Errorf("%q is not data/mask", v)
			}
		default:
			err = among(name, r.Matches)
		}
		if name != "PRIORITY" && !strings.HasSuffix(name, "_ACTION") && err == nil {
			err = among(name, strings.Split(kind["MATCHES"], ","))
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// hash checks SWITCH_HASH|GLOBAL.
func (r Release) hash(fields map[string]string) error {
	known := []string{"ecmp_hash", "lag_hash", "ecmp_hash_algorithm", "lag_hash_algorithm"}
	for _, t := range r.PacketTypes {
		known = append(known, "ecmp_hash_"+strings.ToLower(t), "lag_hash_"+strings.ToLower(t))
	}
	if err := only(fields, known...); err != nil {
		return err
	}
	for name, v := range fields {
		if strings.HasSuffix(name, "_algorithm") {
			continue
		}
		if err := among(v, r.HashFields); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// isAddress reports whether a text is an address of IPv4 or IPv6.
func isAddress(s string) bool { _, err := netip.ParseAddr(s); return err == nil }

// session checks a row of MIRROR_SESSION.
func (r Release) session(fields map[string]string) error {
	if err := only(fields, r.Session...); err != nil {
		return err
	}
	if fields["type"] == "SPAN" && fields["dst_port"] == "CPU" && !r.SPANToCPU {
		return fmt.Errorf("dst_port CPU is no physical port")
	}
	if fields["sample_rate"] != "" && fields["direction"] == "" {
		return fmt.Errorf("sample_rate needs a direction")
	}
	if d := fields["direction"]; d != "" {
		return among(d, []string{"RX", "TX", "BOTH"})
	}
	return nil
}

// only rejects fields other than those of these names.
func only(fields map[string]string, names ...string) error {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	return nil
}

// among rejects values, separated by commas, that are unknown.
func among(values string, known []string) error {
	for _, v := range strings.Split(values, ",") {
		if !slices.Contains(known, v) {
			return fmt.Errorf("unknown %q", v)
		}
	}
	return nil
}

// errorsOf returns the first error; nil if all are nil.
func errorsOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
