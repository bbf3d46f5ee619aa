// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

const placedFlows = 64

// placing is a leaf that places flows.
func placing(t *testing.T, args ...string) *leaf {
	t.Helper()
	if _, err := os.Stat(seedSetting); err != nil {
		t.Skip("needs Linux 6.11: ", err)
	}
	l := newLeaf(t)
	l.place(args...)
	return l
}

// place starts sluiced with placement, and lets it place the flows of sessions.
func (l *leaf) place(args ...string) {
	l.t.Helper()
	l.start(args...)
	l.enable()
	l.choose()
	l.awaitFields("SLUICE_STATE", "global", "placement", "active")
	l.placed()
}

// choose writes the row that has labels chosen.
func (l *leaf) choose(pairs ...string) {
	l.t.Helper()
	l.set("SLUICE_PLACEMENT", "global", append([]string{"admin_state", "enabled", "sampling_rate", "1", "idle_us", "20000"}, pairs...)...)
}

// placed sends until all flows have entries, and each next hop has as many. A slow machine finds
// them one by one, and those that were found first seem larger for a while.
func (l *leaf) placed() {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * poll) {
		l.send(l.sessions(1))
		if l.row("SLUICE_STATE", "global")["flows"] == fmt.Sprint(placedFlows) && l.even() {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%v; %v", l.row("SLUICE_STATE", "global"), l.table("SLUICE_PLACEMENT_MEMBER"))
		}
	}
}

// even reports whether each next hop has as many flows.
func (l *leaf) even() bool {
	members := l.table("SLUICE_PLACEMENT_MEMBER")
	return !slices.ContainsFunc(l.Uplinks, func(u *fabric.Interface) bool {
		return members[l.group()+"|"+u.Name]["flows"] != fmt.Sprint(placedFlows/len(l.Uplinks))
	})
}

// awaitEven waits until each next hop has as many flows.
func (l *leaf) awaitEven() {
	l.t.Helper()
	l.until("each next hop has as many flows", l.even)
}

// group is the key of the only group of next hops.
func (l *leaf) group() string {
	var links []string
	for _, u := range l.Uplinks {
		links = append(links, u.Name)
	}
	return strings.Join(links, ",")
}

// uplinks are the packets that each uplink has sent.
func (l *leaf) uplinks() (sent []uint64) {
	l.t.Helper()
	for _, u := range l.Uplinks {
		c, err := u.Counters()
		if err != nil {
			l.t.Fatal(err)
		}
		sent = append(sent, c.TxPackets)
	}
	return sent
}

// freeze sets that no flow moves. On a slow machine rates of flows differ, and one may have moved
// just before: then flows are placed again.
func (l *leaf) freeze() {
	l.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		l.choose("moves", "never")
		l.set("SLUICE_PORT", "refused", "role", "none") // what was written before it is in force when it is reported
		l.awaitFields("SLUICE_STATE", "global", "config_errors", "1")
		l.remove("SLUICE_PORT", "refused")
		l.awaitFields("SLUICE_STATE", "global", "config_errors", "0")
		before := l.uplinks()
		l.send(l.sessions(1))
		after := l.uplinks()
		even := true
		for i := range after {
			even = even && after[i]-before[i] == placedFlows/uint64(len(after))
		}
		if even {
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("uplinks sent %v packets, then %v", before, after)
		}
		l.choose()
		l.placed()
	}
}

// evenly sends sessions, checks that each uplink carries as much, and returns the labels.
func (l *leaf) evenly(what string) map[uint32]uint32 {
	l.t.Helper()
	const packets = 3
	before := l.uplinks()
	arrived := flowLabels(l.t.(*testing.T), l.send(l.sessions(packets)))
	for i, sent := range l.uplinks() {
		if n, want := sent-before[i], uint64(packets*placedFlows/len(before)); n != want {
			l.t.Errorf("%s: %s sent %d packets, want %d", what, l.Uplinks[i].Name, n, want)
		}
	}
	if labels := slices.Compact(slices.Sorted(maps.Values(arrived))); len(labels) != placedFlows || labels[0] == 0 {
		l.t.Errorf("%s: %d flows have %d labels, the lowest is %#x", what, len(arrived), len(labels), labels[0])
	}
	return arrived
}

