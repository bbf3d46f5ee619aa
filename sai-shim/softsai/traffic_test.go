// SPDX-License-Identifier: Apache-2.0

package softsai_test

import (
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Holds that begin, are refreshed, released and end by themselves while packets come
// one after the other: none is lost, none overtakes another.
func TestHoldsUnderTraffic(t *testing.T) {
	l := newLine(t)
	d := startDriver(t)
	d.do(fastQueues)
	out, m := portID(t, "out"), match(holdLabel, 5, hostA, hostB)
	small := labelled(5, 7, 26)[:ethLen+ipv6Len+udpLen+bthLen+60]
	small[18], small[19] = 0, udpLen+bthLen+60
	small[14+ipv6Len+4], small[14+ipv6Len+5] = 0, udpLen+bthLen+60
	const n = 10000
	sent := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		var cpu unix.CPUSet
		cpu.Set(0)
		if err := unix.SchedSetaffinity(0, &cpu); err != nil {
			sent <- err
			return
		}
		for i, next := 0, time.Now(); i < n; i++ {
			for next = next.Add(100 * time.Microsecond); time.Now().Before(next); {
				runtime.Gosched()
			}
			l.wire.send(l.in, sequence(small, i))
		}
		sent <- nil
	}()
	holds, done := 0, false
	for ; !done; holds++ {
		d.hold(out, m, time.Duration(1+holds%5)*time.Millisecond, 0)
		switch holds % 3 {
		case 0: // it ends by itself
			until(t, "the hold is over", func() bool { _, ok := d.getHold(out, m); return !ok })
		case 1:
			d.hold(out, m, 2*time.Millisecond, 0)
		case 2:
			d.hold(out, m, 0, 0)
		}
		select {
		case err := <-sent:
			if err != nil {
				t.Fatal(err)
			}
			done = true
		default:
		}
	}
	d.hold(out, m, 0, 0)
	l.wantOrder(0, n)
	s := d.flowStats()
	t.Logf("%d holds, %+v", holds, s)
	if s.held == 0 || s.full != 0 || s.lostInQueues != 0 {
		t.Errorf("%+v", s)
	}
}

// setGRO lets a veth's frames be read by one NAPI instance, as `ethtool -K … gro on` does.
func setGRO(t testing.TB, netdev string) {
	t.Helper()
	value := struct{ command, data uint32 }{unix.ETHTOOL_SGRO, 1}
	var request struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}
	copy(request.name[:], netdev)
	request.data = unsafe.Pointer(&value)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); errno != 0 {
		t.Fatalf("GRO of %s: %v", netdev, errno)
	}
}
