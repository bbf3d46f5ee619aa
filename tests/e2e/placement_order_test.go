// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/yang/rows"
)

// On a switch that sluiced does not know as the kernel the order of next hops is that of
// ASIC_DB, where orchagent has programmed them, else that of the kernel, with the reason. The
// flows keep their labels.
func TestOrderOfNextHopsIsThatOfASICDB(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start(l.vendorLibrary()...)
	l.enable()
	l.choose()
	l.until("all flows have entries", func() bool {
		l.send(l.sessions(1))
		return l.row("SLUICE_STATE", "global")["flows"] == fmt.Sprint(placedFlows)
	})
	group := l.awaitFields("SLUICE_PLACEMENT_GROUP", l.group(), "member_order", "kernel", "model", "learned", "state", "degraded")
	if !strings.Contains(group["member_order_reason"], "ASIC_DB") {
		t.Errorf("%v", group)
	}
	l.awaitFields("SLUICE_STATE", "global", "placement", "degraded") // no packet told its path
	labels := l.entryLabels()

	databases, err := sonicdb.Load(l.redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	asicDB, err := sonicdb.Open(databases, "ASIC_DB", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer asicDB.Close()
	order := slices.Clone(l.Uplinks)
	slices.Reverse(order)
	interfaces := map[string]string{}
	object := func(kind, id string, fields ...string) sonicdb.Change {
		r := rows.Row{Table: "ASIC_STATE", Key: "SAI_OBJECT_TYPE_" + kind + ":oid:" + id, Fields: map[string]string{}}
		for i := 0; i < len(fields); i += 2 {
			r.Fields["SAI_"+kind+"_ATTR_"+fields[i]] = fields[i+1]
		}
		return sonicdb.Change{Row: r}
	}
	all := []sonicdb.Change{object("NEXT_HOP_GROUP", "0x5000000000001", "TYPE", "SAI_NEXT_HOP_GROUP_TYPE_DYNAMIC_UNORDERED_ECMP")}
	for i, u := range order {
		interfaces[u.Name] = fmt.Sprintf("oid:0x600000000000%d", i)
		all = append(all,
			object("NEXT_HOP", fmt.Sprintf("0x400000000000%d", i), "IP", u.Peer().LinkLocal.WithZone("").String(), "ROUTER_INTERFACE_ID", interfaces[u.Name]),
			object("NEXT_HOP_GROUP_MEMBER", fmt.Sprintf("0x2d00000000000%d", i), "NEXT_HOP_GROUP_ID", "oid:0x5000000000001", "NEXT_HOP_ID", fmt.Sprintf("oid:0x400000000000%d", i)))
	}
	if err := l.countersDB.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: "COUNTERS_RIF_NAME_MAP", Fields: interfaces}}); err != nil {
		t.Fatal(err)
	}
	if err := asicDB.Write(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
	group = l.awaitFields("SLUICE_PLACEMENT_GROUP", l.group(), "member_order", "asic_db")
	if reason := group["member_order_reason"]; reason != "" {
		t.Errorf("the order is known, and the reason is %q", reason)
	}

	gone := all[len(all)-1]
	gone.Deleted = true
	if err := asicDB.Write(t.Context(), gone); err != nil { // a link that is down, and the kernel does not know
		t.Fatal(err)
	}
	group = l.awaitFields("SLUICE_PLACEMENT_GROUP", l.group(), "member_order", "kernel")
	if !strings.Contains(group["member_order_reason"], "ASIC_DB has no next-hop group of these next hops") {
		t.Errorf("%v", group)
	}
	if now := l.entryLabels(); len(labels) != placedFlows || !maps.Equal(now, labels) {
		t.Errorf("labels changed: %v, %v", labels, now)
	}
	l.stop()
}

// entryLabels are the labels of the flows that have rows, by queue pair.
func (l *leaf) entryLabels() map[string]string {
	labels := map[string]string{}
	for _, f := range l.table("SLUICE_FLOW") {
		labels[f["dest_qp"]] = f["flow_label"]
	}
	return labels
}

// vendorLibrary is the software switch by another name, which sluiced takes for an ASIC's.
func (l *leaf) vendorLibrary() []string {
	l.t.Helper()
	text, err := os.ReadFile(bin + "libsoftsai.so")
	if err != nil {
		l.t.Fatal(err)
	}
	library := filepath.Join(l.t.TempDir(), "libvendor.so")
	if err := os.WriteFile(library, text, 0o755); err != nil {
		l.t.Fatal(err)
	}
	var ports []string
	for i, p := range append([]*fabric.Interface{l.LeafA}, l.Uplinks...) {
		ports = append(ports, fmt.Sprintf("%s:%d", p.Name, 4*i))
	}
	return []string{"--sai-library", library, "--sai-profile", "SLUICE_PORTS=" + strings.Join(ports, " "), "--sai-profile", "SLUICE_HIDE=compute"}
}
