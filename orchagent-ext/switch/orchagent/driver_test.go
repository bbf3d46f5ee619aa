// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/yang/rows"
)

const patience = time.Minute // the machine may be busy

// place is a Redis, an orchagent where there is one, and our ledger.
type place struct {
	t                   *testing.T
	databases           *sonicdb.Databases
	redis               *privateredis.Server
	config, appl, state *sonicdb.DB
	orchagent           *orchagenttest.Orchagent
	ledger              *ledger
}

func newPlace(t *testing.T) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "rows") // t.TempDir can be too long for a socket's path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	p := &place{t: t, ledger: &ledger{rows: map[engine.ID]map[string]string{}}}
	p.redis, err = privateredis.Start(dir)
	if errors.Is(err, privateredis.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.redis.Stop)
	if p.databases, err = sonicdb.Load(p.redis.Config, ""); err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &p.config, "APPL_DB": &p.appl, "STATE_DB": &p.state} {
		if *db, err = sonicdb.Open(p.databases, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*db).Close() })
	}
	return p
}

func (p *place) start(release string) *place {
	p.t.Helper()
	p.orchagent = orchagenttest.Start(p.t, p.databases, orchagenttest.ByName(release))
	return p
}

// ledger keeps rows as text, as STATE_DB would, and can fail once.
type ledger struct {
	rows map[engine.ID]map[string]string
	fail error
}

func (l *ledger) Load() (all []*engine.Record, err error) {
	for id, fields := range l.rows {
		r, err := engine.ParseRecord(id, fields)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

func (l *ledger) Save(records []*engine.Record, gone []engine.ID) error {
	if l.fail != nil {
		return l.fail
	}
	for _, r := range records {
		l.rows[r.ID] = r.Fields()
	}
	for _, id := range gone {
		delete(l.rows, id)
	}
	return nil
}

func (p *place) driver() *Driver { return p.driverWith(Options{}) }

func (p *place) driverWith(o Options) *Driver {
	p.t.Helper()
	d, err := New(p.t.Context(), p.databases, o)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = d.Close() })
	d.said.patience = patience
	if err := d.SetPorts([]engine.Port{{Name: "Ethernet0"}, {Name: "Ethernet4", Channel: "PortChannel1"}}); err != nil {
		p.t.Fatal(err)
	}
	return d
}

func (p *place) engine(d *Driver) *engine.Engine {
	p.t.Helper()
	e, err := engine.NewEngine(d, p.ledger, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return e
}

func (p *place) set(table, key string, pairs ...string) {
	p.t.Helper()
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	if err := p.config.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) remove(table, key string) {
	p.t.Helper()
	if err := p.config.Write(context.Background(), sonicdb.Change{Row: rows.Row{Table: table, Key: key}, Deleted: true}); err != nil {
		p.t.Fatal(err)
	}
}

// written are the rows of APPL_DB that this driver writes.
var written = []rows.Row{
	{Table: tableType, Key: nameACL}, {Table: tableACL, Key: nameACL},
	{Table: tableRule, Key: nameACL + ":" + nameCM}, {Table: tableRule, Key: nameACL + ":" + nameCNP},
}

// rows are those that orchagent takes: all of CONFIG_DB, the driver's of APPL_DB.
func (p *place) rows() map[string]map[string]string {
	p.t.Helper()
	all, err := p.config.Read(context.Background(), "ACL_TABLE_TYPE", "ACL_TABLE", "ACL_RULE", "MIRROR_SESSION", "SWITCH_HASH")
	if err != nil {
		p.t.Fatal(err)
	}
	produced, err := p.appl.Produced(context.Background(), written...)
	if err != nil {
		p.t.Fatal(err)
	}
	found := map[string]map[string]string{}
	for _, r := range append(all, produced...) {
		found[r.Name()] = r.Fields
	}
	return found
}

func (p *place) names() []string { return slices.Sorted(maps.Keys(p.rows())) }

func (p *place) reconcile(e *engine.Engine, policy engine.Policy) engine.Outcome {
	p.t.Helper()
	o, err := e.Reconcile(policy)
	if err != nil {
		p.t.Fatal(err)
	}
	var ids []string
	for id := range p.ledger.rows {
		ids = append(ids, string(id))
	}
	if len(ids) != e.Len() {
		p.t.Errorf("the ledger has %v, and the engine %d objects", ids, e.Len())
	}
	return o
}

// over has the pauses of a driver be over.
func (p *place) over(d *Driver) {
	for key, no := range d.said.refused {
		no.until = time.Now()
		d.said.refused[key] = no
	}
}

// until waits until the little orchagent is as wanted.
func (p *place) until(what string, done func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patience); !done(); time.Sleep(lookAgain) {
		if time.Now().After(deadline) {
			p.t.Fatalf("not within %v: %s; taken %v, refused %v", patience, what, p.orchagent.Taken(), p.orchagent.Refused())
		}
	}
}

