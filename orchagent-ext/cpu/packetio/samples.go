// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/flows/flow"
)

// samples is a socket that receives the samples of SONiC's sFlow: syncd passes them to
// the kernel's psample (linux/psample.h), which sends them to a multicast group of
// generic netlink.
type samples struct {
	fd    int
	group int // of listeners; 0: the socket receives all samples
	slots [flow.MaxBurst][]byte

	known bool // a sample came: group and seq are its
	of    uint32
	seq   uint32

	rate atomic.Uint32 // of the last sample
	lost atomic.Uint64
}

const (
	psampleFamily = "psample"
	psampleGroup  = "packets"
	sampleRoom    = 16 << 10 // octets of a message; longer ones are dropped
	sampleBuffer  = 1 << 20  // octets that wait in the kernel

	headers = 16 + 4 // of netlink and of generic netlink

	commandSample = 0  // PSAMPLE_CMD_SAMPLE
	attrIngress   = 0  // PSAMPLE_ATTR_IIFINDEX, u16; a wider one is understood
	attrEgress    = 1  // PSAMPLE_ATTR_OIFINDEX, as attrIngress
	attrLength    = 2  // PSAMPLE_ATTR_ORIGSIZE, u32
	attrGroup     = 3  // PSAMPLE_ATTR_SAMPLE_GROUP, u32
	attrSeq       = 4  // PSAMPLE_ATTR_GROUP_SEQ, u32
	attrRate      = 5  // PSAMPLE_ATTR_SAMPLE_RATE, u32
	attrData      = 6  // PSAMPLE_ATTR_DATA
	attrTime      = 13 // PSAMPLE_ATTR_TIMESTAMP, u64: ns since 1970, since Linux 5.13
)

// openSamples opens a socket in the network namespace of the calling thread. It
// takes CAP_NET_ADMIN.
func openSamples() (*samples, error) {
	family, err := netlink.GenlFamilyGet(psampleFamily)
	if err != nil {
		return nil, fmt.Errorf("the kernel has no psample, by which sFlow's samples come (is the feature sflow enabled?): %w", err)
	}
	group := 0
	for _, g := range family.Groups {
		if g.Name == psampleGroup {
			group = int(g.ID)
		}
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.NETLINK_GENERIC)
	if err != nil {
		return nil, fmt.Errorf("open a netlink socket for samples: %w", err)
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, sampleBuffer)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("set up the netlink socket for samples: %w", err), unix.Close(fd))
	}
	return newSamples(fd, group), nil
}

// newSamples returns samples that read from a socket of generic netlink; the memory of
// messages is taken here.
func newSamples(fd, group int) *samples {
	s := &samples{fd: fd, group: group}
	for i := range s.slots {
		s.slots[i] = make([]byte, sampleRoom)
	}
	return s
}

// listen joins or leaves the group of samples.
func (s *samples) listen(on bool) error {
	if s.group == 0 {
		return nil
	}
	option := map[bool]int{true: unix.NETLINK_ADD_MEMBERSHIP, false: unix.NETLINK_DROP_MEMBERSHIP}[on]
	if err := unix.SetsockoptInt(s.fd, unix.SOL_NETLINK, option, s.group); err != nil {
		return fmt.Errorf("listen to sFlow's samples (CAP_NET_ADMIN): %w", err)
	}
	return nil
}

// take fills in the samples that wait, of known ports.
func (s *samples) take(frames []Frame, ports map[uint32]string) (n int) {
	for n < len(frames) && n < len(s.slots) {
		got, err := unix.Read(s.fd, s.slots[n])
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOBUFS) {
			continue // ENOBUFS: some were lost, as their numbers will show
		}
		if err != nil {
			return n // the queue is empty
		}
		if f, ok := s.parse(s.slots[n][:got]); ok && ports[f.Ingress] != "" {
			f.From, f.To = uint64(f.Ingress), uint64(f.Egress)
			frames[n] = f
			n++
		}
	}
	return n
}

// parse reads a message of psample, whose numbers are in the host's byte order.
func (s *samples) parse(b []byte) (f Frame, ok bool) {
	if len(b) < headers || b[16] != commandSample {
		return f, false
	}
	f.Length = longest
	group, seq, numbered := uint32(0), uint32(0), false
	for b = b[headers:]; len(b) >= 4; {
		length, kind := int(binary.NativeEndian.Uint16(b)), binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)
		if length < 4 || length > len(b) {
			return f, false
		}
		v := b[4:length]
		switch {
		case kind == attrIngress:
			f.Ingress = index(v)
		case kind == attrEgress:
			f.Egress = index(v)
		case kind == attrLength && len(v) == 4:
			f.Length = int(binary.NativeEndian.Uint32(v))
		case kind == attrGroup && len(v) == 4:
			group = binary.NativeEndian.Uint32(v)
		case kind == attrSeq && len(v) == 4:
			seq, numbered = binary.NativeEndian.Uint32(v), true
		case kind == attrRate && len(v) == 4:
			s.rate.Store(binary.NativeEndian.Uint32(v))
		case kind == attrTime && len(v) == 8:
			f.At = int64(binary.NativeEndian.Uint64(v))
		case kind == attrData:
			f.Data = v
		}
		b = b[min((length+3)&^3, len(b)):]
	}
	if numbered {
		s.number(group, seq)
	}
	return f, f.Data != nil
}

// index reads an interface index; of another length than is known it is 0.
func index(v []byte) uint32 {
	switch len(v) {
	case 2:
		return uint32(binary.NativeEndian.Uint16(v))
	case 4:
		return binary.NativeEndian.Uint32(v)
	}
	return 0
}

// number counts the samples that are missing between two of a group, by their sequence
// numbers.
func (s *samples) number(group, seq uint32) {
	// else they were reset
	if missing := seq - s.seq - 1; s.known && group == s.of && int32(missing) > 0 {
		s.lost.Add(uint64(missing))
	}
	s.known, s.of, s.seq = true, group, seq
}
