// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/wire/roce"
	"sluice/yang/rows"
)

// operatorRules are the rules of the operator in CONFIG_DB that see the packets of placed flows.
// orchagent binds the tables of a port with one priority, so that the vendor decides which of two
// actions wins, a DROP or a redirection. Sluice leaves it no choice: a flow that such a rule may
// decide over has no rule of Sluice.
type operatorRules struct {
	tables map[string][]operatorRule // by table, the highest priority first
	waits  []string                  // rules that the switch has lack of room for
}

// count is how many there are.
func (o *operatorRules) count() (n int) {
	for _, rules := range o.tables {
		n += len(rules)
	}
	return n
}

// errOperators: a rule of the operator may decide over the packets of a flow.
var errOperators = errors.New("its packets are decided over")

// operatorRule is one row of ACL_RULE.
type operatorRule struct {
	name     string
	priority int
	fields   map[string]string
}

// readOperatorRules reads the rules of ingress tables that are bound where Sluice's are. A table
// of a VLAN may see packets of any port.
func (s *Rules) readOperatorRules() (r operatorRules, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTime)
	defer cancel()
	all, err := s.config.Read(ctx, operators[tableACL], operators[tableRule])
	if err != nil || len(all) == 0 {
		return r, err
	}
	named, err := namesOf(s.appl, tableACL, namesTables)
	if err != nil {
		return r, err
	}
	bound, err := produced(s.appl, named...)
	if err != nil {
		return r, err
	}
	var points []string
	for _, table := range bound {
		points = append(points, list(table.Fields["ports"])...)
	}
	r.tables = map[string][]operatorRule{}
	for _, row := range all {
		if row.Table == operators[tableACL] && seesPackets(row.Fields, points) {
			r.tables[row.Key] = nil
		}
	}
	var status []rows.Row
	for _, row := range all {
		table, _, _ := strings.Cut(row.Key, separator)
		if _, sees := r.tables[table]; !sees || row.Table != operators[tableRule] {
			continue
		}
		priority, _ := strconv.Atoi(row.Fields["PRIORITY"]) // orchagent refuses a rule without one
		r.tables[table] = append(r.tables[table], operatorRule{row.Name(), priority, row.Fields})
		status = append(status, rows.Row{Table: statusTables[tableRule], Key: row.Key})
	}
	for _, rules := range r.tables {
		slices.SortFunc(rules, func(a, b operatorRule) int {
			return cmp.Or(cmp.Compare(b.priority, a.priority), strings.Compare(a.name, b.name))
		})
	}
	said, err := get(s.state, status...)
	for i, fields := range said {
		if strings.ToLower(fields["status"]) == noRoomYet {
			r.waits = append(r.waits, operators[tableRule]+separator+status[i].Key)
		}
	}
	return r, err
}

// seesPackets reports whether a row of ACL_TABLE is of packets that come in by some bind points.
func seesPackets(fields map[string]string, points []string) bool {
	if stage := fields["stage"]; stage != "" && !strings.EqualFold(stage, "ingress") {
		return false
	}
	return slices.ContainsFunc(listOf(fields, "ports"), func(port string) bool {
		return strings.HasPrefix(port, "Vlan") || slices.Contains(points, port)
	})
}

// against returns why a flow has no rule of Sluice; nil: it may have one.
func (o *operatorRules) against(r *engine.Redirection) error {
	for _, rules := range o.tables {
		for i := range rules {
			is := rules[i].matches(r)
			switch {
			case is == never:
			case rules[i].decides():
				return fmt.Errorf("%w by %s", errOperators, rules[i].name)
			case is == always: // lower ones of its table do not count
				goto next
			}
		}
	next:
	}
	return nil
}

// decides reports whether a rule sends packets elsewhere, or nowhere: then its word counts.
func (o *operatorRule) decides() bool {
	if o.fields[fieldRedirect] != "" {
		return true
	}
	switch strings.ToUpper(o.fields["PACKET_ACTION"]) {
	case "", "FORWARD", "COPY", "COPY_CANCEL", "LOG", "TRANSIT", "DO_NOT_NAT":
		return false
	}
	return true
}

// certainty is whether a rule matches all packets of a flow.
type certainty uint8

const (
	never certainty = iota
	maybe           // some, or a field is unknown here
	always
)

// matches compares the fields of a rule with a flow of RoCEv2. Fields that the 5-tuple does not
// determine, such as DSCP, may match.
func (o *operatorRule) matches(r *engine.Redirection) certainty {
	is := always
	for name, value := range o.fields {
		is = min(is, matchField(strings.ToUpper(name), value, r))
	}
	return is
}

// matchField compares one field.
func matchField(name, value string, r *engine.Redirection) certainty {
	etherType := uint64(unix.ETH_P_IPV6)
	if r.Src.Is4() {
		etherType = unix.ETH_P_IP
	}
	switch name {
	case "PRIORITY", "RULE_DESCRIPTION":
		return always
	case "SRC_IP", "SRC_IPV6":
		return within(value, r.Src)
	case "DST_IP", "DST_IPV6":
		return within(value, r.Dst)
	case "IP_PROTOCOL", "NEXT_HEADER":
		return between(value, unix.IPPROTO_UDP)
	case "L4_SRC_PORT", "L4_SRC_PORT_RANGE":
		return between(value, uint64(r.SrcPort))
	case "L4_DST_PORT", "L4_DST_PORT_RANGE":
		return between(value, roce.UDPPort)
	case "ETHER_TYPE":
		return between(value, etherType)
	}
	if strings.HasSuffix(name, "_ACTION") {
		return always
	}
	return maybe
}

// within compares an address with a prefix, or with an address.
func within(value string, a netip.Addr) certainty {
	p, err := netip.ParsePrefix(value)
	if err != nil {
		one, err := netip.ParseAddr(value)
		if err != nil {
			return maybe
		}
		p = netip.PrefixFrom(one, one.BitLen())
	}
	if p.Contains(a) {
		return always
	}
	return never
}

// between compares a number with another one, decimal or with 0x, or with a range FIRST-LAST.
func between(value string, n uint64) certainty {
	from, to, is := strings.Cut(value, "-")
	if !is {
		to = from
	}
	low, err1 := strconv.ParseUint(from, 0, 32)
	high, err2 := strconv.ParseUint(to, 0, 32)
	switch {
	case err1 != nil || err2 != nil:
		return maybe
	case low <= n && n <= high:
		return always
	}
	return never
}
