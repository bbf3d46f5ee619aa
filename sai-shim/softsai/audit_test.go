// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// drift is a part that the library found other than it made it.
type drift struct {
	part, place string
	mendable    bool
	fault       string
}

// audit asks the library what is not as it made it; mend has it put that back, too.
func (d *driver) audit(call string) (all []drift) {
	d.t.Helper()
	for _, word := range d.do("%s", call) {
		fields := strings.Split(strings.ReplaceAll(word, "~", " "), "|")
		all = append(all, drift{fields[0], fields[1], fields[2] == "1", fields[3]})
	}
	return all
}

// wantAudit checks that an audit finds one part alone, puts it back, and finds nothing then.
func (d *driver) wantAudit(part, place string) {
	d.t.Helper()
	found := d.audit("mend")
	if len(found) != 1 || found[0].part != part || found[0].place != place || !found[0].mendable {
		d.t.Errorf("found %+v, want %s of %s", found, part, place)
	}
	d.nothingDrifts()
}

func (d *driver) nothingDrifts() {
	d.t.Helper()
	if found := d.audit("audit"); len(found) > 0 {
		d.t.Errorf("found %+v, want nothing", found)
	}
}

// auditedLine is a line whose ingress port labels flows, and whose hash is set.
func auditedLine(t *testing.T) (*line, *driver) {
	t.Helper()
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	table := newTable(t, d, "in")
	d.do("create entry TABLE_ID=%s PRIORITY=5 FIELD_L4_SRC_PORT=0xc000 %s=9", table, setLabel)
	d.do("create entry TABLE_ID=%s PRIORITY=5 FIELD_L4_SRC_PORT=0xc001 %s=8", table, setLabel)
	d.do("set hash %s %s=%s", defaultHash, hashList, fiveTuple)
	return l, d
}

// works checks that packets get their label, and that holds hold.
func (l *line) works(d *driver, first int) {
	l.t.Helper()
	out, m, frame := portID(l.t, "out"), match(holdLabel, 9, hostA, hostB), labelled(5, 7, 26)
	d.hold(out, m, time.Hour, 0)
	l.sendNumbered(frame, first, 10)
	untilWaiting(l.t, d, out, m, 10)
	d.hold(out, m, 0, 0)
	for i, f := range l.arrivals(10) {
		if n, label := numbers([][]byte{f})[0], int(f[15]&0xf)<<16|int(f[16])<<8|int(f[17]); n != first+i || label != 9 {
			l.t.Fatalf("frame %d with label %d came where %d with label 9 should", n, label, first+i)
		}
	}
}

func untilWaiting(t testing.TB, d *driver, port, m string, n uint64) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		s, _ := d.getHold(port, m)
		if s.waitingPackets == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d packets wait, want %d", s.waitingPackets, n)
		}
	}
}

// What another program takes away below the library is found, named, and put back: labels and holds are
// right again.
func TestAuditFindsWhatIsTaken(t *testing.T) {
	l, d := auditedLine(t)
	d.nothingDrifts()
	l.works(d, 0)
	for i, tt := range []struct {
		part, place string
		take        func()
	}{
		{"clsact", "in", func() { tc(t, "qdisc", "del", "dev", "in", "clsact") }},
		{"clsact", "out", func() { tc(t, "qdisc", "del", "dev", "out", "clsact") }},
		{"ingress program", "in", func() { tc(t, "filter", "del", "dev", "in", "ingress", "pref", "1308") }},
		{"egress program", "out", func() { tc(t, "filter", "del", "dev", "out", "egress", "pref", "1308") }},
		{"root qdisc", "out", func() {
			tc(t, "qdisc", "replace", "dev", "out", "root", "tbf", "rate", "100mbit", "burst", "20000", "limit", "100000")
		}},
		{"root qdisc", "out", func() { tc(t, "qdisc", "del", "dev", "out", "root") }},
		{"root qdisc", "out", func() { tc(t, "qdisc", "del", "dev", "out", "parent", "51c0:13") }},
		{"hash", "net.ipv6.fib_multipath_hash_policy", func() { sysctl(t, "ipv6/fib_multipath_hash_policy", 0) }},
		{"hash", "net.ipv4.fib_multipath_hash_fields", func() { sysctl(t, "ipv4/fib_multipath_hash_fields", 7) }},
		{"hold device", "softsai-hold0", func() { ip(t, "link set softsai-hold0 down") }},
		{"hold device", "softsai-hold0", func() { ip(t, "link del softsai-hold0") }},
		{"hold device", "softsai-hold0", func() { ip(t, "link del softsai-hold1") }},
		{"ACL entries", "soft_entries", func() { deleteElements(t, d, "soft_entries") }},
	} {
		t.Logf("%s of %s", tt.part, tt.place)
		tt.take()
		d.wantAudit(tt.part, tt.place)
		l.works(d, 1000*(i+1))
	}
	if s := d.flowStats(); s.lostInQueues != 0 || s.stale != 0 {
		t.Errorf("%+v", s)
	}
}

