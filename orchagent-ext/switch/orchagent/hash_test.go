// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/switch/engine"
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
			if o := p.reconcile(e, labels()); o.Method(engine.NeedFlowLabel) != engine.Hash || o.Problems != nil {
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
			p.reconcile(e, engine.Policy{})
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
	if o.Method(engine.NeedFlowLabel) != engine.None || !strings.Contains(o.Choices[engine.NeedFlowLabel].Reason, "hash: SWITCH_HASH|GLOBAL has no ecmp_hash") || p.names() != nil {
		t.Errorf("%+v, %v", o, p.names())
	}
	unmanaged := labels()
	unmanaged.ManageHash = false
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP")
	o = p.reconcile(e, unmanaged)
	if o.Method(engine.NeedFlowLabel) != engine.None || !strings.Contains(o.Choices[engine.NeedFlowLabel].Reason, "needs manage_switch_hash=true") || p.hash() != "SRC_IP" {
		t.Errorf("%+v, %s", o, p.hash())
	}
	if o = p.reconcile(e, labels()); o.Method(engine.NeedFlowLabel) != engine.Hash || p.hash() != "SRC_IP,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL" {
		t.Errorf("%+v, %s", o, p.hash())
	}
	// Leave is taken back.
	if o = p.reconcile(e, unmanaged); o.Method(engine.NeedFlowLabel) != engine.None || p.hash() != "SRC_IP" {
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
	if o.Method(engine.NeedFlowLabel) != engine.None || o.Created != 1 || p.rows()["SWITCH_HASH|GLOBAL"]["ecmp_hash"] != "SRC_IP,IPV6_FLOW_LABEL" {
		t.Errorf("%+v, %v", o, p.rows())
	}
	p.until("the field is hashed", func() bool {
		return p.orchagent.Fields("SWITCH_HASH", "GLOBAL")["ecmp_hash"] == "SRC_IP,IPV6_FLOW_LABEL"
	})
	// The operator takes it out: it comes back, while Sluice manages it.
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "DST_IP")
	if changed, err := e.CheckDrift(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	p.reconcile(e, labels())
	if p.hash() != "DST_IP,IPV6_FLOW_LABEL" {
		t.Errorf("ecmp_hash %q", p.hash())
	}
}

// TestAddedFieldsAfterAReboot: `config save` has kept the list, and a reboot has
// emptied the ledger. What Sluice had added it owns, and removes when it is not
// wanted; what the operator had in the list stays.
func TestAddedFieldsAfterAReboot(t *testing.T) {
	const before, with = "SRC_IP,IPV6_FLOW_LABEL", "SRC_IP,IPV6_FLOW_LABEL,RDMA_BTH_DEST_QP"
	for _, tt := range []struct {
		name   string
		file   string // content of the memory after the reboot; "": as it was written
		saved  string // list after the reboot
		policy engine.Policy
		want   string
	}{
		{"wanted no more", "", with, engine.Policy{}, before},
		{"wanted still", "", with, labels(), with},
		{"not saved", "", before, engine.Policy{}, before},
		{"the operator's list since", "", "DST_IP,RDMA_BTH_DEST_QP", engine.Policy{}, "DST_IP"},
		{"a file that cannot be read", "{", with, engine.Policy{}, with},
		{"a file of nothing", "{}", with, engine.Policy{}, with},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t).start("proposed")
			file := filepath.Join(t.TempDir(), "new", "sluiced.json")
			driver := func() *Driver { return p.driverWith(Options{Memory: file}) }
			p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", before)
			p.reconcile(p.engine(driver()), labels())
			if p.hash() != with {
				t.Fatalf("ecmp_hash %q", p.hash())
			}
			if tt.file != "" {
				if err := os.WriteFile(file, []byte(tt.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p.ledger = &ledger{rows: map[engine.ID]map[string]string{}}
			p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", tt.saved)
			p.reconcile(p.engine(driver()), tt.policy)
			if p.hash() != tt.want {
				t.Errorf("ecmp_hash %q, want %q", p.hash(), tt.want)
			}

			// Whatever was in the file: what Sluice owns in the end is removed in the
			// end.
			p.ledger = &ledger{rows: map[engine.ID]map[string]string{}}
			p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", before)
			e := p.engine(driver())
			p.reconcile(e, labels())
			p.reconcile(e, engine.Policy{})
			if p.hash() != before {
				t.Errorf("ecmp_hash %q, want %q", p.hash(), before)
			}
			if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the file is left: %v", err)
			}
		})
	}
}

// TestNoMemory: what cannot be remembered is said, and the field is added all the
// same.
func TestNoMemory(t *testing.T) {
	p := newPlace(t).start("proposed")
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP,IPV6_FLOW_LABEL")
	d := p.driverWith(Options{Memory: "/dev/null/sluiced.json"})
	e := p.engine(d)
	p.reconcile(e, labels())
	const key = "SWITCH_HASH|GLOBAL|ecmp_hash|RDMA_BTH_DEST_QP"
	if w := d.Warnings(); len(w) != 1 || !strings.HasPrefix(w[0], key+": Sluice will not know after a reboot that it added it: ") {
		t.Errorf("%q", w)
	}
	p.reconcile(e, engine.Policy{})
	if p.hash() != "SRC_IP,IPV6_FLOW_LABEL" {
		t.Errorf("ecmp_hash %q", p.hash())
	}
}
