// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/daemon/process"
)

// The virtual switch samples nothing. sluiced runs as a process of this program, which is sluiced but, where the
// kernel has no psample, for the socket that samples come by.
const (
	envSamples = "SLUICE_SONIC_SAMPLES"
	envConfig  = "SLUICE_SONIC_CONFIG"
	envMemory  = "SLUICE_SONIC_MEMORY"

	ofTheKernel = "psample" // value of envSamples
)

// sampling is how many packets there are to a sample.
const sampling = 2

// sluiced runs sluiced with samples of the kernel, or that come by a socket at a path.
func sluiced(at string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o := &process.Options{
		Version: "sonic", DBConfig: os.Getenv(envConfig), Level: slog.LevelInfo,
		Files:   process.Files{StateFile: os.Getenv(envMemory), LockFolder: process.LockFolder},
		Metrics: process.Metrics{Address: process.Off},
	}
	if at != ofTheKernel {
		o.OpenSamples = func() (int, error) {
			if err := os.Remove(at); err != nil && !errors.Is(err, os.ErrNotExist) { // of an earlier process
				return -1, err
			}
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
			if err != nil {
				return -1, err
			}
			return fd, unix.Bind(fd, &unix.SockaddrUnix{Name: at})
		}
	}
	return process.Run(ctx, o, os.Stdout, os.Stderr)
}

// memory is sluiced's state file, and logFile has its log.
func (s *sonic) memory() string        { return filepath.Join(s.folder, "sluiced.json") }
func (s *sonic) samplesSocket() string { return filepath.Join(s.folder, "samples") }

// samplesOf is the value of envSamples: the kernel's psample where it has one.
func (s *sonic) samplesOf() string {
	if kernelSamples() {
		return ofTheKernel
	}
	return s.samplesSocket()
}

func (s *sonic) logFile() string { return filepath.Join(s.out, "sluiced.txt") }

// startSluiced starts sluiced, and waits until it runs.
func (s *sonic) startSluiced(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	log, err := os.OpenFile(s.logFile(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := s.cli("STATE_DB", "DEL", "SLUICE_STATE|global"); err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), envSamples+"="+s.samplesOf(), envConfig+"="+s.redis.Config, envMemory+"="+s.memory())
	cmd.Stdout, cmd.Stderr = log, log
	if s.sluiced, err = s.leaf.Start(cmd); err != nil {
		return err
	}
	return must(ctx, "sluiced runs", func() (bool, error) {
		select {
		case <-s.sluiced.Done():
			return false, fmt.Errorf("sluiced ended, see %s: %w", s.logFile(), s.sluiced.Wait())
		default:
		}
		state, err := row(ctx, s.state, "SLUICE_STATE", "global")
		return state["state"] != "" && state["state"] != "starting", err
	})
}

// sample gives one of so many packets that leave by the uplinks to sluiced until ctx is done, in the form
// of psample, as an ASIC that names the port that a packet leaves by. All of the load comes in by the
// port of the host.
func (s *sonic) sample(ctx context.Context) (wait func() error, err error) {
	if kernelSamples() {
		return s.sampleByKernel(ctx), nil
	}
	var from int
	err = s.leaf.Do(func() (err error) {
		from, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return nil, err
	}
	out, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, errors.Join(err, unix.Close(from))
	}
	const (
		ancillary          = 0xfffff000 // SKF_AD_OFF
		packetType, random = ancillary + 4, ancillary + 56
		head               = 128 // octets of a sample
	)
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: packetType},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 4, K: unix.PACKET_OUTGOING},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: random},
		{Code: unix.BPF_ALU | unix.BPF_MOD | unix.BPF_K, K: sampling},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: head},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
	}
	err = errors.Join(
		unix.SetsockoptSockFprog(from, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}),
		unix.SetsockoptInt(from, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20),
		unix.SetsockoptTimeval(from, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 50000}),
		unix.Bind(from, &unix.SockaddrLinklayer{Protocol: binary.NativeEndian.Uint16(binary.BigEndian.AppendUint16(nil, unix.ETH_P_ALL))}))
	if err != nil {
		return nil, errors.Join(err, unix.Close(from), unix.Close(out))
	}
	done := make(chan error, 1)
	go func() {
		frame, seq, ports := make([]byte, head), uint32(0), &portIndexes{s: s}
		for ctx.Err() == nil {
			n, at, err := unix.Recvfrom(from, frame, 0)
			link, ok := at.(*unix.SockaddrLinklayer)
			if err != nil || !ok || n < 40 || !ports.uplink(link.Ifindex) {
				continue
			}
			seq++
			_ = unix.Sendto(out, psample(ports.host, link.Ifindex, seq, frame[:n]), 0, &unix.SockaddrUnix{Name: s.samplesSocket()}) // while sluiced is away samples are lost
		}
		done <- errors.Join(unix.Close(from), unix.Close(out))
	}()
	return func() error { return <-done }, nil
}

// portIndexes are the interface indexes of the ports, which change when syncd starts again.
type portIndexes struct {
	s    *sonic
	host int
	ups  map[int]bool
	read time.Time
}

func (p *portIndexes) uplink(index int) bool {
	if p.ups[index] {
		return true
	}
	if time.Since(p.read) < time.Second {
		return false
	}
	p.read, p.ups = time.Now(), map[int]bool{}
	_ = p.s.leaf.Do(func() error { // a port that is missing lacks a packets
		for i := range uplinks + 1 {
			link, err := netlink.LinkByName(portName(i))
			switch {
			case err != nil:
			case i == 0:
				p.host = link.Attrs().Index
			default:
				p.ups[link.Attrs().Index] = true
			}
		}
		return nil
	})
	return p.ups[index]
}

// psample is a message of linux/psample.h.
func psample(in, out int, seq uint32, frame []byte) []byte {
	attribute := func(b []byte, kind uint16, v []byte) []byte {
		b = binary.NativeEndian.AppendUint16(b, uint16(4+len(v)))
		b = binary.NativeEndian.AppendUint16(b, kind)
		return append(append(b, v...), make([]byte, -len(v)&3)...)
	}
	number := func(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }
	b := make([]byte, 20)
	b[17] = 1 // version
	b = attribute(b, 0, binary.NativeEndian.AppendUint16(nil, uint16(in)))
	b = attribute(b, 1, binary.NativeEndian.AppendUint16(nil, uint16(out)))
	octets := 14 + uint32(binary.BigEndian.Uint16(frame[16:])) // on the wire
	if frame[12] == 0x86 {                                     // IPv6 counts those after its header
		octets = 14 + 40 + uint32(binary.BigEndian.Uint16(frame[18:]))
	}
	b = attribute(b, 2, number(octets))
	b = attribute(b, 3, number(1))
	b = attribute(b, 4, number(seq))
	b = attribute(b, 5, number(sampling))
	b = attribute(b, 6, frame)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}
