// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// packet is what the packet event function got.
type packet struct {
	port, trap, egress string
	data               []byte
}

// packets waits until n packets reached the CPU, and returns all that did.
func (d *driver) packets(n int) (all []packet) {
	d.t.Helper()
	for _, word := range d.do("packets %d", n) {
		parts := strings.Split(word, ":")
		data, err := hex.DecodeString(parts[2])
		if err != nil {
			d.t.Fatal(err)
		}
		all = append(all, packet{"0x" + parts[0], "0x" + parts[1], "0x" + parts[3], data})
	}
	return all
}

const (
	actionPacket  = "ACTION_PACKET_ACTION"
	actionTrap    = "ACTION_SET_USER_TRAP_ID"
	actionCounter = "ACTION_COUNTER"
	actionPolicer = "ACTION_SET_POLICER"
	actionSample  = "ACTION_INGRESS_SAMPLEPACKET_ENABLE"

	packetDrop, packetCopy, packetTrap = 0, 2, 4
)

// Packets to the CPU say where they came in and which trap asked; long ones are cut.
func TestPacketsToTheCPU(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	program := startRunner(t, "port0")
	trap := d.id("create trap TYPE=ACL")
	frame := roceFrame(hostA, hostB, 0xc000, 7)
	long := append([]byte(nil), frame...)
	long = append(long, make([]byte, 1000)...) // padding of the frame

	for _, test := range []struct {
		action  int
		trap    string
		verdict uint32
	}{
		{packetCopy, "", verdictGoOn},
		{packetCopy, trap, verdictGoOn},
		{packetTrap, trap, verdictDrop},
	} {
		actions := fmt.Sprintf("%s=%d", actionPacket, test.action)
		want := "0x0"
		if test.trap != "" {
			actions, want = actions+" "+actionTrap+"="+trap, trap
		}
		entry := d.id("create entry TABLE_ID=%s %s %s", table, fieldRoCE, actions)
		for _, f := range [][]byte{frame, long} {
			if verdict, _ := program.run(f); verdict != test.verdict {
				t.Errorf("%s: verdict %d, want %d", actions, verdict, test.verdict)
			}
		}
		got := d.packets(2)
		if len(got) != 2 {
			t.Fatalf("%s: %d packets, want 2", actions, len(got))
		}
		for i, f := range [][]byte{frame, long[:512]} {
			if got[i].port != portID(t, "port0") || got[i].trap != want || string(got[i].data) != string(f) {
				t.Errorf("%s: got port %s, trap %s, %x\nwant %s, %s, %x", actions, got[i].port, got[i].trap, got[i].data, portID(t, "port0"), want, f)
			}
		}
		d.do("remove entry %s", entry)
	}
	drop := d.id("create entry TABLE_ID=%s %s %s=%d", table, fieldRoCE, actionPacket, packetDrop)
	if verdict, _ := program.run(frame); verdict != verdictDrop {
		t.Errorf("drop: verdict %d", verdict)
	}
	d.do("remove entry %s", drop)
	if status, _ := d.try("remove trap %s", trap); status != 0 {
		t.Errorf("remove a trap that nothing uses: status %d", status)
	}
}

// TestPacketsToTheCPUComeTogether: the thread that delivered a packet sleeps for a while, whatever comes.
func TestPacketsToTheCPUComeTogether(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0 SLUICE_CPU_RATE=1000000 SLUICE_CPU_BURST=1000000")
	d.id("create entry TABLE_ID=%s %s %s=%d", newTable(t, d, "port0"), fieldRoCE, actionPacket, packetCopy)
	program := startRunner(t, "port0")
	frame := roceFrame(hostA, hostB, 0xc000, 7)
	sleeps := []string{fmt.Sprint(unix.SYS_NANOSLEEP), fmt.Sprint(unix.SYS_CLOCK_NANOSLEEP)}
	for deadline := time.Now().Add(patience); !slices.Contains(sleeps, d.callOf("packets to the ")); {
		if time.Now().After(deadline) {
			t.Fatal("the thread was never seen asleep")
		}
		program.run(frame)
		d.packets(1)
	}
}

