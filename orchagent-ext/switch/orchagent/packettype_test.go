// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/switch/engine"
)

// hashRow is SWITCH_HASH|GLOBAL, without the marks of lists.
func (p *place) hashRow() map[string]string {
	row := map[string]string{}
	for name, v := range p.rows()["SWITCH_HASH|GLOBAL"] {
		row[strings.TrimSuffix(name, "@")] = v
	}
	return row
}

// TestListsOfPacketTypesGetTheQueuePair: they count in place of ecmp_hash for RoCEv2 packets. What Sluice
// added goes again, and a list that it made.
func TestListsOfPacketTypesGetTheQueuePair(t *testing.T) {
	for name, tt := range map[string]struct{ before, with map[string]string }{
		"no list of a type": {
			map[string]string{"ecmp_hash": "SRC_IP,DST_IP"},
			map[string]string{"ecmp_hash": "SRC_IP,DST_IP", "ecmp_hash_ipv4_rdma": "SRC_IP,DST_IP,RDMA_BTH_DEST_QP", "ecmp_hash_ipv6_rdma": "SRC_IP,DST_IP,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL"},
		},
		"the operator's lists alone": {
			map[string]string{"ecmp_hash_ipv4_rdma": "SRC_IP", "ecmp_hash_ipv6_rdma": "DST_IP,RDMA_BTH_DEST_QP", "lag_hash_ipv4_rdma": "DST_IP"},
			map[string]string{"ecmp_hash_ipv4_rdma": "SRC_IP,RDMA_BTH_DEST_QP", "ecmp_hash_ipv6_rdma": "DST_IP,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL", "lag_hash_ipv4_rdma": "DST_IP"},
		},
		"for one type": {
			map[string]string{"ecmp_hash": "SRC_IP", "ecmp_hash_ipv4_rdma": "DST_IP"},
			map[string]string{"ecmp_hash": "SRC_IP", "ecmp_hash_ipv4_rdma": "DST_IP,RDMA_BTH_DEST_QP", "ecmp_hash_ipv6_rdma": "SRC_IP,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL"},
		},
	} {
		for _, reboot := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				p := newPlace(t).start("packet types")
				var pairs []string
				for list, fields := range tt.before {
					pairs = append(pairs, list+"@", fields)
				}
				p.set("SWITCH_HASH", "GLOBAL", pairs...)
				file := filepath.Join(t.TempDir(), "sluiced.json")
				e := p.engine(p.driverWith(Options{Memory: file}))
				if o := p.reconcile(e, labels()); o.Method(engine.NeedFlowLabel) != engine.Hash || o.Problems != nil {
					t.Errorf("%+v", o)
				}
				if diff := cmp.Diff(tt.with, p.hashRow()); diff != "" {
					t.Error(diff)
				}
				p.until("orchagent has taken the lists", func() bool { return cmp.Equal(tt.with, p.orchagent.Fields("SWITCH_HASH", "GLOBAL")) })
				if reboot {
					clear(p.ledger.rows)
					e = p.engine(p.driverWith(Options{Memory: file}))
				}
				p.reconcile(e, engine.Policy{})
				if diff := cmp.Diff(tt.before, p.hashRow()); diff != "" {
					t.Errorf("after a reboot %v: left: %s", reboot, diff)
				}
			})
		}
	}
}

// TestListThatTheOperatorChangedStays, less the field of Sluice.
func TestListThatTheOperatorChangedStays(t *testing.T) {
	p := newPlace(t).start("packet types")
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP")
	e := p.engine(p.driver())
	p.reconcile(e, labels())
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP", "ecmp_hash_ipv4_rdma@", "SRC_IP,RDMA_BTH_DEST_QP,L4_SRC_PORT", "ecmp_hash_ipv6_rdma@", "SRC_IP,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL")
	p.reconcile(e, engine.Policy{})
	if diff := cmp.Diff(map[string]string{"ecmp_hash": "SRC_IP", "ecmp_hash_ipv4_rdma": "SRC_IP,L4_SRC_PORT"}, p.hashRow()); diff != "" {
		t.Error(diff)
	}
}

// TestTypesAreThoseThatTheSwitchHas: a type without a list of its own goes by ecmp_hash.
func TestTypesAreThoseThatTheSwitchHas(t *testing.T) {
	hash := map[string]string{"ecmp_hash": "SRC_IP"}
	for name, tt := range map[string]struct {
		sw   map[string]string
		want string
	}{
		"none":                   {map[string]string{"ECMP_HASH_CAPABLE": "true"}, "ecmp_hash"},
		"types without leave":    {map[string]string{"ECMP_HASH_CAPABLE": "true", "ECMP_PKT_TYPE_HASH_CAPABLE": "false", "HASH|ECMP_PKT_TYPE_LIST": "IPV4_RDMA"}, "ecmp_hash"},
		"not RDMA":               {map[string]string{"ECMP_HASH_CAPABLE": "true", "ECMP_PKT_TYPE_HASH_CAPABLE": "true", "HASH|ECMP_PKT_TYPE_LIST": "IPV4,IPV6"}, "ecmp_hash"},
		"IPv6 alone":             {map[string]string{"ECMP_HASH_CAPABLE": "true", "ECMP_PKT_TYPE_HASH_CAPABLE": "true", "HASH|ECMP_PKT_TYPE_LIST": "IPV6,IPV6_RDMA"}, "ecmp_hash,ecmp_hash_ipv6_rdma"},
		"both, in small letters": {map[string]string{"ECMP_HASH_CAPABLE": "true", "ECMP_PKT_TYPE_HASH_CAPABLE": "true", "HASH|ECMP_PKT_TYPE_LIST": "ipv4_rdma,ipv6_rdma"}, "ecmp_hash_ipv4_rdma,ecmp_hash_ipv6_rdma"},
		"both alone, quoted":     {map[string]string{"ECMP_PKT_TYPE_HASH_CAPABLE": "true", "HASH|ECMP_PKT_TYPE_LIST": `"IPV4_RDMA","IPV6_RDMA"`}, "ecmp_hash_ipv4_rdma,ecmp_hash_ipv6_rdma"},
	} {
		tt.sw["HASH|NATIVE_HASH_FIELD_LIST"] = "SRC_IP," + fieldDestQP
		c := capabilityOf(tt.sw, nil, hash, nil)
		if got := strings.Join(c.lists(), ","); got != tt.want || !c.hash().Can {
			t.Errorf("%s: lists %s, %+v; want %s", name, got, c.hash(), tt.want)
		}
	}
}
