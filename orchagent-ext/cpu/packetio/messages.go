// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/wire/notify"
)

// Message is a notification that came in, read and judged by its octets alone.
type Message struct {
	Port   uint32 // interface index of the netdev that it came in by
	At     int64  // when the kernel had it: ns, CLOCK_MONOTONIC; 0: unknown, since the clock was set
	Packet notify.Packet
	Err    error // of notify.Packet's ParseIP
}

// Messages receives notifications below the kernel's own checks, so that bad ones are
// counted, too, and sends them. A program in the kernel parts them: packets that a
// neighbor may have sent go to the flow-control task ([Messages.Receive]), all others to
// [Messages.Run], which only counts.
//
// Receive, Send and SendFrame are for one thread and allocate nothing; Configure and the
// counters may be called from any goroutine.
type Messages struct {
	fast, slow6, slow4 int // AF_PACKET, from the IP header on
	fast4              int
	raw, raw4, link    int // for sending: IP packets, frames

	config atomic.Pointer[MessageConfig]
	batch  batch // of Receive

	police   policer
	noPolice error // reason that the policer is missing; nil: it is loaded
	unpolice error // reason that the kernel polices otherwise; nil: it polices as configured

	to6    unix.SockaddrInet6
	to4    unix.SockaddrInet4
	toLink unix.SockaddrLinklayer

	counts [notify.KindPFC + 1][notify.BadSource + 1]atomic.Uint64
	other  [notify.KindPFC + 1][numDropped]atomic.Uint64
	full   atomic.Uint64 // found a socket full
}

// Dropped is the reason why a valid message was dropped, besides the reasons of its
// content ([notify.Reason]).
type Dropped uint8

// The reasons.
const (
	DroppedSender Dropped = iota // its sender lacks the right
	DroppedMark                  // it lacks the demanded mark
	numDropped
)

const (
	messageBuffer = 8 << 20              // octets that wait in the kernel, of each socket: some 10,000 messages
	slowPatience  = 200                  // ms that Run waits for packets
	slowPause     = 5 * time.Millisecond // after its batch: a flood is read in batches
	oldest        = time.Second          // a time stamp older than this is of a clock that was set
	control       = 6                    // SO_PRIORITY: before all traffic
	maxBatch      = 32                   // messages that one call receives
	stampLength   = 16 + 16              // a control message with a timespec
	stampRoom     = 2 * stampLength      // octets
)

// OpenMessages opens the sockets in the network namespace of the calling thread. It takes
// CAP_NET_RAW. The sockets drop every packet until Configure. Close it in the end.
func OpenMessages() (*Messages, error) {
	m := &Messages{fast: -1, fast4: -1, slow6: -1, slow4: -1, raw: -1, raw4: -1, link: -1}
	m.batch.init(true)
	m.police, m.noPolice = openPolicer()
	if err := m.open(); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// open opens all sockets; after an error its caller closes those that are open.
func (m *Messages) open() error {
	for _, s := range []struct {
		fd                *int
		domain, kind, arg int
	}{
		{&m.fast, unix.AF_PACKET, unix.SOCK_DGRAM, 0}, {&m.fast4, unix.AF_PACKET, unix.SOCK_DGRAM, 0}, {&m.slow6, unix.AF_PACKET, unix.SOCK_DGRAM, 0}, {&m.slow4, unix.AF_PACKET, unix.SOCK_DGRAM, 0},
		{&m.raw, unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW}, {&m.raw4, unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW}, {&m.link, unix.AF_PACKET, unix.SOCK_RAW, 0},
	} {
		var err error
		if *s.fd, err = unix.Socket(s.domain, s.kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, s.arg); err != nil {
			return fmt.Errorf("open a socket for notifications (CAP_NET_RAW): %w", err)
		}
	}
	for _, fd := range m.received() {
		stamped := 0
		if fd == m.fast || fd == m.fast4 {
			stamped = 1
		}
		for _, o := range []struct{ level, name, value int }{
			{unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1},
			{unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, stamped},
		} {
			if err := unix.SetsockoptInt(fd, o.level, o.name, o.value); err != nil {
				return os.NewSyscallError("setsockopt", err)
			}
		}
		// More than the limit for all takes CAP_NET_ADMIN.
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, messageBuffer) == nil {
			continue
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, messageBuffer); err != nil {
			return os.NewSyscallError("setsockopt SO_RCVBUF", err)
		}
	}
	for _, fd := range []int{m.raw, m.raw4, m.link} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PRIORITY, control); err != nil {
			return os.NewSyscallError("setsockopt SO_PRIORITY", err)
		}
	}
	return nil
}

