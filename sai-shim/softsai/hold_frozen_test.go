// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// signal stops the driver's threads, or lets them go on.
func (d *driver) signal(s os.Signal) {
	d.t.Helper()
	if err := d.cmd.Process.Signal(s); err != nil {
		d.t.Fatal(err)
	}
}

// sendUntilOnePasses sends frames of rising numbers, from first on, until one arrives, and returns the
// number of that one and the next number.
func (l *line) sendUntilOnePasses(frame []byte, first int) (passed, next int) {
	l.t.Helper()
	deadline := time.Now().Add(patience)
	for next = first; time.Now().Before(deadline); {
		l.sendNumbered(frame, next, 1)
		next++
		if _, f, ok := l.wire.receive(); ok && isRoCE(f) {
			return numbers([][]byte{f})[0], next
		}
	}
	l.t.Fatal("nothing passes")
	return 0, 0
}

// A process that is stopped cannot end its holds: new packets of a held flow pass soon, with or
// without others that wait. Those are dropped when it goes on, and counted; none is sent late. Then holds hold again.
func TestFrozenInAHold(t *testing.T) {
	for name, duration := range map[string]time.Duration{"that goes on": time.Hour, "that ends meanwhile": 2 * time.Second} {
		t.Run(name, func(t *testing.T) {
			l := newLine(t)
			d := startDriver(t)
			d.do("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_QUEUE_RATE=1000")
			out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
			d.hold(out, m, duration, 0)
			l.sendNumbered(frame, 0, 20)
			until(t, "frames wait", func() bool { return d.flowStats().held == 20 })
			d.signal(syscall.SIGSTOP)
			t.Cleanup(func() { d.signal(syscall.SIGCONT) })
			stopped := time.Now()
			passed, next := l.sendUntilOnePasses(frame, 100)
			t.Logf("frame %d passes %v after the stop", passed, time.Since(stopped))
			if passed < 100 {
				t.Fatalf("frame %d, which waited, is sent", passed)
			}
			waiting := 20 + passed - 100
			for over := stopped.Add(duration); duration < time.Minute && time.Now().Before(over); {
				l.wire.receive() // until the hold is over
			}
			l.sendNumbered(frame, next, 10)
			l.wantOrder(passed+1, next+10-passed-1)
			d.signal(syscall.SIGCONT)
			untilStats(t, d, "what waited is dropped", func(s flowStats) bool { return s.stale == waiting })
			if _, f, ok := l.wire.receive(); ok && isRoCE(f) {
				t.Errorf("frame %d is sent after the thaw", numbers([][]byte{f})[0])
			}
			d.hold(out, m, time.Hour, 0)
			before := d.flowStats().held
			l.sendNumbered(frame, 1000, 20)
			until(t, "frames wait again", func() bool { return d.flowStats().held == before+20 })
			d.hold(out, m, 0, 0)
			l.wantOrder(1000, 20)
			if s := d.flowStats(); s.stale != waiting || s.lostInQueues != 0 || s.full != 0 {
				t.Errorf("%+v, want %d stale and none lost", s, waiting)
			}
		})
	}
}

// The profile has the time after which holds are frozen. A process that stops for less loses no packet.
func TestFrozenForLessThanTheProfileSays(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues) // a minute
	out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
	d.hold(out, m, time.Hour, 0)
	l.sendNumbered(frame, 0, 20)
	until(t, "frames wait", func() bool { return d.flowStats().held == 20 })
	d.signal(syscall.SIGSTOP)
	t.Cleanup(func() { d.signal(syscall.SIGCONT) })
	for n := range 10 {
		l.sendNumbered(frame, 20+n, 1)
		for quiet := false; !quiet; { // for 100 ms
			_, f, ok := l.wire.receive()
			if ok && isRoCE(f) {
				t.Fatalf("frame %d passes", numbers([][]byte{f})[0])
			}
			quiet = !ok
		}
	}
	d.signal(syscall.SIGCONT)
	d.hold(out, m, 0, 0)
	l.wantOrder(0, 30)
	if s := d.flowStats(); s.stale != 0 || s.held != 30 {
		t.Errorf("%+v, want 30 held and none stale", s)
	}
}

func TestFrozenTimeIsJudged(t *testing.T) {
	newLine(t)
	for _, bad := range []string{"x", "49", "60001"} {
		d := startDriver(t)
		if status, _ := d.try("switch SLUICE_PORTS=in+out SLUICE_QUEUES=8 SLUICE_HOLD_FROZEN_MS=%s", bad); status != statusInvalidParameter {
			t.Errorf("%s ms: status %d, want %d", bad, status, statusInvalidParameter)
		}
		d.stop()
	}
}

// A port that loses its carrier takes packets and drops them without an error, as one does that is
// about to go: what is released by it then is lost, and counted.
func TestReleasedByAPortWithoutCarrier(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	out, m, frame := portID(t, "out"), match(holdLabel, 5, hostA, hostB), labelled(5, 7, 26)
	d.hold(out, m, time.Hour, 0)
	l.sendNumbered(frame, 0, 53)
	until(t, "frames wait", func() bool { s, _ := d.getHold(out, m); return s.waitingPackets == 53 })
	ip(t, "link set sink down")
	runs := func() bool {
		out, err := net.InterfaceByName("out")
		return err == nil && out.Flags&net.FlagRunning != 0
	}
	until(t, "the port has no carrier", func() bool { return !runs() })
	d.hold(out, m, 0, 0)
	until(t, "the hold has drained", func() bool { _, ok := d.getHold(out, m); return !ok })
	if s := d.flowStats(); s.lostInQueues != 53 {
		t.Errorf("%+v, want 53 lost", s)
	}
	ip(t, "link set sink up")
	if _, err := unix.GetsockoptInt(l.wire.fd, unix.SOL_SOCKET, unix.SO_ERROR); err != nil { // that sink was down
		t.Fatal(err)
	}
	until(t, "the port is up", runs)
	l.sendNumbered(frame, 100, 5)
	l.wantOrder(100, 5)
}
