package orchagent

import (
	"strings"
	"testing"

	"sluice/orchagent-ext/asic"
)

func (p *place) hash() string { return p.rows()["SWITCH_HASH|GLOBAL"]["ecmp_hash@"] }

// TestHashFieldIsTakenOutAgain: exactly what was added, from the list as the
// operator has it by then.
func TestHashFieldIsTakenOutAgain(t *testing.T) {
	for _, tt := range []struct{ name, before, meanwhile, after string }{
		{"untouched", "SRC_IP,DST_IP", "", "SRC_IP,DST_IP"},
		{"changed meanwhile", "SRC_IP,DST_IP", "L4_SRC_PORT,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL,SRC_IP", "L4_SRC_PORT,SRC_IP"},
		{"there before", "SRC_IP,RDMA_BTH_DEST_QP", "", "SRC_IP,RDMA_BTH_DEST_QP"},
		{"taken out meanwhile", "SRC_IP,DST_IP", "SRC_IP", "SRC_IP"},
		{"all others taken out", "SRC_IP,DST_IP", "IPV6_FLOW_LABEL", "IPV6_FLOW_LABEL"}, // orchagent takes no empty list
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t).start("proposed")
			p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", tt.before, "lag_hash@", "SRC_IP")
			e := p.engine(p.driver())
			if o := p.reconcile(e, labels()); o.Rung != asic.Hash || o.Problems != nil {
				t.Errorf("%+v", o)
			}
			for _, field := range []string{fieldDestQP, fieldFlowLabel} {
				if strings.Count(p.hash(), field) != 1 {
					t.Errorf("ecmp_hash %q", p.hash())
				}
			}
			if tt.meanwhile != "" {
				p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", tt.meanwhile, "lag_hash@", "SRC_IP")
			}
			p.reconcile(e, asic.Policy{})
			if p.hash() != tt.after || p.rows()["SWITCH_HASH|GLOBAL"]["lag_hash@"] != "SRC_IP" {
				t.Errorf("left: %v", p.rows())
			}
		})
	}
}

// TestHashIsTheOperators: without leave, and without a list, nothing is written.
func TestHashIsTheOperators(t *testing.T) {
	p := newPlace(t).start("proposed")
	e := p.engine(p.driver())
	o := p.reconcile(e, labels())
	if o.Rung != asic.None || !strings.Contains(o.Reason, "hash: SWITCH_HASH|GLOBAL has no ecmp_hash") || p.names() != nil {
		t.Errorf("%+v, %v", o, p.names())
	}
	unmanaged := labels()
	unmanaged.ManageHash = false
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP")
	o = p.reconcile(e, unmanaged)
	if o.Rung != asic.None || !strings.Contains(o.Reason, "needs manage_switch_hash=true") || p.hash() != "SRC_IP" {
		t.Errorf("%+v, %s", o, p.hash())
	}
	if o = p.reconcile(e, labels()); o.Rung != asic.Hash || p.hash() != "SRC_IP,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL" {
		t.Errorf("%+v, %s", o, p.hash())
	}
	// Leave is taken back.
	if o = p.reconcile(e, unmanaged); o.Rung != asic.None || p.hash() != "SRC_IP" {
		t.Errorf("%+v, %s", o, p.hash())
	}
}

// TestTheLabelAlone: where orchagent knows no queue pair, it hashes labels that
// packets come with.
func TestTheLabelAlone(t *testing.T) {
	p := newPlace(t).start("202505")
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash", "SRC_IP") // without the mark of a list
	e := p.engine(p.driver())
	o := p.reconcile(e, labels())
	if o.Rung != asic.None || o.Created != 1 || p.rows()["SWITCH_HASH|GLOBAL"]["ecmp_hash"] != "SRC_IP,IPV6_FLOW_LABEL" {
		t.Errorf("%+v, %v", o, p.rows())
	}
	p.until("the field is hashed", func() bool {
		return p.orchagent.Fields("SWITCH_HASH", "GLOBAL")["ecmp_hash"] == "SRC_IP,IPV6_FLOW_LABEL"
	})
	// The operator takes it out: it comes back, while it is ours to manage.
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "DST_IP")
	if changed, err := e.Look(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	p.reconcile(e, labels())
	if p.hash() != "DST_IP,IPV6_FLOW_LABEL" {
		t.Errorf("ecmp_hash %q", p.hash())
	}
}
