// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/host/machine"
)

// Netdev is the source of the packets that the switch gives to the CPU on the netdevs of
// its ports, and as samples of sFlow: one AF_PACKET socket with a ring (TPACKET_V3),
// behind a filter that lets RoCEv2 through. Packets that the CPU itself sends are left
// out, and so are those of other netdevs: the kernel delivers a packet of a PortChannel's
// member a second time by the PortChannel.
type Netdev struct {
	fd, wake int // the socket; an eventfd that ends a wait
	ring     []byte
	block    uint32 // of the ring, that is read or is to be next
	left     uint32 // packets in it still to be given out; 0: it is the kernel's
	next     uint32 // offset in the block of the next packet

	ctx  context.Context // that ends waits; one for many
	stop func() bool

	ports atomic.Pointer[map[uint32]string] // names by interface index
	why   atomic.Uint32                     // of packets of the netdevs

	rate    atomic.Pointer[clock.Rate] // of all packets that it returns; nil: all pass
	tokens  clock.Bucket
	policed atomic.Uint64 // packets above the rate

	// OpenSamples opens a socket of which each datagram is a message of psample, in place of
	// the kernel's; nil: the kernel's. It is set before Sampled is called.
	OpenSamples func() (fd int, err error)

	samples   atomic.Pointer[samples] // nil before they were wanted
	listening atomic.Bool

	mu      sync.Mutex // of the statistics, which the kernel resets at each reading
	dropped uint64
}

// The ring: 16 blocks of 256 KiB. A partly filled block is passed on after retire, so
// that a packet waits at most that long for others.
const (
	blockSize = 1 << 18
	blocks    = 16
	frameSize = 2048 // the kernel wants one, and fits packets as they come
	retire    = 10   // milliseconds
)

// OpenNetdev opens a source in the network namespace of the calling thread. It takes
// CAP_NET_RAW. Packets come after the first SetPorts. Close it in the end.
func OpenNetdev() (*Netdev, error) {
	s := &Netdev{wake: -1}
	var err error
	// Without a protocol the socket receives only once it is bound: every packet has passed
	// the filter.
	if s.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open a packet socket (CAP_NET_RAW): %w", err)
	}
	if err := s.setUp(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// setUp sets the filter, the ring and the time stamps of the socket, in an order that
// keeps unfiltered packets out.
func (s *Netdev) setUp() (err error) {
	if s.wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("make an eventfd: %w", err)
	}
	filter, err := roceFilter()
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	for _, step := range []struct {
		what string
		do   func() error
	}{
		{"set the filter", func() error {
			return unix.SetsockoptSockFprog(s.fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &program)
		}},
		{"leave out what the CPU sends", func() error { return unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1) }},
		{"choose TPACKET_V3", func() error { return unix.SetsockoptInt(s.fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3) }},
		{"make the ring", func() error {
			return unix.SetsockoptTpacketReq3(s.fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &unix.TpacketReq3{
				Block_size: blockSize, Block_nr: blocks, Frame_size: frameSize, Frame_nr: blockSize / frameSize * blocks,
				Retire_blk_tov: retire,
			})
		}},
		{"map the ring", func() error {
			s.ring, err = unix.Mmap(s.fd, 0, blockSize*blocks, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			return err
		}},
		{"listen", func() error { return unix.Bind(s.fd, &unix.SockaddrLinklayer{Protocol: networkOrder(unix.ETH_P_ALL)}) }},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("packet socket: %s: %w", step.what, err)
		}
	}
	return nil
}

// networkOrder returns v with its octets in the order of the network.
func networkOrder(v uint16) uint16 {
	var b [2]byte
	binary.BigEndian.PutUint16(b[:], v)
	return binary.NativeEndian.Uint16(b[:])
}

// Close closes the source, after Receive has returned.
func (s *Netdev) Close() error {
	if s.stop != nil {
		s.stop()
	}
	var errs []error
	if s.ring != nil {
		errs = append(errs, unix.Munmap(s.ring))
	}
	if samples := s.samples.Load(); samples != nil {
		errs = append(errs, unix.Close(samples.fd))
	}
	if s.wake >= 0 {
		errs = append(errs, unix.Close(s.wake))
	}
	return errors.Join(append(errs, unix.Close(s.fd))...)
}

// SetPorts replaces the netdevs whose packets count. Those that are still missing are
// left out: call it again. It may be called from any goroutine.
func (s *Netdev) SetPorts(names []string) error {
	ports := make(map[uint32]string, len(names))
	err := machine.AskNetdevs(names, unix.SIOCGIFINDEX, func(i int, r *unix.Ifreq) { ports[r.Uint32()] = names[i] })
	if err != nil {
		return err
	}
	s.ports.Store(&ports)
	return nil
}

// PortName is the name of a port by its number, which is its interface index; "" for a
// number outside those of SetPorts. It may be called from any goroutine.
func (s *Netdev) PortName(number uint64) string {
	if ports := s.ports.Load(); ports != nil {
		return (*ports)[uint32(number)]
	}
	return ""
}

// SetWhy sets the reason for which packets come by the netdevs of ports; by default they
// are samples. It may be called from any goroutine.
func (s *Netdev) SetWhy(w Why) { s.why.Store(uint32(w)) }

// SetRate limits the source to rate packets a second, and burst at once. It may be called
// from any goroutine.
func (s *Netdev) SetRate(rate, burst uint32) {
	s.rate.Store(&clock.Rate{PerSecond: rate, Burst: burst})
}

// Policed is how many packets were more than that.
func (s *Netdev) Policed() uint64 { return s.policed.Load() }

// Sampled reports whether the samples of SONiC's sFlow are received, too. It may be
// called while a Receive is under way, from one goroutine.
func (s *Netdev) Sampled(on bool) error {
	if on == s.listening.Load() {
		return nil
	}
	samples := s.samples.Load()
	if samples == nil {
		var err error
		if samples, err = s.openSamples(); err != nil {
			return err
		}
		s.samples.Store(samples)
	}
	if err := samples.listen(on); err != nil {
		return err
	}
	s.listening.Store(on)
	return nil
}

// openSamples opens the socket of samples.
func (s *Netdev) openSamples() (*samples, error) {
	if s.OpenSamples == nil {
		return openSamples()
	}
	fd, err := s.OpenSamples()
	if err != nil {
		return nil, fmt.Errorf("open the socket of samples: %w", err)
	}
	return newSamples(fd, 0), nil
}

// SampleRate returns the sampling interval of sFlow's last sample, which is one of so
// many packets; 0 before the first one.
func (s *Netdev) SampleRate() uint32 {
	if samples := s.samples.Load(); samples != nil && s.listening.Load() {
		return samples.rate.Load()
	}
	return 0
}

// RingFull is how many packets found the ring, or the socket of samples, full. It
// may be called from any goroutine.
func (s *Netdev) RingFull() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := uint64(0)
	if samples := s.samples.Load(); samples != nil {
		lost = samples.lost.Load()
	}
	if v, err := unix.GetsockoptTpacketStatsV3(s.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
		s.dropped += uint64(v.Drops)
	}
	return s.dropped + lost
}