// Close closes the sockets, after all other calls have returned.
func (m *Messages) Close() error {
	var errs []error
	for _, fd := range append(m.received(), m.raw, m.raw4, m.link) {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(append(errs, m.police.close())...)
}

// Configure replaces the senders, peers and code points whose messages are received.
func (m *Messages) Configure(c *MessageConfig) error {
	first := m.config.Swap(c) == nil
	m.unpolice = m.noPolice
	for _, family := range []struct {
		slow, fast         int
		protocol           uint16
		part, slowly, what string
		program, filter    []bpf.Instruction
	}{
		{m.slow6, m.fast, unix.ETH_P_IPV6, "PFCM and PPFC", "notifications over IPv6", "IPv6", c.partProgram(), slowProgram(&c.Codes)},
		{m.slow4, m.fast4, unix.ETH_P_IP, "PPFC over IPv4", "notifications over IPv4", "IPv4", c.partProgram4(), slowProgram4(&c.Codes)},
	} {
		if first {
			if err := join(family.protocol, family.slow, family.fast); err != nil {
				return fmt.Errorf("receive notifications over %s: %w", family.what, err)
			}
		}
		for _, p := range []struct {
			fd, level, option int
			program           []bpf.Instruction
			what              string
		}{
			{family.fast, unix.SOL_PACKET, unix.PACKET_FANOUT_DATA, family.program, family.part},
			{family.slow, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, family.filter, family.slowly},
			{family.fast, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, all, family.part},
		} {
			if err := attach(p.fd, p.level, p.option, p.program, p.what); err != nil {
				return err
			}
		}
		if m.noPolice == nil { // in place of the filter that passes all
			m.unpolice = errors.Join(m.unpolice, m.police.attach(family.fast, family.protocol == unix.ETH_P_IPV6, messageRates{c.PFCMRate, c.PPFCRate, c.PPFCRateBySource}))
		}
	}
	return nil
}

// Unpoliced returns why messages beyond the rates of [MessageConfig] are not dropped in the
// kernel, after Configure; nil: they are.
func (m *Messages) Unpoliced() error { return m.unpolice }

// Policed is how many messages of a kind were dropped in the kernel, beyond the rate of their
// port.
func (m *Messages) Policed(k notify.Kind) uint64 { return m.police.dropped(k) }

// attach gives a socket a program of the kernel's.
func attach(fd, level, option int, instructions []bpf.Instruction, what string) error {
	filter, err := assemble(what, instructions)
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.SetsockoptSockFprog(fd, level, option, &program); err != nil {
		return fmt.Errorf("set the filter for %s: %w", what, err)
	}
	return nil
}

// join makes the two sockets of a family a group. A program chooses the socket of each
// packet, so that each is counted exactly once while the configuration changes.
func join(protocol uint16, slow, fast int) error {
	group := unix.PACKET_FANOUT_FLAG_UNIQUEID << 16
	for _, fd := range []int{slow, fast} { // in the order of the program's numbers
		if err := attach(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, nothing, "nothing"); err != nil {
			return err
		}
		if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: networkOrder(protocol)}); err != nil {
			return os.NewSyscallError("bind", err)
		}
		// The group has a hook of its own in the kernel, which ignores outgoing packets, too.
		kind := (unix.PACKET_FANOUT_CBPF | unix.PACKET_FANOUT_FLAG_IGNORE_OUTGOING) << 16
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT, group|kind); err != nil {
			return os.NewSyscallError("setsockopt PACKET_FANOUT", err)
		}
		id, err := unix.GetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_FANOUT)
		if err != nil {
			return os.NewSyscallError("getsockopt PACKET_FANOUT", err)
		}
		group = id & 0xffff
	}
	return nil
}

