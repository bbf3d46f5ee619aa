// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/yang/rows"
)

// withOrchagent is a leaf whose switch belongs to a little orchagent of a release,
// with rows of the operator's own. sluiced has no SAI library.
func withOrchagent(t *testing.T, release string) (*leaf, *orchagenttest.Orchagent) {
	t.Helper()
	l := newLeaf(t)
	databases, err := sonicdb.Load(l.redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	o := orchagenttest.Start(t, databases, orchagenttest.ByName(release))
	l.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP,DST_IP,L4_SRC_PORT")
	l.set("ACL_TABLE", "DATAACL", "policy_desc", "operator", "type", "L3", "stage", "ingress", "ports@", l.LeafA.Name)
	l.set("MIRROR_SESSION", "everflow0", "type", "ERSPAN", "src_ip", "10.1.0.1", "dst_ip", "10.2.0.1")
	l.set("SLUICE", "global", "driver", "orchagent")
	return l, o
}

var noLibrary = []string{"--sai-library", "", "--state-file", "off"}

// rowsOf are the rows that orchagent takes, by name.
func (l *leaf) rowsOf() map[string]map[string]string {
	l.t.Helper()
	all, err := l.config.Read(l.t.Context(), "ACL_TABLE_TYPE", "ACL_TABLE", "ACL_RULE", "MIRROR_SESSION", "SWITCH_HASH")
	if err != nil {
		l.t.Fatal(err)
	}
	produced, err := l.appl.Produced(l.t.Context(),
		rows.Row{Table: "ACL_TABLE_TYPE_TABLE", Key: "SLUICE_ROCE"}, rows.Row{Table: "ACL_TABLE_TABLE", Key: "SLUICE_ROCE"},
		rows.Row{Table: "ACL_RULE_TABLE", Key: "SLUICE_ROCE:SLUICE_CM"}, rows.Row{Table: "ACL_RULE_TABLE", Key: "SLUICE_ROCE:SLUICE_CNP"})
	if err != nil {
		l.t.Fatal(err)
	}
	found := map[string]map[string]string{}
	for _, r := range append(all, produced...) {
		found[r.Name()] = r.Fields
	}
	return found
}

// count writes a row of COUNTERS_DB, as orchagent does.
func (l *leaf) count(table, key string, pairs ...string) {
	l.t.Helper()
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	if err := l.countersDB.Write(l.t.Context(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err != nil {
		l.t.Fatal(err)
	}
}

// collect starts a collector beside sluiced, and has flows exported to it.
func (l *leaf) collect(rate string) *ipfixtest.Collector {
	l.t.Helper()
	var collector *ipfixtest.Collector
	if err := l.Leaf.Do(func() error {
		collector = ipfixtest.Listen(l.t, "udp", "127.0.0.1:0", nil)
		return nil
	}); err != nil {
		l.t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(collector.Addr)
	if err != nil {
		l.t.Fatal(err)
	}
	l.set("SLUICE_IPFIX_COLLECTOR", "c1", "address", host, "port", port)
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "sampling_rate", rate)
	return collector
}

// TestOrchagentTakesTheRowsAndGivesThemUp: without a SAI library rows appear, orchagent takes them, what
// comes in by the ports' netdevs is exported, and nothing is left afterwards.
func TestOrchagentTakesTheRowsAndGivesThemUp(t *testing.T) {
	t.Parallel()
	l, o := withOrchagent(t, "proposed")
	before := l.rowsOf()
	l.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true")
	dry := l.in(bin+"sluiced", "--db-config", l.redis.Config, "--dry-run")
	for _, line := range []string{"create  SWITCH_HASH|GLOBAL|ecmp_hash|RDMA_BTH_DEST_QP", "create  SWITCH_HASH|GLOBAL|ecmp_hash|IPV6_FLOW_LABEL"} {
		if !strings.Contains(dry, line) {
			t.Errorf("no %q in\n%s", line, dry)
		}
	}
	if diff := cmp.Diff(before, l.rowsOf()); diff != "" {
		t.Errorf("a dry run writes: %s", diff)
	}
	l.count("COUNTERS", "oid:0x1", "SAI_PORT_STAT_IF_IN_UCAST_PKTS", "40", "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS", "2", "SAI_PORT_STAT_IF_IN_OCTETS", "4242")
	l.count("COUNTERS", "oid:0x2", "SAI_QUEUE_STAT_PACKETS", "7", "SAI_QUEUE_STAT_BYTES", "700", "SAI_QUEUE_STAT_DROPPED_PACKETS", "1")
	l.count("PERIODIC_WATERMARKS", "oid:0x2", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "12345")
	l.count("COUNTERS_PORT_NAME_MAP", "", l.LeafA.Name, "oid:0x1")
	l.count("COUNTERS_QUEUE_NAME_MAP", "", l.LeafA.Name+":3", "oid:0x2")
	memory := filepath.Join(t.TempDir(), "sluiced.json")
	l.start(append(noLibrary, "--state-file", memory)...)
	l.enable()
	collector := l.collect("256")
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "driver", "orchagent", "objects", "7", "flow_label_method", "hash")
	l.awaitFields("SLUICE_CAPABILITY", "switch", "flow_label_method", "hash", "flow_label_state", "active", "export_method", "mirror", "export_state", "active", "hold_method", "none",
		"flow_label_reason", "compute: SONiC has no ACL action that writes a flow label; rewrite: SONiC has no ACL action that writes a flow label")
	want := []string{
		"ACL_RULE|SLUICE_ROCE|SLUICE_CM", "ACL_RULE|SLUICE_ROCE|SLUICE_CNP", "ACL_TABLE_TYPE|SLUICE_ROCE", "ACL_TABLE|DATAACL",
		"ACL_TABLE|SLUICE_ROCE", "MIRROR_SESSION|SLUICE_SAMPLE", "MIRROR_SESSION|everflow0", "SWITCH_HASH|GLOBAL",
	}
	if diff := cmp.Diff(want, o.Taken()); diff != "" {
		t.Error(diff)
	}
	if hash := o.Fields("SWITCH_HASH", "GLOBAL")["ecmp_hash"]; hash != "SRC_IP,DST_IP,L4_SRC_PORT,RDMA_BTH_DEST_QP,IPV6_FLOW_LABEL" {
		t.Errorf("ecmp_hash %q", hash)
	}
	l.awaitCounters("SLUICE_PORT_STATS", l.LeafA.Name, "rx_packets", "42")
	l.awaitCounters("SLUICE_QUEUE_STATS", l.LeafA.Name+"|3", "watermark_bytes", "12345")

	if text, err := os.ReadFile(memory); err != nil || !strings.Contains(string(text), "RDMA_BTH_DEST_QP") {
		t.Errorf("what outlives a reboot: %s, %v", text, err)
	}
	frames := l.sessions(5)
	l.send(frames)
	l.awaitCounters("SLUICE_STATS", "global", "cpu_roce", fmt.Sprint(len(frames)))
	l.set("SLUICE_IPFIX", "global", "admin_state", "disabled")
	packets := uint64(0)
	for _, r := range collector.WaitRecords(t, 64) {
		packets += r["packetDeltaCount"].(uint64)
		if r["ingressInterface"] != uint64(l.LeafA.Index) {
			t.Errorf("%v", r)
		}
	}
	if packets != uint64(len(frames)) {
		t.Errorf("%d packets, want %d", packets, len(frames))
	}
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "objects", "2")
	l.set("SLUICE", "global", "driver", "orchagent", "admin_state", "disabled")
	l.awaitFields("SLUICE_STATE", "global", "state", "disabled", "objects", "0")
	if diff := cmp.Diff(before, l.rowsOf()); diff != "" {
		t.Errorf("left: %s", diff)
	}
	l.set("SLUICE", "global", "driver", "orchagent", "warm_restart", "disabled")
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "objects", "2")
	l.stop()
	if diff := cmp.Diff(before, l.rowsOf()); diff != "" {
		t.Errorf("left: %s", diff)
	}
}