// callOf returns the number of the system call in which the driver's thread of a name waits, as the
// kernel prints it.
func (d *driver) callOf(thread string) string {
	d.t.Helper()
	tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", d.cmd.Process.Pid))
	if err != nil {
		d.t.Fatal(err)
	}
	for _, task := range tasks {
		name, err := os.ReadFile(task + "/comm")
		if err != nil || !strings.HasPrefix(string(name), thread) {
			continue
		}
		call, err := os.ReadFile(task + "/syscall")
		if err != nil {
			d.t.Fatal(err)
		}
		number, _, _ := strings.Cut(string(call), " ")
		return number
	}
	d.t.Fatalf("no thread %q", thread)
	return ""
}

// Of many packets about one in N is a sample; a mark of the entry, not of the packet.
func TestSamplesAreOneInNOfTheMarkedPackets(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0 SLUICE_CPU_RATE=1000000 SLUICE_CPU_BURST=1000000")
	table := newTable(t, d, "port0")
	sampler := d.id("create samplepacket SAMPLE_RATE=50")
	entry := d.id("create entry TABLE_ID=%s %s %s=%s", table, fieldRoCE, actionSample, sampler)
	mark := d.id("create entry TABLE_ID=%s PRIORITY=9 FIELD_L4_DST_PORT=4790 %s=%d", table, actionPacket, packetCopy)
	program := startRunner(t, "port0")
	const sent = 10000
	frame := roceFrame(hostA, hostB, 0xc000, 7)
	// The last packet is always copied: when it is there, all are.
	last := roceFrame(hostA, hostB, 0xc000, 7)
	binary.BigEndian.PutUint16(last[ethLen+ipv6Len+2:], 4790)
	samples := func() int {
		for range sent {
			program.run(frame)
		}
		program.run(last)
		var got []packet
		for len(got) == 0 || string(got[len(got)-1].data) != string(last) {
			got = append(got, d.packets(1)...)
		}
		return len(got) - 1
	}
	// 200 are expected, with a deviation of 14.
	if n := samples(); n < 100 || n > 300 {
		t.Errorf("%d samples of %d packets at 1 of 50", n, sent)
	}
	d.do("set samplepacket %s SAMPLE_RATE=500", sampler)
	// 20 are expected, with a deviation of 4.5.
	if n := samples(); n < 1 || n > 60 {
		t.Errorf("%d samples of %d packets at 1 of 500, set in place", n, sent)
	}
	if status, _ := d.try("set samplepacket %s SAMPLE_RATE=0", sampler); status == 0 {
		t.Error("a rate of 0 was taken")
	}
	d.do("set entry %s %s=off", entry, actionSample)
	if n := samples(); n > 0 {
		t.Errorf("%d samples of an entry that samples no more", n)
	}
	d.do("remove entry %s", mark)
}

// What comes faster than the CPU's bucket fills does not reach it.
func TestCPUIsPoliced(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0 SLUICE_CPU_RATE=1 SLUICE_CPU_BURST=20")
	table := newTable(t, d, "port0")
	d.do("create entry TABLE_ID=%s %s %s=%d", table, fieldRoCE, actionPacket, packetCopy)
	program := startRunner(t, "port0")
	begin := time.Now()
	for range 500 {
		if verdict, _ := program.run(roceFrame(hostA, hostB, 0xc000, 7)); verdict != verdictGoOn {
			t.Fatalf("verdict %d", verdict)
		}
	}
	took := int(time.Since(begin).Seconds()) + 1
	got := d.packets(20)
	if len(got) > 20+took {
		t.Errorf("%d packets reached the CPU, want 20 and one a second", len(got))
	}
	cpu := d.id("get switch " + switchID + " CPU_PORT")
	if lost := d.number("stat port %s IF_OUT_DISCARDS", cpu); int(lost) != 500-len(got) {
		t.Errorf("%d packets did not reach the CPU, want %d", lost, 500-len(got))
	}
	if status, _ := d.try("stat port %s IF_IN_OCTETS", cpu); status != statusNotSupported {
		t.Errorf("octets of the CPU port: status %d, want %d", status, statusNotSupported)
	}
}