// received are the sockets that receive.
func (m *Messages) received() []int { return []int{m.fast, m.fast4, m.slow6, m.slow4} }

// FDs can be read from while messages wait for Receive: over IPv6, over IPv4.
func (m *Messages) FDs() [2]int { return [2]int{m.fast, m.fast4} }

// Receive reads the messages that wait for the flow-control task, up to len(dst), and
// returns at once. Other packets are left out; a bad message has its error.
func (m *Messages) Receive(dst []Message) (n int) {
	c := m.config.Load()
	if c == nil {
		return 0
	}
	for _, fd := range [...]int{m.fast, m.fast4} {
		n += m.receive(fd, dst[n:], c)
	}
	return n
}

// receive reads the messages that wait at one socket.
func (m *Messages) receive(fd int, dst []Message, c *MessageConfig) (n int) {
	got := m.batch.receive(fd, len(dst))
	if got == 0 {
		return 0
	}
	real, mono := time.Now().UnixNano(), Monotonic()
	for i := range got {
		d := &dst[n]
		packet, port, stamp := m.batch.packet(i)
		if d.Err = d.Packet.ParseIP(packet, c.Codes); errors.Is(d.Err, notify.ErrNotNotification) {
			continue
		}
		d.Port, d.At = port, Arrived(real, mono, stamp)
		n++
	}
	return n
}

// Arrived returns the time on CLOCK_MONOTONIC of a stamp on CLOCK_REALTIME, both clocks being
// read now (real, mono); all are ns. It is 0 where the clock was set meanwhile: the stamp is of
// the future, or a second old.
func Arrived(real, mono, stamp int64) int64 {
	if age := real - stamp; age >= 0 && age < int64(oldest) {
		return mono - age
	}
	return 0
}

// Send sends an IPv6 packet, complete from its header on, out of a port to a
// link-local address. IPsec's policies apply.
//
//conformance:draft-yang/link-local draft-yang/ipsec
func (m *Messages) Send(port uint32, to netip.Addr, packet []byte) error {
	m.to6.ZoneId, m.to6.Addr = port, to.As16()
	return unix.Sendto(m.raw, packet, unix.MSG_DONTWAIT, &m.to6)
}

// Route sends an IP packet, complete from its header on, by the kernel's routes.
func (m *Messages) Route(packet []byte) error {
	if packet[0]>>4 == 4 {
		m.to4.Addr = [4]byte(packet[16:20])
		return unix.Sendto(m.raw4, packet, unix.MSG_DONTWAIT, &m.to4)
	}
	m.to6.ZoneId, m.to6.Addr = 0, [16]byte(packet[24:40])
	return unix.Sendto(m.raw, packet, unix.MSG_DONTWAIT, &m.to6)
}

// SendFrame sends an Ethernet frame out of a port.
func (m *Messages) SendFrame(port uint32, frame []byte) error {
	m.toLink.Ifindex, m.toLink.Protocol = int(port), networkOrder(binary.BigEndian.Uint16(frame[12:]))
	return unix.Sendto(m.link, frame, unix.MSG_DONTWAIT, &m.toLink)
}

// Run counts the messages that are kept from the flow-control task, by reason, until the
// context ends.
func (m *Messages) Run(ctx context.Context) error {
	var b batch
	b.init(false)
	var p notify.Packet
	fds := []unix.PollFd{{Fd: int32(m.slow6), Events: unix.POLLIN}, {Fd: int32(m.slow4), Events: unix.POLLIN}}
	for ctx.Err() == nil {
		if _, err := unix.Poll(fds, slowPatience); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("wait for notifications: %w", err)
		}
		for _, fd := range []int{m.slow6, m.slow4} {
			for ctx.Err() == nil {
				n := b.receive(fd, maxBatch)
				for i := range n {
					packet, _, _ := b.packet(i)
					m.count(&p, packet)
				}
				if n < maxBatch {
					break
				}
			}
		}
		time.Sleep(slowPause)
	}
	return nil
}