// TestOrchagentToday: what releases of today cannot is said, and not pretended.
func TestOrchagentToday(t *testing.T) {
	t.Parallel()
	l, _ := withOrchagent(t, "202505")
	before := l.rowsOf()
	l.start(noLibrary...)
	l.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled")
	l.collect("4096")
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return f["state"] == "degraded" && f["flow_label"] == "failed" &&
			strings.Contains(f["warnings"], "nothing is sampled for export: ") && strings.Contains(f["warnings"], "the switch cannot mirror samples") &&
			strings.Contains(f["warnings"], "add IPV6_FLOW_LABEL to ecmp_hash of SWITCH_HASH|GLOBAL, or set manage_switch_hash=true")
	})
	if diff := cmp.Diff(before, l.rowsOf()); diff != "" {
		t.Errorf("written: %s", diff)
	}
	l.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true")
	l.awaitFields("SLUICE_STATE", "global", "objects", "1")
	if hash := l.rowsOf()["SWITCH_HASH|GLOBAL"]["ecmp_hash@"]; hash != "SRC_IP,DST_IP,L4_SRC_PORT,IPV6_FLOW_LABEL" {
		t.Errorf("ecmp_hash %q", hash)
	}
	c := l.row("SLUICE_CAPABILITY", "switch")
	if c["export_method"] != "none" || !strings.Contains(c["export_reason"], "sFlow") || !strings.Contains(c["flow_label_reason"], "flows that come with a label can be spread") {
		t.Errorf("%v", c)
	}
	l.set("SFLOW", "global", "admin_state", "up")
	l.await("SLUICE_CAPABILITY", "switch", func(f map[string]string) bool { // a kernel without psample has no samples
		return f["export_method"] == "sflow" || strings.Contains(f["export_reason"], "the kernel has no psample")
	})

	// Killed: the next process finds the field, and takes it out when it ends.
	l.kill()
	l.set("SLUICE", "global", "driver", "orchagent", "warm_restart", "disabled")
	l.start(noLibrary...)
	l.awaitFields("SLUICE_STATE", "global", "objects", "1")
	l.stop()
	if diff := cmp.Diff(before, l.rowsOf()); diff != "" {
		t.Errorf("left: %s", diff)
	}
}