// The policer of a trap group takes the place of what the profile says, as it is and
// as it is set, also for the next process; without the group the profile's is back.
func TestTrapGroupPolices(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	const profile = "switch SLUICE_PORTS=port0 SLUICE_CPU_RATE=1000000 SLUICE_CPU_BURST=1000000"
	d.do(profile)
	table := newTable(t, d, "port0")
	d.do("create entry TABLE_ID=%s %s %s=%d", table, fieldRoCE, actionPacket, packetCopy)
	policer := d.id("create policer METER_TYPE=PACKETS MODE=SR_TCM CBS=20 CIR=1 RED_PACKET_ACTION=DROP")
	octets := d.id("create policer METER_TYPE=BYTES MODE=SR_TCM CBS=20 CIR=1 RED_PACKET_ACTION=DROP")
	if status, _ := d.try("create trap-group POLICER=%s", octets); status == 0 {
		t.Error("a group whose policer counts octets")
	}
	group := d.id("create trap-group POLICER=%s", policer)
	if status, _ := d.try("create trap-group POLICER=%s", policer); status == 0 {
		t.Error("a second group that polices")
	}
	if status, _ := d.try("remove policer %s", policer); status != statusObjectInUse {
		t.Errorf("a policer in use: status %d, want %d", status, statusObjectInUse)
	}
	last := roceFrame(hostA, hostB, 0xc000, 7)
	reached := func() int {
		t.Helper()
		program := startRunner(t, "port0")
		red := func() int { return int(d.number("stat policer %s RED_PACKETS", policer)) }
		before := red()
		const sent = 500
		for range sent {
			program.run(last)
		}
		passed := sent - (red() - before)
		d.packets(passed)
		return passed
	}
	few := func(burst int) {
		t.Helper()
		begin := time.Now()
		n := reached()
		if took := int(time.Since(begin).Seconds()) + 1; n < burst || n > burst+took {
			t.Errorf("%d packets reached the CPU, want %d and one a second", n, burst)
		}
	}
	few(20)
	d.do("set policer %s CIR=1000000", policer) // the rate
	d.do("set policer %s CBS=1000000", policer)
	if n := reached(); n < 480 { // the bucket was empty, and fills
		t.Errorf("%d packets of 500 reached the CPU", n)
	}
	d.do("set policer %s CBS=20", policer)
	d.do("set policer %s CIR=1", policer)
	d.kill()
	d = startDriver(t)
	d.do(profile)
	few(20)
	d.do("remove trap-group %s", group)
	if n := reached(); n != 500 {
		t.Errorf("%d packets of 500 reached the CPU without a group", n)
	}
}

// A policer as virtual queue: what its burst holds passes, what is above is red.
func TestPolicerMarksPacketsAboveItsBurst(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	program := startRunner(t, "port0")
	frame := roceFrame(hostA, hostB, 0xc000, 7)
	burst := 10 * len(frame)
	for _, test := range []struct {
		name string
		red  int
	}{{"drop", packetDrop}, {"copy", packetCopy}} {
		policer := d.id("create policer METER_TYPE=BYTES MODE=SR_TCM CBS=%d CIR=1 RED_PACKET_ACTION=%d", burst, test.red)
		entry := d.id("create entry TABLE_ID=%s %s %s=%s", table, fieldRoCE, actionPolicer, policer)
		dropped := 0
		for range 30 {
			verdict, _ := program.run(frame)
			if verdict == verdictDrop {
				dropped++
			}
		}
		if test.red == packetDrop && dropped != 20 {
			t.Errorf("%s: %d of 30 packets dropped, want 20", test.name, dropped)
		}
		if test.red == packetCopy {
			if got := d.packets(20); len(got) != 20 || dropped != 0 {
				t.Errorf("%s: %d packets to the CPU, %d dropped; want 20 and 0", test.name, len(got), dropped)
			}
		}
		want := fmt.Sprint([]string{"30", "10", "20", fmt.Sprint(20 * len(frame))})
		if got := fmt.Sprint(d.do("stat policer %s PACKETS GREEN_PACKETS RED_PACKETS RED_BYTES", policer)); got != want {
			t.Errorf("%s: statistics %s, want %s", test.name, got, want)
		}
		if status, _ := d.try("remove policer %s", policer); status != statusObjectInUse {
			t.Errorf("%s: a policer in use: status %d, want %d", test.name, status, statusObjectInUse)
		}
		// A larger burst, and a rate that fills it at once.
		d.do("set policer %s CIR=100000000000", policer)
		if verdict, _ := program.run(frame); verdict != verdictGoOn {
			t.Errorf("%s: verdict %d after the rate was raised", test.name, verdict)
		}
		d.do("remove entry %s", entry)
		d.do("remove policer %s", policer)
	}
}