// Flows are placed evenly, and predicted = measured; a killed process changes no label, nor
// does its successor, which knows the paths. The seed that another program sets stops
// placement, and that of before comes back in the end.
func TestPlacedLabelsOutliveSluiced(t *testing.T) {
	t.Parallel()
	for method, args := range map[string][]string{"entries": nil, "rewrite": {"--sai-profile", "SLUICE_HIDE=compute"}} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			l := placing(t, args...)
			l.awaitFields("SLUICE_CAPABILITY", "switch", "placement_method", method, "placement_state", "active")
			l.freeze()
			before := l.evenly("placed")
			l.await("SLUICE_FLOW", flowID(0x100), func(f map[string]string) bool {
				return f["src_port"] == "49152" && f["flow_label"] == fmt.Sprint(before[0x100]) && strings.HasPrefix(f["path"], "Ethernet")
			})

			if dry := l.in(bin+"sluiced", "--db-config", l.redis.Config, "--dry-run"); !strings.Contains(dry, "nothing to do") {
				t.Errorf("a dry run prints %s", dry)
			}

			objects := l.objects()
			l.sluiced.Kill()
			if now := l.evenly("killed"); !maps.Equal(now, before) {
				t.Error("labels changed when sluiced was killed")
			}
			l.launch(args...)
			l.awaitFields("SLUICE_STATE", "global", "state", "running", "flows", fmt.Sprint(placedFlows), "placement", "active")
			l.awaitEven()
			if now := l.evenly("started again"); !maps.Equal(now, before) {
				t.Error("labels changed when sluiced was started again")
			}
			l.until("the ledger has the same objects", func() bool { return maps.Equal(l.objects(), objects) })
			l.awaitFields("SLUICE_PLACEMENT_GROUP", l.group(), "state", "active", "adopted", fmt.Sprint(placedFlows), "moves", "0", "model_error_percent", "0.0")

			if method == "entries" { // Redis loses all: SONiC loads its configuration again
				if err := l.redis.Restart(true); err != nil {
					t.Fatal(err)
				}
				l.await("SLUICE_STATE", "global", func(f map[string]string) bool { return strings.Contains(f["warnings"], "lost its PORT rows") })
				l.ports()
				l.labels()
				l.choose("moves", "never")
				l.awaitFields("SLUICE_STATE", "global", "state", "running", "flows", fmt.Sprint(placedFlows), "placement", "active")
				l.awaitEven()
				l.until("the ledger has the same objects", func() bool { return maps.Equal(l.objects(), objects) })
				if now := l.evenly("Redis was emptied"); !maps.Equal(now, before) {
					t.Error("labels changed when Redis was emptied")
				}
			}

			if method == "rewrite" || soak { // sluiced is killed, and Redis loses all
				l.sluiced.Kill()
				if err := l.redis.Restart(true); err != nil {
					t.Fatal(err)
				}
				l.launch(args...)
				l.ports()
				l.labels()
				l.choose("moves", "never")
				l.awaitFields("SLUICE_STATE", "global", "state", "running", "flows", fmt.Sprint(placedFlows), "placement", "active")
				l.awaitEven()
				l.awaitFields("SLUICE_PLACEMENT_GROUP", l.group(), "state", "active", "adopted", fmt.Sprint(placedFlows), "moves", "0")
				l.until("the ledger has the same objects", func() bool { return maps.Equal(l.objects(), objects) })
				if now := l.evenly("killed, and Redis was emptied"); !maps.Equal(now, before) {
					t.Error("labels changed when sluiced was killed and Redis emptied")
				}
			}

			// A label of the sender's own is left alone.
			own := l.frame(packet{qp: 0x999, label: 7})
			if now := flowLabels(t, l.send([][]byte{own, own, own})); now[0x999] != 7 {
				t.Errorf("a label of the sender's own became %#x", now[0x999])
			}

			if err := l.Leaf.Sysctl("net.ipv4.fib_multipath_hash_seed", "4711"); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			l.await("SLUICE_PLACEMENT_GROUP", l.group(), func(f map[string]string) bool {
				return f["state"] == "degraded" && strings.Contains(f["reason"], "fib_multipath_hash_seed is 4711")
			})
			t.Logf("degraded %v after the seed was changed", time.Since(begun))
			l.awaitFields("SLUICE_STATE", "global", "state", "degraded", "placement", "degraded")
			if now := flowLabels(t, l.send(l.sessions(1))); !maps.Equal(now, before) {
				t.Error("labels changed when another program set the seed")
			}

			if soak { // the next process sets the seed that it is to be
				l.sluiced.Kill()
				l.launch(args...)
				l.awaitFields("SLUICE_STATE", "global", "state", "running", "placement", "active")
				l.awaitEven()
				l.awaitFields("SLUICE_PLACEMENT_GROUP", l.group(), "state", "active", "moves", "0")
				if now := l.evenly("started with another seed"); !maps.Equal(now, before) {
					t.Error("labels changed when sluiced was started with another seed")
				}
				l.choose()
				l.rebalanced()
			}

			l.remove("SLUICE_PLACEMENT", "global")
			l.awaitFields("SLUICE_STATE", "global", "placement", "disabled", "state", "running")
			if seed := strings.TrimSpace(l.in("cat", seedSetting)); seed != "1" {
				t.Errorf("the seed is %s, and was 1 before", seed)
			}
			if groups := l.table("SLUICE_PLACEMENT_GROUP"); len(groups) != 0 {
				t.Errorf("rows are left: %v", groups)
			}
			l.stop()
		})
	}
}