var (
	exported = []string{
		"ACL_RULE_TABLE|SLUICE_ROCE:SLUICE_CM", "ACL_RULE_TABLE|SLUICE_ROCE:SLUICE_CNP", "ACL_TABLE_TABLE|SLUICE_ROCE",
		"ACL_TABLE_TYPE_TABLE|SLUICE_ROCE", "MIRROR_SESSION|SLUICE_SAMPLE",
	}
	taken = []string{ // the same, as orchagent calls them
		"ACL_RULE|SLUICE_ROCE|SLUICE_CM", "ACL_RULE|SLUICE_ROCE|SLUICE_CNP", "ACL_TABLE_TYPE|SLUICE_ROCE",
		"ACL_TABLE|SLUICE_ROCE", "MIRROR_SESSION|SLUICE_SAMPLE",
	}
)

func TestExportComesAndGoes(t *testing.T) {
	p := newPlace(t).start("proposed")
	e := p.engine(p.driver())
	o := p.reconcile(e, exports(4096, "Ethernet0", "Ethernet4"))
	if o.Choices[engine.NeedExport].State != engine.Active || o.Method(engine.NeedExport) != engine.Mirror || o.Problems != nil || o.Created != 5 {
		t.Errorf("%+v", o)
	}
	if diff := cmp.Diff(exported, p.names()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(taken, p.orchagent.Taken()); diff != "" {
		t.Error(diff)
	}
	// Another rate: orchagent ignores a session that changes, so it goes and comes.
	p.reconcile(e, exports(8192, "Ethernet0"))
	p.until("the session of the other rate", func() bool {
		return p.orchagent.Fields("MIRROR_SESSION", "SLUICE_SAMPLE")["sample_rate"] == "8192"
	})
	if ports := p.orchagent.Fields("ACL_TABLE", "SLUICE_ROCE")["ports"]; ports != "Ethernet0" {
		t.Errorf("ports %q", ports)
	}
	if o := p.reconcile(e, exports(8192, "Ethernet0")); o.Created+o.Removed+o.HandedOver > 0 {
		t.Errorf("nothing changed, and: %+v", o)
	}
	o = p.reconcile(e, exports(100, "Ethernet0"))
	if len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "sampling_rate 100 of SLUICE_IPFIX|global would drown the CPU: at least 256") {
		t.Errorf("%+v", o)
	}
	if got := p.names(); got != nil {
		t.Errorf("left: %v", got)
	}
	p.until("everything gone", func() bool { return len(p.orchagent.Taken()) == 0 })
	if r := p.orchagent.Refused(); r != nil {
		t.Errorf("refused: %v", r)
	}
}

// TestSingleFlowsAreRefusedWithTheReason: where nothing else is wanted, too.
func TestSingleFlowsAreRefusedWithTheReason(t *testing.T) {
	p := newPlace(t).start("proposed")
	e := p.engine(p.driver())
	if hold := p.reconcile(e, engine.Policy{}).Choices[engine.NeedHold]; !strings.Contains(hold.Reason, "has not been asked") {
		t.Errorf("nothing is wanted: %+v", hold)
	}
	if hold := p.reconcile(e, engine.Policy{SingleFlows: true}).Choices[engine.NeedHold]; hold.Method != engine.None || !strings.Contains(hold.Reason, "SONiC's tables neither watch nor hold single flows") {
		t.Errorf("%+v", hold)
	}
}