// TestLogCountsWhatIsGone: while orchagent hangs, what sluiced has handed to it does not count as removed.
func TestLogCountsWhatIsGone(t *testing.T) {
	t.Parallel()
	l, o := withOrchagent(t, "202505")
	l.set("SFLOW", "global", "admin_state", "up")
	l.set("SLUICE_PLACEMENT", "global", "admin_state", "enabled")
	l.sluiced = startSampled(t, l.Leaf, l.log, l.redis.Config, l.memory)
	l.until("orchagent has Sluice's tables", func() bool { return o.Fields("ACL_TABLE", "SLUICE_PLACE6") != nil })
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "objects", "4")
	o.Stop()
	l.set("SLUICE_PLACEMENT", "global", "admin_state", "disabled")
	l.until("the log has a warning of each table", func() bool { return strings.Count(l.log.String(), "its entries are still on the switch") >= 2 })
	if text := l.log.String(); strings.Count(text, "removed=")-strings.Count(text, "removed=0") != 0 || !strings.Contains(text, "removed=0 handed_over=4") {
		t.Errorf("orchagent hangs, and the log is\n%s", text)
	}
	databases, err := sonicdb.Load(l.redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	orchagenttest.Start(t, databases, orchagenttest.ByName("202505"))
	l.until("the log has what has gone since", func() bool { return strings.Contains(l.log.String(), "what was handed over is gone") })
	l.stop()
}

// TestChangeOfDriver: the objects of one driver are removed before the other begins,
// in one process and across a kill.
func TestChangeOfDriver(t *testing.T) {
	t.Parallel()
	l, _ := withOrchagent(t, "proposed")
	before, forwarding := l.rowsOf(), l.forwarding()
	l.set("SLUICE", "global", "driver", "sai")
	l.start()
	l.enable()
	l.awaitFields("SLUICE_STATE", "global", "driver", "sai", "flow_label_method", "compute")
	l.allLabelled()

	l.set("SLUICE", "global", "driver", "orchagent")
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "driver", "orchagent", "flow_label_method", "hash", "objects", "2")
	l.noneLabelled()
	if after := l.forwarding(); after != forwarding {
		t.Errorf("forwarding was\n%sand is\n%s", forwarding, after)
	}

	l.kill() // and the driver is another when the next process begins
	l.set("SLUICE", "global", "driver", "sai")
	l.start()
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "driver", "sai", "flow_label_method", "compute")
	l.allLabelled()
	if diff := cmp.Diff(before, l.rowsOf()); diff != "" {
		t.Errorf("left: %s", diff)
	}

	l.kill()
	l.set("SLUICE", "global", "driver", "orchagent")
	l.start()
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "driver", "orchagent")
	if after := l.forwarding(); after != forwarding {
		t.Errorf("forwarding was\n%sand is\n%s", forwarding, after)
	}
	if keys := slices.Sorted(maps.Keys(l.objects())); len(keys) != 2 {
		t.Errorf("the ledger has %v", keys)
	}
	l.stop()
}

// kill kills sluiced, and takes its word away: the next one's is awaited.
func (l *leaf) kill() {
	l.t.Helper()
	l.sluiced.Kill()
	gone := sonicdb.Change{Row: rows.Row{Table: "SLUICE_STATE", Key: "global"}, Deleted: true}
	if err := l.state.Write(l.t.Context(), gone); err != nil {
		l.t.Fatal(err)
	}
}

// TestNoLibrary: the driver sai without a library says what there is to choose.
func TestNoLibrary(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.launch(noLibrary...)
	l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
		return f["state"] == "starting" && strings.Contains(f["last_error"], "no SAI library: give its path with --sai-library") &&
			strings.Contains(f["last_error"], "driver=orchagent")
	})
}