// A counter counts packets and octets, and begins again when it is set.
func TestCounterCountsAndStartsAgainWhenSet(t *testing.T) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	counter := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1 ENABLE_BYTE_COUNT=1", table)
	silent := d.id("create counter TABLE_ID=%s", table)
	entry := d.id("create entry TABLE_ID=%s %s %s=%s", table, fieldRoCE, actionCounter, counter)
	program := startRunner(t, "port0")
	frame := roceFrame(hostA, hostB, 0xc000, 7)
	want := func(packets, octets int) {
		t.Helper()
		if p, b := d.number("get counter %s PACKETS", counter), d.number("get counter %s BYTES", counter); p != uint64(packets) || b != uint64(octets) {
			t.Errorf("%d packets, %d octets; want %d, %d", p, b, packets, octets)
		}
	}
	for range 10 {
		program.run(frame)
	}
	want(10, 10*len(frame))
	d.do("set counter %s PACKETS=0", counter)
	want(0, 10*len(frame))
	d.do("set counter %s BYTES=5", counter)
	program.run(frame)
	want(1, 5+len(frame))
	d.kill() // what was set is remembered
	d = startDriver(t)
	d.do("switch SLUICE_PORTS=port0")
	want(1, 5+len(frame))
	d.do("set entry %s %s=%s", entry, actionCounter, silent)
	program = startRunner(t, "port0")
	program.run(frame)
	want(1, 5+len(frame))
	if got := d.number("get counter %s PACKETS", silent); got != 0 {
		t.Errorf("a counter that is not enabled: %d", got)
	}
}

// A counter is the sum of what all CPUs counted, and one that is new begins at 0 though it has the place
// of one that was removed.
func TestCounterAddsUpCPUs(t *testing.T) {
	t.Run("all", func(t *testing.T) { testCounterOfCPUs(t, startDriver) })
	// The library is told that the CPU of the highest number is the only one. What it reads of maps
	// that the kernel keeps per CPU, such as the port counters of the CPU port, has no room then.
	t.Run("numbers with gaps", func(t *testing.T) {
		all := cpus(t)
		possible := filepath.Join(t.TempDir(), "possible")
		if err := os.WriteFile(possible, fmt.Appendln(nil, all[len(all)-1]), 0o644); err != nil {
			t.Fatal(err)
		}
		testCounterOfCPUs(t, func(t testing.TB) *driver {
			const shown = `mount --bind "$0" /sys/devices/system/cpu/possible && exec "$@"`
			return startDriverBy(t, program(t, "libsoftsai.so"), "unshare", "--mount", "sh", "-c", shown, possible)
		})
	})
}