// TestRefusedRowsAreTakenBackAndReported: what orchagent does not take is taken back, and said.
func TestRefusedRowsAreTakenBackAndReported(t *testing.T) {
	t.Run("no session to the CPU", func(t *testing.T) {
		p := newPlace(t).start("master")
		d := p.driver()
		d.said.patience = 5 * time.Second // this is waited for; what is answered comes earlier, however busy the machine
		e := p.engine(d)
		o := p.reconcile(e, exports(4096, "Ethernet0"))
		if len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "MIRROR_SESSION|SLUICE_SAMPLE: the switch refuses: orchagent did not take") || o.Choices[engine.NeedExport].State != engine.Unproven {
			t.Errorf("%+v", o)
		}
		if got := p.names(); got != nil {
			t.Errorf("left: %v", got)
		}
		// The driver knows it now, and does not try again.
		if changed, err := e.CheckDrift(); !changed || err != nil {
			t.Fatal(changed, err)
		}
		o = p.reconcile(e, exports(4096, "Ethernet0"))
		if why := o.Choices[engine.NeedExport].Reason; o.Method(engine.NeedExport) != engine.None || !strings.Contains(why, "no release up to 202605 mirrors to the CPU") || !strings.Contains(why, "SONiC's own sFlow would do") {
			t.Errorf("%+v", o)
		}
		if n := len(p.orchagent.Refused()); n != 1 {
			t.Errorf("tried %d times", n)
		}
		p.set("SFLOW", "global", "admin_state", "up")
		if changed, err := e.CheckDrift(); !changed || err != nil {
			t.Fatal(changed, err)
		}
		d.said.patience = patience
		if o = p.reconcile(e, exports(4096, "Ethernet0")); o.Method(engine.NeedExport) != engine.SFlow || o.Problems != nil {
			t.Errorf("%+v", o)
		}
		if diff := cmp.Diff(exported[:4], p.names()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a table that is not valid", func(t *testing.T) {
		p := newPlace(t).start("proposed")
		p.orchagent.Reject("ACL_TABLE|SLUICE_ROCE")
		o := p.reconcile(p.engine(p.driver()), exports(4096, "Ethernet0"))
		if len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "ACL_TABLE_TABLE|SLUICE_ROCE: the switch refuses: orchagent took ACL_TABLE_TABLE|SLUICE_ROCE and says it is inactive") {
			t.Errorf("%q", o.Problems)
		}
		if diff := cmp.Diff([]string{"ACL_TABLE_TYPE_TABLE|SLUICE_ROCE", "MIRROR_SESSION|SLUICE_SAMPLE"}, p.names()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a rule that is not valid", func(t *testing.T) {
		p := newPlace(t).start("202405")
		p.orchagent.Reject("ACL_RULE|SLUICE_ROCE|SLUICE_CNP")
		p.set("SFLOW", "global", "admin_state", "up")
		o := p.reconcile(p.engine(p.driver()), exports(4096, "Ethernet0"))
		if len(o.Problems) != 1 || o.Method(engine.NeedExport) != engine.SFlow {
			t.Errorf("%+v", o)
		}
		if diff := cmp.Diff([]string{exported[0], exported[2], exported[3]}, p.names()); diff != "" {
			t.Error(diff)
		}
	})
	// Where SAI refuses, orchagent says "Pending creation", and tries a table some ten times a second
	// (AclOrch::doAclTableTask), which fails the check before a warm restart.
	t.Run("no room for the table", func(t *testing.T) {
		const denied = "ACL_TABLE|SLUICE_ROCE"
		p := newPlace(t).start("202405")
		p.orchagent.Deny(denied)
		p.set("SFLOW", "global", "admin_state", "up")
		d := p.driver()
		d.said.pause = time.Hour
		e := p.engine(d)
		if o := p.reconcile(e, exports(4096, "Ethernet0")); len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "the switch has no room for ACL_TABLE_TABLE|SLUICE_ROCE") {
			t.Errorf("%q", o.Problems)
		}
		if diff := cmp.Diff(exported[3:4], p.names()); diff != "" {
			t.Error(diff)
		}
		p.until("a warm restart is possible", func() bool { return len(p.orchagent.Pending()) == 0 })
		p.orchagent.Allow(denied)
		p.over(d)
		if o := p.reconcile(e, exports(4096, "Ethernet0")); o.Problems != nil {
			t.Errorf("%q", o.Problems)
		}
		if diff := cmp.Diff(taken[:4], p.orchagent.Taken()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("no room for a rule", func(t *testing.T) { // which orchagent parks (AclOrch::doAclRuleTask)
		const denied = "ACL_RULE|SLUICE_ROCE|SLUICE_CNP"
		p := newPlace(t).start("202405")
		p.orchagent.Deny(denied)
		p.set("SFLOW", "global", "admin_state", "up")
		d := p.driver()
		d.said.pause = time.Hour
		e := p.engine(d)
		o := p.reconcile(e, exports(4096, "Ethernet0"))
		if len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "the switch has no room for ACL_RULE_TABLE|SLUICE_ROCE:SLUICE_CNP") {
			t.Errorf("%q", o.Problems)
		}
		if diff := cmp.Diff([]string{exported[0], exported[2], exported[3]}, p.names()); diff != "" {
			t.Error(diff)
		}
		p.orchagent.Allow(denied)
		p.over(d)
		if o := p.reconcile(e, exports(4096, "Ethernet0")); o.Problems != nil {
			t.Errorf("%q", o.Problems)
		}
		if diff := cmp.Diff(taken[:4], p.orchagent.Taken()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("orchagent does not make the table", func(t *testing.T) { // whose type it refused
		p := newPlace(t).start("202405")
		p.orchagent.Reject("ACL_TABLE_TYPE|SLUICE_ROCE")
		p.set("SFLOW", "global", "admin_state", "up")
		d := p.driver()
		d.said.patience = time.Second
		o := p.reconcile(p.engine(d), exports(4096, "Ethernet0"))
		if len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "has not made it within 1s") {
			t.Errorf("%+v", o)
		}
		if diff := cmp.Diff(exported[3:4], p.names()); diff != "" {
			t.Error(diff)
		}
		p.until("a warm restart is possible", func() bool { return len(p.orchagent.Pending()) == 0 })
	})
	t.Run("orchagent does not answer", func(t *testing.T) {
		p := newPlace(t).start("202405")
		p.set("SFLOW", "global", "admin_state", "up")
		p.orchagent.Stop() // it hangs
		d := p.driver()
		d.said.patience = 100 * time.Millisecond
		o := p.reconcile(p.engine(d), exports(4096, "Ethernet0"))
		if o.Problems != nil {
			t.Errorf("%+v", o)
		}
		if diff := cmp.Diff(exported[:4], p.names()); diff != "" {
			t.Error(diff)
		}
		if w := d.Warnings(); len(w) != 3 || !strings.Contains(w[0], "not confirmed") {
			t.Errorf("%q", w)
		}
	})
	t.Run("orchagent does not run", func(t *testing.T) {
		p := newPlace(t)
		_, err := p.engine(p.driver()).Reconcile(exports(4096, "Ethernet0"))
		if err == nil || !strings.Contains(err.Error(), "orchagent has not written SWITCH_CAPABILITY|switch") {
			t.Errorf("%v", err)
		}
	})
}

// TestOthersRows: rows of other owners are as they were, whatever we do; one that
// has our name is refused.
func TestOthersRows(t *testing.T) {
	p := newPlace(t)
	p.set("ACL_TABLE", "DATAACL", "policy_desc", "of the operator", "type", "L3", "stage", "ingress", "ports@", "Ethernet0")
	p.set("ACL_RULE", "DATAACL|RULE_1", "PRIORITY", "10", "PACKET_ACTION", "DROP", "SRC_IP", "10.0.0.1/32")
	p.set("ACL_TABLE", "EVERFLOW", "policy_desc", "EVERFLOW", "type", "MIRROR", "ports@", "Ethernet0,Ethernet4", "stage", "ingress")
	p.set("MIRROR_SESSION", "everflow0", "type", "ERSPAN", "src_ip", "10.1.0.1", "dst_ip", "10.2.0.1")
	p.set("MIRROR_SESSION", "SLUICE_SAMPLE", "type", "SPAN", "dst_port", "Ethernet8", "src_port", "Ethernet0", "direction", "BOTH")
	p.set("ACL_TABLE_TYPE", "SLUICE_ROCE", "MATCHES@", "SRC_IP", "ACTIONS@", "PACKET_ACTION", "BIND_POINTS@", "PORT")
	p.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "DST_IP,SRC_IP", "lag_hash@", "SRC_IP", "ecmp_hash_algorithm", "CRC")
	before := p.rows()
	p.start("proposed")
	e := p.engine(p.driver())
	policy := exports(4096, "Ethernet0")
	policy.Label, policy.ManageHash = &engine.Label{}, true
	o := p.reconcile(e, policy)
	if len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "there is a row MIRROR_SESSION|SLUICE_SAMPLE that Sluice did not write") {
		t.Errorf("%q", o.Problems)
	}
	after := p.rows()
	if hash := after["SWITCH_HASH|GLOBAL"]["ecmp_hash@"]; hash != "DST_IP,SRC_IP,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL" {
		t.Errorf("ecmp_hash %q", hash)
	}
	after["SWITCH_HASH|GLOBAL"] = before["SWITCH_HASH|GLOBAL"]
	if diff := cmp.Diff(before, after); diff != "" {
		t.Error(diff)
	}
	// A row of another owner with the name of Sluice's is refused, and not only the
	// session.
	p.remove("MIRROR_SESSION", "SLUICE_SAMPLE")
	o = p.reconcile(e, policy)
	if len(o.Problems) != 1 || !strings.Contains(o.Problems[0], "ACL_TABLE_TYPE|SLUICE_ROCE that Sluice did not write") {
		t.Errorf("%q", o.Problems)
	}
	p.reconcile(e, engine.Policy{})
	delete(before, "MIRROR_SESSION|SLUICE_SAMPLE")
	if diff := cmp.Diff(before, p.rows()); diff != "" {
		t.Error(diff)
	}
}