// bufferOverflow is SAI_STATUS_BUFFER_OVERFLOW.
const bufferOverflow = -8

// TestAuditIsInPieces: no piece has more than some hundreds of entries, entries come and go between
// pieces, and a piece without room for its drifts is called again.
func TestAuditIsInPieces(t *testing.T) {
	_, d := auditedLine(t)
	table := newTable(t, d, "in")
	var entries []string
	for i := range 1000 {
		entries = append(entries, d.id("create entry TABLE_ID=%s PRIORITY=5 FIELD_L4_SRC_PORT=%d %s=9", table, i+1, setLabel))
	}
	deleteElements(t, d, "soft_entries")
	pieces, room, drifts := 0, 0, 0
	for piece := "0"; ; {
		if pieces == 4 { // where the audit has just been
			for _, id := range entries[200:300] {
				d.do("remove entry %s", id)
			}
		}
		status, answer := d.try("piece %s %d", piece, room)
		n, err := strconv.Atoi(answer[1])
		if err != nil {
			t.Fatal(err)
		}
		if status == bufferOverflow && room == 0 {
			if answer[0] != piece || n != 1 {
				t.Fatalf("without room piece %s answers %v", piece, answer)
			}
			room = 1
			continue
		}
		if status != 0 {
			t.Fatalf("piece %s answers %d", piece, status)
		}
		pieces++
		drifts += n
		if piece = answer[0]; piece == "0" {
			break
		}
	}
	if pieces < 1000/256 || pieces > 20 || drifts != 1 || room != 1 {
		t.Errorf("%d pieces with %d drifts, want 1 that is asked for twice", pieces, drifts)
	}
	found := d.audit("mend")
	if len(found) != 1 || !strings.HasPrefix(found[0].fault, "902 elements") {
		t.Errorf("found %+v, want the 902 entries that are left", found)
	}
	d.nothingDrifts()
}