func testCounterOfCPUs(t *testing.T, start func(testing.TB) *driver) {
	enterNamespace(t)
	link(t, "port0", "far0")
	d := start(t)
	d.do("switch SLUICE_PORTS=port0")
	table := newTable(t, d, "port0")
	for range 2 {
		counter := d.id("create counter TABLE_ID=%s ENABLE_PACKET_COUNT=1", table)
		if n := d.number("get counter %s PACKETS", counter); n != 0 {
			t.Errorf("a new counter has %d packets", n)
		}
		entry := d.id("create entry TABLE_ID=%s %s %s=%s", table, fieldRoCE, actionCounter, counter)
		const each = 1000000 // at once on all CPUs: in one place some would be lost
		var programs []*runner
		for _, cpu := range cpus(t) {
			program := startRunner(t, "port0", strconv.Itoa(each))
			pin(t, program.cmd.Process.Pid, cpu)
			program.begin(roceFrame(hostA, hostB, 0xc000, 7))
			programs = append(programs, program)
		}
		for _, program := range programs {
			program.end()
		}
		if n := d.number("get counter %s PACKETS", counter); n != uint64(each*len(programs)) {
			t.Errorf("%d packets on %d CPUs, want %d of each", n, len(programs), each)
		}
		d.do("remove entry %s", entry)
		d.do("remove counter %s", counter)
	}
}

// cpus are those that this process may use.
func cpus(t testing.TB) (all []int) {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(os.Getpid(), &set); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; len(all) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	return all
}

// pin keeps a thread, 0 for the calling one, on a CPU from now on.
func pin(t testing.TB, thread, cpu int) {
	t.Helper()
	var one unix.CPUSet
	one.Set(cpu)
	if err := unix.SchedSetaffinity(thread, &one); err != nil {
		t.Fatal(err)
	}
}

// Mirrored packets leave by the monitor port as they came, and are forwarded as well.
func TestMirroredPacketsLeaveByTheMonitorPort(t *testing.T) {
	for _, test := range []struct {
		name, profile, attribute string
		length                   int
	}{
		{"whole", "", "", len(queuePairs(1)[0])},
		{"cut", "", "TRUNCATE_SIZE=64", 64},
		{"cut, with queues", " SLUICE_QUEUES=8", "TRUNCATE_SIZE=70", 70},
		{"too short to be cut", "", "TRUNCATE_SIZE=1000", len(queuePairs(1)[0])},
	} {
		t.Run(test.name, func(t *testing.T) { testMirror(t, test.profile, test.attribute, test.length) })
	}
}

func testMirror(t *testing.T, profile, attribute string, length int) {
	f := newFabric(t)
	link(t, "monitor", "probe")
	d := startDriver(t)
	d.do("switch %s+monitor%s", allPorts, profile)
	table := newTable(t, d, "in")
	session := d.id("create mirror TYPE=LOCAL MONITOR_PORT=%s %s", portID(t, "monitor"), attribute)
	entry := d.id("create entry TABLE_ID=%s %s ACTION_MIRROR_INGRESS=%s", table, fieldRoCE, session)
	frames := queuePairs(4)
	probe := ifindex(t, "probe")
	f.wire.send(f.in, frames[0])
	deadline := time.Now().Add(patience)
	for mirrored, forwarded := false, false; !mirrored || !forwarded; {
		if time.Now().After(deadline) {
			t.Fatalf("mirrored %v, forwarded %v", mirrored, forwarded)
		}
		from, frame, ok := f.wire.receive()
		if !ok {
			f.wire.send(f.in, frames[0])
			continue
		}
		_, isPath := f.path[from]
		switch {
		case from == probe && string(frame) == string(frames[0][:length]):
			mirrored = true
		case isPath && qpOf(frame) == qpOf(frames[0]):
			if len(frame) != len(frames[0]) {
				t.Fatalf("%d octets of a packet of %d were forwarded", len(frame), len(frames[0]))
			}
			forwarded = true
		case from == probe && isRoCE(frame):
			t.Fatalf("a copy of %d octets, want %d", len(frame), length)
		}
	}
	d.do("remove entry %s", entry)
	d.do("remove mirror %s", session)
	if status, _ := d.try("create mirror TYPE=LOCAL MONITOR_PORT=%s TRUNCATE_SIZE=63", portID(t, "monitor")); status != statusInvalidParameter {
		t.Errorf("copies of 63 octets: status %d, want %d", status, statusInvalidParameter)
	}
	filters := strings.TrimSpace(tc(t, "filter", "show", "dev", "monitor", "egress"))
	if (filters != "") != (profile != "") {
		t.Errorf("egress filters are left:\n%s", filters)
	}
}
