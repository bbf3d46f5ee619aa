// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"strconv"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
)

// rewriting are the flags with which the CPU computes the labels, so that there
// are rows of flows.
var rewriting = []string{"--sai-profile", "SLUICE_HIDE=compute"}

// label is the flow label of a queue pair between host A and host B.
func label(qp uint32) uint32 {
	return flow.DraftLiteral.Label(0, qp, fabric.HostA.Addr().As16(), fabric.HostB.Addr().As16())
}

// hashed is its Stream ID of scope hash.
func hashed(seed, qp uint32) uint16 {
	return flow.HashStreamID(seed, fabric.HostA.Addr().As16(), fabric.HostB.Addr().As16(), label(qp))
}

// colliding returns the next queue pair behind qp whose hashed id is id, and whose
// label is in no other flow.
func colliding(t *testing.T, qp uint32, id uint16, others ...uint32) uint32 {
	t.Helper()
search:
	for qp++; qp < 1<<24; qp++ {
		if hashed(0, qp) != id {
			continue
		}
		for _, other := range others {
			if label(other) == label(qp) {
				continue search
			}
		}
		return qp
	}
	t.Fatalf("no queue pair has the id %d", id)
	return 0
}

func qps(first, n uint32) []uint32 {
	var all []uint32
	for i := range n {
		all = append(all, first+i)
	}
	return all
}

// learn sends two packets of each flow, so that it gets an entry.
func (l *leaf) learn(of ...uint32) {
	l.t.Helper()
	var frames [][]byte
	for psn := range uint32(2) {
		for _, qp := range of {
			frames = append(frames, l.frame(packet{qp: qp, psn: psn}))
		}
	}
	l.send(frames)
}

// ids are the Stream IDs in SLUICE_FLOW, by queue pair. A flow without one is not
// among them.
func (l *leaf) ids() map[uint32]uint16 {
	found := map[uint32]uint16{}
	for _, f := range l.table("SLUICE_FLOW") {
		qp, err1 := strconv.ParseUint(f["dest_qp"], 10, 24)
		id, err2 := strconv.ParseUint(f["stream_id"], 10, 16)
		if err1 == nil && err2 == nil {
			found[uint32(qp)] = uint16(id)
		}
	}
	return found
}

// awaitIDs waits until there are ids as wanted.
func (l *leaf) awaitIDs(what string, wanted func(map[uint32]uint16) bool) map[uint32]uint16 {
	l.t.Helper()
	for deadline := time.Now().Add(2 * patience); ; time.Sleep(10 * poll) {
		ids := l.ids()
		if wanted(ids) {
			return ids
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%s: not so within %v: ids %v, state %v", what, 2*patience, ids, l.row("SLUICE_STATE", "global"))
		}
	}
}

func count(n int) func(map[uint32]uint16) bool {
	return func(ids map[uint32]uint16) bool { return len(ids) == n }
}

func same(as map[uint32]uint16) func(map[uint32]uint16) bool {
	return func(ids map[uint32]uint16) bool { return maps.Equal(ids, as) }
}

// killed kills sluiced, and deletes what it said in tables of STATE_DB.
func (l *leaf) killed(tables ...string) {
	l.t.Helper()
	l.sluiced.Kill()
	all, err := l.state.Read(l.t.Context(), tables...)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, r := range all {
		if err := l.state.Write(l.t.Context(), sonicdb.Change{Row: r, Deleted: true}); err != nil {
			l.t.Fatal(err)
		}
	}
}

// awaitCounts waits until fields of SLUICE_STATS have values.
func (l *leaf) awaitCounts(pairs ...string) {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * poll) {
		all, err := l.countersDB.Read(l.t.Context(), "SLUICE_STATS")
		wrong := ""
		for i := 0; i < len(pairs) && len(all) == 1; i += 2 {
			if got := all[0].Fields[pairs[i]]; got != pairs[i+1] {
				wrong = fmt.Sprintf("%s is %s, want %s", pairs[i], got, pairs[i+1])
			}
		}
		if err == nil && len(all) == 1 && wrong == "" {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("SLUICE_STATS: %s (%v)", wrong, err)
		}
	}
}

// disjoint checks that no id is of two flows.
func disjoint(t *testing.T, nodes ...map[uint32]uint16) {
	t.Helper()
	owner := map[uint16]uint32{}
	for i, ids := range nodes {
		for qp, id := range ids {
			if other, ok := owner[id]; ok && label(other) != label(qp) {
				t.Errorf("node %d: id %d is of queue pairs %#x and %#x", i, id, qp, other)
			}
			owner[id] = qp
		}
	}
}
