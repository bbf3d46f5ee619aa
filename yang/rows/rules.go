// SPDX-License-Identifier: Apache-2.0

package rows

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/openconfig/goyang/pkg/yang"
)

// values returns the value of a leaf in a row: its default where the row lacks it, and ""
// without a default. A leaf-list's values are joined by commas.
type values func(leaf string) string

// musts are the must statements of the models, by their expression. ygot keeps them as
// text; here is their meaning in Go. self is the value of the leaf that the statement is
// in.
var musts = map[string]func(self string, v values) bool{
	"not(stream_id_scope = 'global') or etcd_endpoints": func(_ string, v values) bool {
		return v("stream_id_scope") != "global" || v("etcd_endpoints") != ""
	},
	"not(etcd_endpoints[starts-with(., 'http:')] and etcd_endpoints[starts-with(., 'https:')])": func(_ string, v values) bool {
		return !anyOf(v, "etcd_endpoints", "http:") || !anyOf(v, "etcd_endpoints", "https:")
	},
	"boolean(etcd_endpoints[starts-with(., 'https:')]) = boolean(etcd_ca_file)": func(_ string, v values) bool {
		return anyOf(v, "etcd_endpoints", "https:") == (v("etcd_ca_file") != "")
	},
	"boolean(etcd_cert_file) = boolean(etcd_key_file)": func(_ string, v values) bool {
		return (v("etcd_cert_file") == "") == (v("etcd_key_file") == "")
	},
	"not(etcd_cert_file) or etcd_ca_file": func(_ string, v values) bool {
		return v("etcd_cert_file") == "" || v("etcd_ca_file") != ""
	},
	"boolean(etcd_user) = boolean(etcd_password_file)": func(_ string, v values) bool {
		return (v("etcd_user") == "") == (v("etcd_password_file") == "")
	},
	"starts-with(., 'fe80:') or starts-with(., 'FE80:')": func(self string, _ values) bool {
		a, err := netip.ParseAddr(self)
		return err == nil && strings.HasPrefix(a.String(), "fe80:")
	},
	"number(.) < number(../high_bytes)": func(self string, v values) bool {
		return number(self) < number(v("high_bytes"))
	},
	"rate_mbps or port_percent": func(_ string, v values) bool { return v("rate_mbps") != "" || v("port_percent") != "" },
	"../queues":                 func(_ string, v values) bool { return v("queues") != "" },
	"contains(., ':') = contains(../prefix, ':')": func(self string, v values) bool {
		return sameFamily(self, v("prefix"))
	},
	"not(../src_prefix) or contains(., ':') = contains(../src_prefix, ':')": func(self string, v values) bool {
		return v("src_prefix") == "" || sameFamily(self, v("src_prefix"))
	},
	"(transport = 'tls' or transport = 'dtls') = boolean(ca_file)": func(_ string, v values) bool {
		return (v("transport") == "tls" || v("transport") == "dtls") == (v("ca_file") != "")
	},
	"number(pen) != 0 or not(first_element_id)": func(_ string, v values) bool {
		return number(v("pen")) != 0 || v("first_element_id") == ""
	},
	"(number(pen) = 0 and count(element_ids) = 8) or (number(pen) != 0 and not(element_ids))": func(_ string, v values) bool {
		if number(v("pen")) != 0 {
			return v("element_ids") == ""
		}
		return strings.Count(v("element_ids"), ",") == 7
	},
	"health != 'enabled' or number(pen) != 0": func(_ string, v values) bool {
		return v("health") != "enabled" || number(v("pen")) != 0
	},
	". != ../../../SLUICE_PFCM/global/icmpv6_type": func(string, values) bool {
		return true // it is of two rows: see Clash
	},
	"boolean(cert_file) = boolean(key_file)": func(_ string, v values) bool {
		return (v("cert_file") == "") == (v("key_file") == "")
	},
}

// anyOf reports whether a value of a leaf-list begins with prefix.
func anyOf(v values, leaf, prefix string) bool {
	return slices.ContainsFunc(strings.Split(v(leaf), ","), func(value string) bool { return strings.HasPrefix(value, prefix) })
}

// sameFamily reports whether two valid addresses or prefixes are both of IPv6 or both of
// IPv4.
func sameFamily(a, b string) bool { return strings.Contains(a, ":") == strings.Contains(b, ":") }

// number is for leaves that are checked to be numbers.
func number(s string) uint64 {
	n, _ := strconv.ParseUint(s, 10, 64)
	return n
}

// rule is a must statement in a table.
type rule struct {
	leaf    string // that it is in; empty: in the row
	message string // the statement's error-message
	check   func(self string, v values) bool
}

// holds reports whether the row keeps the rule. As in YANG, a rule of a missing leaf
// holds.
func (r rule) holds(t *table, leaves map[string][]string) bool {
	v := func(leaf string) string {
		if values, ok := leaves[leaf]; ok {
			return strings.Join(values, ",")
		}
		return strings.Join(t.entry.Dir[leaf].Default, ",")
	}
	if r.leaf == "" {
		return r.check("", v)
	}
	each, ok := leaves[r.leaf] // of a leaf-list each value by itself
	if !ok {
		each = t.entry.Dir[r.leaf].Default
	}
	return !slices.ContainsFunc(each, func(self string) bool { return self != "" && !r.check(self, v) })
}

// rulesOf returns the rules of a table: those of its leaves, then its own.
func rulesOf(t *table) ([]rule, error) {
	var rules []rule
	for _, leaf := range t.fields {
		of, err := rulesIn(leaf, t.entry.Dir[leaf])
		if err != nil {
			return nil, err
		}
		rules = append(rules, of...)
	}
	own, err := rulesIn("", t.entry)
	return append(rules, own...), err
}

// rulesIn returns the must statements of a leaf as functions. An unknown statement is an
// error, so that each statement is held.
func rulesIn(leaf string, e *yang.Entry) ([]rule, error) {
	var rules []rule
	for _, m := range e.Extra["must"] {
		expression, message := statement(m)
		check, ok := musts[expression]
		if !ok || message == "" {
			return nil, fmt.Errorf("%s: must %q has no rule in package rows, or no error-message", e.Name, expression)
		}
		rules = append(rules, rule{leaf, message, check})
	}
	return rules, nil
}

// statement returns the parts of a must statement as the schema's JSON has them.
func statement(must any) (expression, message string) {
	m, _ := must.(map[string]any)
	text, _ := m["ErrorMessage"].(map[string]any)
	expression, _ = m["Name"].(string)
	message, _ = text["Name"].(string)
	return expression, message
}
