// SPDX-License-Identifier: Apache-2.0

// Package routertest is a router in a network namespace of a test's own: the running
// kernel forwards packets that the test gives it, and the test sees by which link each
// left.
package routertest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Links is the number of links that leave a router: out0, out1, …
const Links = 8

// A Packet is of UDP. It has the fields of an ecmp.Tuple, which converts to it.
type Packet struct {
	Src, Dst         netip.Addr // of one family
	Proto            uint8      // unix.IPPROTO_UDP
	SrcPort, DstPort uint16
	FlowLabel        uint32 // 20 bits, of IPv6
}

// A Router is a network namespace with a link in, Links links out, and an empty table of
// routes. It hashes by policy 3.
type Router struct {
	t    testing.TB
	fd   int         // packet socket that sees every link
	in   int         // interface whose other end is the way in
	path map[int]int // interface at the far end of a link out: its path
	turn int         // how many times forward was called: late packets are of another turn
}

// New makes a router, which ends with the test: the namespace belongs to the calling
// thread, which stays locked and so ends with its goroutine. A machine that cannot make
// one skips the test with the reason.
func New(t testing.TB) *Router {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root for a network namespace")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs iproute2:", err)
	}
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skip("needs a network namespace:", err)
	}
	const seedFile = "/proc/sys/net/ipv4/fib_multipath_hash_seed"
	if _, err := os.Stat(seedFile); errors.Is(err, os.ErrNotExist) {
		t.Skip("needs net.ipv4.fib_multipath_hash_seed: Linux 6.11 and CONFIG_IP_ROUTE_MULTIPATH")
	}

	r := &Router{t: t, path: map[int]int{}}
	for name, value := range map[string]int{
		"ipv6/conf/all/forwarding": 1, "ipv4/ip_forward": 1,
		"ipv4/conf/all/rp_filter": 0, "ipv4/conf/default/rp_filter": 0,
		"ipv6/fib_multipath_hash_policy": 3, "ipv4/fib_multipath_hash_policy": 3,
	} {
		r.Sysctl(name, value)
	}

	// The links out skip ARP and neighbor discovery, so their other ends may be silent.
	var batch strings.Builder
	link := func(near, far string) {
		fmt.Fprintf(&batch, "link add name %s address 02:00:00:00:00:01 arp off type veth peer name %s\n", near, far)
		fmt.Fprintf(&batch, "link set %s up\nlink set %s up\n", near, far)
	}
	link("in", "source")
	if out, err := run(batch.String()); err != nil {
		t.Skipf("needs veth links: %v: %s", err, out)
	}
	batch.Reset()
	for i := range Links {
		link(fmt.Sprint("out", i), fmt.Sprint("sink", i))
	}
	r.IP(batch.String())

	r.in = r.index("source")
	for i := range Links {
		r.path[r.index(fmt.Sprint("sink", i))] = i
	}
	r.open()
	return r
}

// IP hands lines to iproute2.
func (r *Router) IP(lines string) {
	r.t.Helper()
	if out, err := run(lines); err != nil {
		r.t.Fatalf("ip -batch: %v: %s\n%s", err, out, lines)
	}
}

func run(lines string) (output []byte, err error) {
	ip := exec.Command("ip", "-batch", "-")
	ip.Stdin = strings.NewReader(lines)
	return ip.CombinedOutput()
}

// Sysctl sets a number below /proc/sys/net.
func (r *Router) Sysctl(name string, value int) {
	r.t.Helper()
	if err := os.WriteFile("/proc/sys/net/"+name, []byte(strconv.Itoa(value)), 0); err != nil {
		r.t.Fatal(err)
	}
}

func (r *Router) index(name string) int {
	r.t.Helper()
	i, err := net.InterfaceByName(name)
	if err != nil {
		r.t.Fatal(err)
	}
	return i.Index
}

func (r *Router) open() {
	r.t.Helper()
	all := binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, int(all))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = unix.Close(fd) })
	r.fd = fd
	patience := unix.NsecToTimeval((50 * time.Millisecond).Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience); err != nil {
		r.t.Fatal(err)
	}
}

