// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// tc shows what traffic control has on netdevs, but for the TAP of holds, which comes and goes
// with its process.
func tc(t testing.TB, args ...string) string {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.Command("tc", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tc %v: %v: %s%s", args, err, out, &stderr)
	}
	lines := slices.DeleteFunc(strings.SplitAfter(string(out), "\n"), func(line string) bool {
		return strings.Contains(line, holdNetdev)
	})
	return strings.Join(lines, "")
}

// wantNoTrace checks that no qdisc of the library's is in the namespace.
func wantNoTrace(t *testing.T) {
	t.Helper()
	if out := tc(t, "qdisc", "show"); strings.Contains(out, "clsact") || strings.Contains(out, "htb") {
		t.Errorf("left behind:\n%s", out)
	}
}

// After kill -9 the switch goes on, and the next process finds its objects.
func TestOutlivesTheProcess(t *testing.T) {
	f := newFabric(t)
	before := settings(t)
	d := startDriver(t)
	d.do("switch " + allPorts)
	table := newTable(t, d, "in")
	counter := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1 ENABLE_BYTE_COUNT=1", table)
	entry := d.id("create entry TABLE_ID=%s PRIORITY=7 %s %s=0 ACTION_COUNTER=%s", table, fieldRoCE, compute, counter)
	d.do("set hash %s %s=%s", defaultHash, hashList, withLabel)
	managed := settings(t)
	frames := queuePairs(64)
	f.forward(frames, qpOf)
	counted := d.number("get counter %s PACKETS", counter)
	if counted < uint64(len(frames)) {
		t.Errorf("%d packets counted, want at least %d", counted, len(frames))
	}
	d.kill()

	// Without a process labels are written all the same.
	out, path := f.forward(frames, qpOf)
	if spread(path) > 2 {
		t.Errorf("after kill -9 max ÷ mean is %.2f, want at most 2", spread(path))
	}
	for i := range out {
		if label := out[i][15] | out[i][16] | out[i][17]; label == 0 {
			t.Fatalf("frame %d has no label", i)
		}
	}

	d = startDriver(t)
	d.do("switch " + allPorts)
	if got := settings(t); got != managed {
		t.Errorf("multipath settings %v, want %v", got, managed)
	}
	if got := d.do("get port %s INGRESS_ACL", portID(t, "in"))[0]; got != table {
		t.Errorf("bound table %s, want %s", got, table)
	}
	if got := d.do("get table %s ENTRY_LIST", table); len(got) != 1 || got[0] != entry {
		t.Errorf("entries %v, want %s", got, entry)
	}
	if got := d.number("get entry %s PRIORITY", entry); got != 7 {
		t.Errorf("priority %d, want 7", got)
	}
	if got := d.do("get entry %s ACTION_COUNTER", entry)[0]; got != counter {
		t.Errorf("counter %s, want %s", got, counter)
	}
	if got := d.number("get counter %s PACKETS", counter); got < counted+uint64(len(frames)) {
		t.Errorf("%d packets counted, want at least %d: those of both processes", got, counted+uint64(len(frames)))
	}
	second := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1", table)
	if second == counter || second == entry || second == table {
		t.Errorf("id %s came twice", second)
	}
	if status, _ := d.try("remove counter %s", counter); status != statusObjectInUse {
		t.Errorf("a counter in use: status %d, want %d", status, statusObjectInUse)
	}
	d.do("remove-switch") // releases the switch, removes nothing
	d.stop()
	if _, path := f.forward(frames, qpOf); spread(path) > 2 {
		t.Errorf("after remove-switch max ÷ mean is %.2f, want at most 2", spread(path))
	}

	// A cold start wipes.
	d = startDriver(t)
	d.do("switch SLUICE_COLD=1 " + allPorts)
	if status, _ := d.try("get table %s ENTRY_LIST", table); status != statusInvalidObjectID {
		t.Errorf("a table after a cold start: status %d, want %d", status, statusInvalidObjectID)
	}
	if got := settings(t); got != before {
		t.Errorf("multipath settings %v, want %v as before", got, before)
	}
	d.do("remove-switch")
	wantNoTrace(t)
}

// No packet is lost, and none goes without its label, while another process takes over.
func TestTakeoverUnderTraffic(t *testing.T) {
	f := newFabric(t)
	d := startDriver(t)
	d.do("switch " + allPorts)
	table := newTable(t, d, "in")
	d.do("create entry TABLE_ID=%s %s %s=0", table, fieldRoCE, compute)
	d.do("set hash %s %s=%s", defaultHash, hashList, withLabel)
	frames := queuePairs(1)
	f.forward(frames, qpOf) // the links are up
	d.kill()

	f.takeOver(startDriver(t), frames[0])
}

// takeOver creates the switch while a frame after the other is forwarded: none is lost, and
// none has no label.
func (f *fabric) takeOver(d *driver, frame []byte) {
	f.t.Helper()
	t := f.t
	if _, err := d.in.Write([]byte("switch " + allPorts + "\n")); err != nil {
		t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		line, err := d.out.ReadString('\n')
		if err != nil {
			line = err.Error()
		}
		answered <- line
	}()
	sent := 0
	for done := false; !done; sent++ {
		select {
		case line := <-answered:
			if !strings.HasPrefix(line, "0 ") {
				t.Fatal("create the switch: ", line)
			}
			done = true
		default:
		}
		f.wire.send(f.in, frame)
		deadline := time.Now().Add(patience)
		for arrived := false; !arrived; {
			from, out, ok := f.wire.receive()
			if !ok && time.Now().After(deadline) {
				t.Fatalf("packet %d was lost", sent)
			}
			if _, isPath := f.path[from]; isPath && isRoCE(out) {
				arrived = true
				if labelOf(out) == 0 {
					t.Fatalf("packet %d has no label", sent)
				}
			}
		}
	}
	t.Logf("%d packets passed", sent)
}

// A netdev that the profile no longer names is released; the other ports keep what they have.
func TestFewerPorts(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	link(t, "port1", "far1")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0+port1")
	table := newTable(t, d, "port0")
	d.do("set port %s INGRESS_ACL=%s", portID(t, "port1"), table)
	d.do("create entry TABLE_ID=%s %s %s=5", table, fieldRoCE, setLabel)
	d.kill()

	d = startDriver(t)
	d.do("switch SLUICE_PORTS=port1")
	if out := tc(t, "qdisc", "show", "dev", "port0"); strings.Contains(out, "clsact") {
		t.Errorf("port0 is no longer a port:\n%s", out)
	}
	if _, out := startRunner(t, "port1").run(roceFrame(hostA, hostB, 1, 1)); labelOf(out) != 5 {
		t.Errorf("port1 writes label %d, want 5", labelOf(out))
	}
	d.do("remove-switch")
	d.stop()

	// Other ports altogether: the switch is found at the ones it had.
	d = startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	d.do("set port %s INGRESS_ACL=%s", portID(t, "port0"), table)
	if _, out := startRunner(t, "port0").run(roceFrame(hostA, hostB, 1, 1)); labelOf(out) != 5 {
		t.Errorf("port0 writes label %d, want 5", labelOf(out))
	}
}