// deleteElements deletes all elements of the driver's map of a name, by bpftool.
func deleteElements(t *testing.T, d *driver, name string) {
	t.Helper()
	bpftool := func(into any, args ...string) {
		t.Helper()
		out, err := exec.Command("/usr/sbin/bpftool", append([]string{"-j"}, args...)...).Output()
		if errors.Is(err, fs.ErrNotExist) {
			t.Skip("needs bpftool:", err)
		}
		if err == nil && into != nil {
			err = json.Unmarshal(out, into)
		}
		if err != nil {
			t.Fatalf("bpftool %v: %v: %s", args, err, out)
		}
	}
	deleted := false
	for _, id := range mapIDs(t, d.cmd.Process.Pid) {
		var is struct{ Name string }
		if bpftool(&is, "map", "show", "id", id); is.Name != name {
			continue
		}
		var elements []struct{ Key []string }
		bpftool(&elements, "map", "dump", "id", id)
		var all strings.Builder
		for _, e := range elements {
			fmt.Fprintf(&all, "map delete id %s key %s\n", id, strings.Join(e.Key, " "))
		}
		batch := filepath.Join(t.TempDir(), "batch")
		if err := os.WriteFile(batch, []byte(all.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		bpftool(nil, "batch", "file", batch)
		deleted = true
	}
	if !deleted {
		t.Fatalf("no map %s", name)
	}
}

// mapIDs returns the ids of the BPF maps that a process holds.
func mapIDs(t *testing.T, process int) (ids []string) {
	t.Helper()
	all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", process))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // closed meanwhile
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, after, is := strings.Cut(string(text), "map_id:"); is {
			ids = append(ids, strings.Fields(after)[0])
		}
	}
	return ids
}

// letsThrough is a filter, in classic BPF, that lets all packets through: those after it do not see them.
const letsThrough = "1,6 0 0 4294967295,"

// A filter of another program ahead of the library's is reported and stays; one after it is met
// by packets, as before.
func TestAuditReportsFiltersAhead(t *testing.T) {
	l, d := auditedLine(t)
	before := tc(t, "filter", "show", "dev", "in", "ingress")
	tc(t, "filter", "add", "dev", "in", "ingress", "pref", "2000", "bpf", "bytecode", letsThrough)
	d.nothingDrifts()
	l.works(d, 0)
	tc(t, "filter", "add", "dev", "in", "ingress", "pref", "1", "bpf", "bytecode", letsThrough)
	found := d.audit("mend")
	if len(found) != 1 || found[0].part != "filter ahead at ingress" || found[0].place != "in" || found[0].mendable || !strings.Contains(found[0].fault, "bpf filter") {
		t.Errorf("found %+v", found)
	}
	if after := tc(t, "filter", "show", "dev", "in", "ingress"); !strings.Contains(after, "pref 1 ") || !strings.Contains(after, "pref 2000 ") || !strings.Contains(after, strings.TrimSpace(slices.Collect(strings.Lines(before))[0])) {
		t.Errorf("filters:\n%s", after)
	}
	tc(t, "filter", "del", "dev", "in", "ingress", "pref", "1")
	d.nothingDrifts()
	l.works(d, 100)
}

// However many filters are ahead, the library's is found after them.
func TestAuditFindsItsFilterAfterMany(t *testing.T) {
	_, d := auditedLine(t)
	for i := range 80 {
		tc(t, "filter", "add", "dev", "in", "ingress", "pref", strconv.Itoa(i+1), "bpf", "bytecode", letsThrough)
	}
	found := d.audit("mend")
	if len(found) != 1 || found[0].part != "filter ahead at ingress" || !strings.Contains(found[0].fault, "the first of 80") {
		t.Errorf("found %+v", found)
	}
}

// While the device of holds is down a held flow goes on, and what waited is dropped and counted:
// nothing is lost on its way there, none comes late.
func TestHoldDeviceIsDown(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
	d.hold(out, m, time.Hour, 0)
	l.sendNumbered(frame, 0, 20)
	untilWaiting(t, d, out, m, 20)
	ip(t, "link set softsai-hold0 down")
	l.sendNumbered(frame, 100, 50)
	l.wantOrder(100, 50)
	untilStats(t, d, "what waited is dropped", func(s flowStats) bool { return s.stale == 20 })
	d.wantAudit("hold device", "softsai-hold0")
	l.sendNumbered(frame, 200, 20)
	untilWaiting(t, d, out, m, 20)
	d.hold(out, m, 0, 0)
	l.wantOrder(200, 20)
	if s := d.flowStats(); s.stale != 20 || s.lostInQueues != 0 || s.passed != 50 {
		t.Errorf("%+v, want 20 stale and 50 passed", s)
	}
}

// A device of holds that is deleted is made again: what waited is lost and counted, and holds in
// force hold again.
func TestHoldDeviceIsDeleted(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
	d.hold(out, m, time.Hour, 0)
	l.sendNumbered(frame, 0, 20)
	untilWaiting(t, d, out, m, 20)
	ip(t, "link del softsai-hold0")
	l.sendNumbered(frame, 100, 50)
	l.wantOrder(100, 50)
	if found := d.audit("mend"); len(found) != 1 || found[0].part != "hold device" {
		t.Errorf("found %+v", found)
	}
	d.nothingDrifts()
	l.sendNumbered(frame, 200, 20)
	untilWaiting(t, d, out, m, 20)
	d.hold(out, m, 0, 0)
	l.wantOrder(200, 20)
	if s := d.flowStats(); s.stale+s.lostInQueues != 20 {
		t.Errorf("%+v, want 20 lost", s)
	}
}

// An audit that cannot read says so: nothing is found good, or taken for gone, by it.
func TestAuditThatCannotReadFails(t *testing.T) {
	_, d := auditedLine(t)
	d.nothingDrifts()
	var before unix.Rlimit
	if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		t.Fatal(err)
	}
	if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: before.Max}, nil); err != nil {
		t.Fatal(err)
	}
	for _, call := range []string{"audit", "mend"} {
		if status, words := d.try("%s", call); status == 0 {
			t.Errorf("%s without a file descriptor: %v, want a failure", call, words)
		}
	}
	if want := "cannot read the parts of the switch: "; !strings.Contains(d.stderr.String(), want) {
		t.Errorf("the library does not say %q", want)
	}
	if err := unix.Prlimit(d.cmd.Process.Pid, unix.RLIMIT_NOFILE, &before, nil); err != nil {
		t.Fatal(err)
	}
	d.nothingDrifts()
}