// Forward sends packets through the router and returns the link out of each. Packets that
// stay away are sent again: the links may still be coming up.
func (r *Router) Forward(packets []Packet) []int {
	r.t.Helper()
	const none, burst = -1, 64
	r.turn++
	paths := make([]int, len(packets))
	for i := range paths {
		paths[i] = none
	}
	deadline := time.Now().Add(time.Minute) // the machine may be busy
	for begin := 0; begin < len(packets); begin += burst {
		end := min(begin+burst, len(packets))
		for missing := end - begin; missing > 0; {
			if time.Now().After(deadline) {
				r.t.Fatalf("%d packets did not come out, the first of %+v", missing, packets[begin])
			}
			for i := begin; i < end; i++ {
				if paths[i] == none {
					r.send(packets[i], r.turn<<16|i)
				}
			}
			for missing > 0 {
				i, path, err := r.receive()
				if errors.Is(err, unix.EAGAIN) {
					break
				}
				if err != nil {
					r.t.Fatal(err)
				}
				if i>>16 != r.turn {
					continue
				}
				if i &= 0xffff; i < begin || i >= end {
					continue
				}
				switch paths[i] {
				case none:
					paths[i] = path
					missing--
				case path:
				default:
					r.t.Fatalf("%+v came out of %d and %d", packets[i], paths[i], path)
				}
			}
		}
	}
	return paths
}

const udpHeaderLen = 8

// send puts a frame with the packet on the link in; its payload is the mark.
func (r *Router) send(t Packet, mark int) {
	r.t.Helper()
	udp := binary.BigEndian.AppendUint16(nil, t.SrcPort)
	udp = binary.BigEndian.AppendUint16(udp, t.DstPort)
	udp = append(udp, 0, udpHeaderLen+4, 0, 0)
	udp = binary.BigEndian.AppendUint32(udp, uint32(mark))

	b := []byte{2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}
	if t.Src.Is4() {
		b = append(b, 0x08, 0x00)
		head := []byte{0x45, 0, 0, byte(20 + len(udp)), 0, 0, 0, 0, 64, t.Proto, 0, 0}
		head = append(append(head, t.Src.AsSlice()...), t.Dst.AsSlice()...)
		sum := uint32(0)
		for i := 0; i < len(head); i += 2 {
			sum += uint32(binary.BigEndian.Uint16(head[i:]))
		}
		binary.BigEndian.PutUint16(head[10:], ^uint16(sum+sum>>16))
		b = append(b, head...)
	} else {
		b = append(b, 0x86, 0xdd)
		b = binary.BigEndian.AppendUint32(b, 6<<28|t.FlowLabel)
		b = append(b, 0, byte(len(udp)), t.Proto, 64)
		b = append(append(b, t.Src.AsSlice()...), t.Dst.AsSlice()...)
	}
	if err := unix.Sendto(r.fd, append(b, udp...), 0, &unix.SockaddrLinklayer{Ifindex: r.in}); err != nil && !errors.Is(err, unix.ENETDOWN) {
		r.t.Fatal(err)
	}
}

// receive returns mark and path of the next packet of the test that left the router.
func (r *Router) receive() (mark, path int, err error) {
	var buf [128]byte
	for {
		n, from, err := unix.Recvfrom(r.fd, buf[:], 0)
		if errors.Is(err, unix.EINTR) {
			continue // a signal of the Go runtime: with a receive timeout the kernel ends the call
		}
		if err != nil {
			return 0, 0, err
		}
		link, ok := from.(*unix.SockaddrLinklayer)
		if !ok || link.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		path, ok := r.path[link.Ifindex]
		if !ok {
			continue
		}
		const ethernet, v4, v6 = 14, 20, 40
		frame := buf[:n]
		switch {
		case n == ethernet+v4+udpHeaderLen+4 && frame[ethernet+9] == unix.IPPROTO_UDP:
		case n == ethernet+v6+udpHeaderLen+4 && frame[ethernet+6] == unix.IPPROTO_UDP:
		default:
			continue
		}
		return int(binary.BigEndian.Uint32(frame[n-4:])), path, nil
	}
}