// flowID is the key of a flow in SLUICE_FLOW.
func flowID(qp uint32) string {
	return fmt.Sprintf("%s,%s,%06x", fabric.HostA.Addr(), fabric.HostB.Addr(), qp)
}

// rebalanced sends by the flows of one next hop alone until some have moved, and checks that
// each flow then leaves where its row says.
func (l *leaf) rebalanced() {
	l.t.Helper()
	paths := func() map[string]string { // by flow
		all := map[string]string{}
		for id, f := range l.table("SLUICE_FLOW") {
			all[id] = f["path"]
		}
		return all
	}
	settled := func() string {
		return l.awaitFields("SLUICE_PLACEMENT_GROUP", l.group(), "state", "active", "model_error_percent", "0.0")["moves"]
	}
	before := paths()
	var busy []uint32
	for i := range uint32(placedFlows) {
		if qp := 0x100 + i; before[flowID(qp)] == l.Uplinks[0].Name {
			busy = append(busy, qp)
		}
	}
	for deadline, psn := time.Now().Add(patience), uint32(0); settled() == "0"; psn++ {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d flows of %s send alone, and none moves: %v", len(busy), l.Uplinks[0].Name, l.row("SLUICE_PLACEMENT_GROUP", l.group()))
		}
		var frames [][]byte
		for _, qp := range busy {
			frames = append(frames, l.frame(packet{qp: qp, psn: psn}))
		}
		l.send(frames)
	}
	for deadline := time.Now().Add(patience); ; {
		moves, now, sent := settled(), paths(), l.uplinks()
		l.send(l.sessions(3))
		after := l.uplinks()
		wrong := ""
		for i, u := range l.Uplinks {
			want := uint64(0)
			for _, path := range now {
				if path == u.Name {
					want += 3
				}
			}
			if n := after[i] - sent[i]; n != want {
				wrong += fmt.Sprintf("%s sent %d packets, and its flows %d; ", u.Name, n, want)
			}
		}
		if wrong == "" && !maps.Equal(now, before) {
			l.t.Logf("%s moves, each flow where its row says", moves)
			return
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("after %s moves: %s", moves, wrong)
		}
	}
}

// Flows that send in bursts move in the pauses: while paths differ by 25 ms no packet
// overtakes another, none is lost, and every ICRC is right. Flows that move while they send
// have one gap of the sequence numbers a move at most.
func TestMovesBetweenBurstsKeepOrder(t *testing.T) {
	if !soak {
		t.Skip("make soak runs it: it takes 25 s")
	}
	t.Run("idle", func(t *testing.T) {
		l, sent, arrived := bursts(t, "idle", "40000", senderPause)
		l.inSequence(sent, arrived, false)
	})
	for name, pause := range map[string]time.Duration{"any": senderPause, "any without pauses": 0} {
		t.Run(name, func(t *testing.T) { // no flow pauses for idle_us
			l, sent, arrived := bursts(t, "any", "1000000", pause)
			l.inSequence(sent, arrived, true)
		})
	}
}