// count counts a message that is kept from the flow-control task.
//
//conformance:draft-yang/hop-limit-silent
func (m *Messages) count(p *notify.Packet, packet []byte) {
	c := m.config.Load()
	err := p.ParseIP(packet, c.Codes)
	bad, isBad := errors.AsType[*notify.Error](err) // [errors.As] would take memory
	switch {
	case errors.Is(err, notify.ErrNotNotification):
	case isBad:
		m.counts[bad.Kind][bad.Reason].Add(1)
	case p.Kind == notify.KindPFCM && c.PFCMMark != 0 && c.sends(p.Envelope.Src), p.Kind == notify.KindPPFC && c.PPFCMark != 0:
		m.other[p.Kind][DroppedMark].Add(1)
	default:
		m.other[p.Kind][DroppedSender].Add(1)
	}
}

// sends reports whether an address is a sender of PFCM.
func (c *MessageConfig) sends(a netip.Addr) bool {
	for _, s := range c.Senders {
		if s.Addr == a {
			return true
		}
	}
	return false
}

// Count is how many messages of a kind Run has counted for a reason.
func (m *Messages) Count(k notify.Kind, r notify.Reason) uint64 { return m.counts[k][r].Load() }

// Dropped is how many messages of a kind Run has counted that could be read.
func (m *Messages) Dropped(k notify.Kind, why Dropped) uint64 { return m.other[k][why].Load() }

// Full is how many packets found a socket full. One goroutine may call it.
func (m *Messages) Full() uint64 {
	for _, fd := range m.received() {
		if s, err := unix.GetsockoptTpacketStats(fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			m.full.Add(uint64(s.Drops))
		}
	}
	return m.full.Load()
}

// batch receives many packets by one system call.
type batch struct {
	described bool

	headers [maxBatch]messageHeader
	froms   [maxBatch]unix.RawSockaddrLinklayer
	vectors [maxBatch]unix.Iovec
	data    [maxBatch][packetRoom]byte
	control [maxBatch][stampRoom]byte
}

// messageHeader is struct mmsghdr.
type messageHeader struct {
	unix.Msghdr
	length uint32
	_      [4]byte
}

// init prepares receive; described: with the port that each packet came in by, and the
// kernel's time, which cost the kernel as much as the packet.
func (b *batch) init(described bool) {
	b.described = described
	for i := range b.headers {
		b.vectors[i].Base = &b.data[i][0]
		b.vectors[i].SetLen(packetRoom)
		h := &b.headers[i]
		h.Iov = &b.vectors[i]
		h.SetIovlen(1)
		if described {
			h.Name, h.Control = (*byte)(unsafe.Pointer(&b.froms[i])), &b.control[i][0]
		}
	}
}

// receive reads up to most messages by one call of recvmmsg(2), which saves the cost of a
// system call for each in a storm. It returns their number, 0 if none waits.
func (b *batch) receive(fd, most int) int {
	most = min(most, maxBatch)
	for i := 0; b.described && i < most; i++ {
		b.headers[i].Namelen = unix.SizeofSockaddrLinklayer
		b.headers[i].SetControllen(stampRoom)
	}
	n, _, err := unix.RawSyscall6(unix.SYS_RECVMMSG, uintptr(fd), uintptr(unsafe.Pointer(&b.headers[0])), uintptr(most), unix.MSG_DONTWAIT, 0, 0)
	if err != 0 {
		return 0 // the queue is empty
	}
	return int(n)
}

// packet returns the packet of a number, the port that it came in by, and when the
// kernel had it (ns, CLOCK_REALTIME). It is valid until the next receive.
func (b *batch) packet(i int) (packet []byte, port uint32, stamp int64) {
	h := &b.headers[i]
	c := (*unix.Cmsghdr)(unsafe.Pointer(&b.control[i][0]))
	if h.Controllen >= stampLength && c.Level == unix.SOL_SOCKET && c.Type == unix.SCM_TIMESTAMPNS {
		stamp = (*unix.Timespec)(unsafe.Pointer(&b.control[i][unix.SizeofCmsghdr])).Nano()
	}
	return b.data[i][:min(h.length, packetRoom)], uint32(b.froms[i].Ifindex), stamp
}