const senderPause = 80 * time.Millisecond

// bursts sends bursts of flows whose sizes change once.
func bursts(t *testing.T, moves, idle string, pause time.Duration) (l *leaf, sent int, arrived []fabric.Frame) {
	const flows, rounds = 16, 40
	needsPrograms(t)
	shape, err := fabrictest.New(t).LeafSpineOf(0, 25*time.Millisecond, 0, 25*time.Millisecond)
	fabrictest.Check(t, err)
	l = newSwitch(t, shape)
	l.place()
	l.set("SLUICE_PLACEMENT", "global", "admin_state", "enabled", "idle_us", idle, "moves", moves)
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	sender, err := l.A.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	psn := map[uint32]uint32{}
	for round := range rounds {
		for k := range 40 {
			for i := range flows { // the sizes are others in the second half
				size := 40 / (i + 1)
				if round >= rounds/2 {
					size = 40 / (flows - i)
				}
				if k >= max(1, size) {
					continue
				}
				qp := 0x100 + uint32(i)
				if err := sender.Send(l.frame(packet{qp: qp, psn: psn[qp]})); err != nil {
					t.Fatal(err)
				}
				psn[qp]++
				sent++
			}
			time.Sleep(2 * time.Millisecond)
		}
		time.Sleep(pause) // of the senders
	}
	for deadline := time.Now().Add(patience); c.Len() < sent && time.Now().Before(deadline); time.Sleep(poll) {
	}
	if arrived, err = c.Stop(); err != nil {
		t.Fatal(err)
	}
	return l, sent, arrived
}

// inSequence checks what arrived of bursts: all, unchanged, and each flow in sequence, but
// for one gap a move where flows may move while they send.
func (l *leaf) inSequence(sent int, arrived []fabric.Frame, busy bool) {
	l.t.Helper()
	labels, gaps, late := map[uint32]map[uint32]uint32{}, map[uint32]int{}, 0 // by queue pair; labels by PSN
	next := map[uint32]uint32{}
	var p roce.Packet
	for _, f := range arrived {
		if err := p.Parse(f.Data, len(f.Data)); err != nil {
			l.t.Fatal(err)
		}
		if got, want, ok := p.ICRC(); !ok || got != want {
			l.t.Fatalf("ICRC is %#x, want %#x", got, want)
		}
		qp, psn := p.DestQP(), p.PSN()
		switch {
		case psn > next[qp]: // the receiver asks for what is missing
			gaps[qp]++
		case psn < next[qp]:
			late++
		}
		next[qp] = max(next[qp], psn+1)
		if labels[qp] == nil {
			labels[qp] = map[uint32]uint32{}
		}
		labels[qp][psn] = p.FlowLabel()
	}
	moved, all, got := 0, 0, 0
	for qp, by := range labels {
		moves := 0
		for psn := uint32(1); psn < next[qp]; psn++ {
			if by[psn] != by[psn-1] {
				moves++
			}
		}
		if gaps[qp] > moves {
			l.t.Errorf("queue pair %#x moved %d times, and has %d gaps", qp, moves, gaps[qp])
		}
		moved, all, got = moved+moves, all+gaps[qp], got+len(by)
	}
	row := l.await("SLUICE_PLACEMENT_GROUP", l.group(), func(f map[string]string) bool {
		counted, err := strconv.Atoi(f["moves"]) // a move without a packet behind it is not seen
		return err == nil && counted >= moved
	})
	unsafe := number(l.t, row["unsafe_moves"])
	l.t.Logf("%d packets, %d arrived, %s moves, %d while the flow sent: %d seen in packets, %d gaps, %d packets late", sent, got, row["moves"], unsafe, moved, all, late)
	if got != sent || len(arrived) != sent || moved == 0 {
		l.t.Errorf("%d of %d packets arrived, %d of them once, %d moves", len(arrived), sent, got, moved)
	}
	if (unsafe > 0) != busy || all > unsafe || !busy && late > 0 {
		l.t.Errorf("%d gaps, %d packets late, %d moves of flows that were not idle", all, late, unsafe)
	}
}

func number(t testing.TB, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
