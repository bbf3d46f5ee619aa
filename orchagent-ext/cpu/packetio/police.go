// SPDX-License-Identifier: Apache-2.0

package packetio

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/wire/notify"
)

// MessageRate is how many messages a port may send. The zero value lets all pass.
type MessageRate = clock.Rate

// messageRates are the rates of a policer.
type messageRates struct {
	pfcm, ppfc   MessageRate // of a port
	ppfcBySource MessageRate // of a source address, by whichever ports
}

// policer drops in the kernel what a port, or a source, sends beyond a rate, before it waits at a
// socket or wakes the flow-control task: so a flood neither takes the CPU nor the room of the
// messages of others. It is a socket filter with token buckets, in the form of GCRA (ITU-T
// I.371): a bucket is the time at which it will be full again.
type policer struct {
	buckets int // map: port and kind, or source → ns of CLOCK_MONOTONIC
	drops   int // map: kind → packets
}

// The kinds of the policer: PFCM comes from link-local addresses, PPFC from others.
const (
	policedPFCM = iota
	policedPPFC
	policedKinds
)

const (
	mostBuckets = 8192 // the least recently used one makes room, and begins full again
)

// openPolicer makes the maps; it takes CAP_BPF or CAP_SYS_ADMIN.
func openPolicer() (p policer, err error) {
	p = policer{-1, -1}
	if p.buckets, err = createMap(unix.BPF_MAP_TYPE_LRU_HASH, bucketKey, mostBuckets); err == nil {
		p.drops, err = createMap(unix.BPF_MAP_TYPE_ARRAY, 4, policedKinds)
	}
	if err != nil {
		err = fmt.Errorf("police messages in the kernel (CAP_BPF): %w", errors.Join(err, p.close()))
		p = policer{-1, -1}
	}
	return p, err
}

func (p *policer) close() (err error) {
	for _, fd := range []int{p.buckets, p.drops} {
		if fd >= 0 {
			err = errors.Join(err, unix.Close(fd))
		}
	}
	return err
}

// drop reports whether messages over IPv6, or IPv4, have a rate. Over IPv4 there is no PFCM.
func (r messageRates) drop(ipv6 bool) bool {
	return r.ppfc.PerSecond != 0 || r.ppfcBySource.PerSecond != 0 || ipv6 && r.pfcm.PerSecond != 0
}

// attach gives a socket the filter with these rates by kind, where there are some. ipv6: packets
// over IPv6.
func (p *policer) attach(fd int, ipv6 bool, rates messageRates) error {
	if !rates.drop(ipv6) {
		return nil // the kernel refuses a program with an unreachable end "drop"
	}
	program, err := loadFilter(p.program(ipv6, rates))
	if err != nil {
		return fmt.Errorf("police messages in the kernel (CAP_BPF): %w", err)
	}
	defer unix.Close(program) //nolint:errcheck // the socket keeps the program
	return os.NewSyscallError("setsockopt SO_ATTACH_BPF", unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ATTACH_BPF, program))
}

// dropped is how many messages of a kind were dropped since the maps were made.
func (p *policer) dropped(k notify.Kind) (n uint64) {
	kind := uint32(policedPPFC)
	if k == notify.KindPFCM {
		kind = policedPFCM
	}
	if p.drops < 0 {
		return 0
	}
	look := struct {
		fd, _      uint32
		key, value unsafe.Pointer
		flags      uint64
	}{fd: uint32(p.drops), key: unsafe.Pointer(&kind), value: unsafe.Pointer(&n)}
	if _, err := bpfCall(unix.BPF_MAP_LOOKUP_ELEM, unsafe.Pointer(&look), unsafe.Sizeof(look)); err != nil {
		return 0
	}
	return n
}

// Registers, offsets in struct __sk_buff and helpers of linux/bpf.h.
const (
	r0, r1, r2, r3, r4, r6, r7, r8, r9, r10 = 0, 1, 2, 3, 4, 6, 7, 8, 9, 10

	skbIfindex = 40

	helperLookup, helperUpdate, helperTime = 1, 2, 5
)

// Places of the program's stack. A key is three words: port and kind, and an address in
// network order (IPv6), or 0.
const (
	keyAt     = -24
	addressAt = keyAt + 8
	valueAt   = keyAt - 8
	nowAt     = valueAt - 8
	bucketKey = -keyAt // octets
)

// program returns the filter. At the end r0 is the octets of the packet that pass.
func (p *policer) program(ipv6 bool, rates messageRates) []uint64 {
	var a filterAssembly
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_X, r6, r1, 0, 0)
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_K, r7, 0, 0, policedPPFC)
	a.add(unix.BPF_ST|unix.BPF_MEM|unix.BPF_DW, r10, 0, addressAt, 0)
	a.add(unix.BPF_ST|unix.BPF_MEM|unix.BPF_DW, r10, 0, addressAt+8, 0)
	if ipv6 { // the source of PFCM is in fe80::/10
		a.add(unix.BPF_LD|unix.BPF_ABS|unix.BPF_H, 0, 0, 0, v6Source)
		a.add(unix.BPF_ALU64|unix.BPF_AND|unix.BPF_K, r0, 0, 0, 0xffc0)
		a.jump(unix.BPF_JNE|unix.BPF_K, r0, 0xfe80, "ppfc")
		a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_K, r7, 0, 0, policedPFCM)
		p.ofPort(&a, "pfcm of port", rates.pfcm)
		a.jump(unix.BPF_JA, 0, 0, "pass")
		a.label("ppfc")
	}
	if rates.ppfcBySource.PerSecond != 0 { // first: its drops leave the port's tokens
		source, words := v4Source, 1
		if ipv6 {
			source, words = v6Source, 4
		}
		for i := range words {
			a.add(unix.BPF_LD|unix.BPF_ABS|unix.BPF_W, 0, 0, 0, source+4*i)
			a.add(unix.BPF_STX|unix.BPF_MEM|unix.BPF_W, r10, r0, addressAt+4*i, 0)
		}
		a.add(unix.BPF_ST|unix.BPF_MEM|unix.BPF_DW, r10, 0, keyAt, policedPPFC)
		p.take(&a, "ppfc of source", rates.ppfcBySource)
		a.add(unix.BPF_ST|unix.BPF_MEM|unix.BPF_DW, r10, 0, addressAt, 0)
		a.add(unix.BPF_ST|unix.BPF_MEM|unix.BPF_DW, r10, 0, addressAt+8, 0)
	}
	p.ofPort(&a, "ppfc of port", rates.ppfc)
	a.label("pass")
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_K, r0, 0, 0, wholePacket)
	a.add(unix.BPF_JMP|unix.BPF_EXIT, 0, 0, 0, 0)
	if !a.jumpsTo("drop") { // the kernel refuses unreachable instructions
		return a.resolved()
	}
	a.label("drop")
	a.add(unix.BPF_STX|unix.BPF_MEM|unix.BPF_W, r10, r7, keyAt, 0)
	a.lookup(p.drops, keyAt)
	a.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, r0, 0, 2, 0)
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_K, r1, 0, 0, 1)
	a.add(unix.BPF_STX|unix.BPF_XADD|unix.BPF_DW, r0, r1, 0, 0)
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_K, r0, 0, 0, ignorePacket)
	a.add(unix.BPF_JMP|unix.BPF_EXIT, 0, 0, 0, 0)
	return a.resolved()
}

// ofPort is take from the bucket of the port that the packet came in by; interface indexes begin
// with 1.
func (p *policer) ofPort(a *filterAssembly, name string, rate MessageRate) {
	a.add(unix.BPF_LDX|unix.BPF_MEM|unix.BPF_W, r1, r6, skbIfindex, 0)
	a.add(unix.BPF_ALU64|unix.BPF_LSH|unix.BPF_K, r1, 0, 0, 1)
	a.add(unix.BPF_ALU64|unix.BPF_OR|unix.BPF_X, r1, r7, 0, 0)
	a.add(unix.BPF_STX|unix.BPF_MEM|unix.BPF_DW, r10, r1, keyAt, 0)
	p.take(a, name, rate)
}

// take adds the instructions that take a message out of the bucket of the key, or jump to
// "drop". Without a rate there are none. The name is theirs alone.
func (p *policer) take(a *filterAssembly, name string, rate MessageRate) {
	if rate.PerSecond == 0 {
		return
	}
	a.imm64(r8, interval(rate))
	a.imm64(r9, tolerance(rate))
	a.call(helperTime)
	a.add(unix.BPF_STX|unix.BPF_MEM|unix.BPF_DW, r10, r0, nowAt, 0)
	a.lookup(p.buckets, keyAt)
	a.jump(unix.BPF_JNE|unix.BPF_K, r0, 0, name+" is known")
	a.add(unix.BPF_LDX|unix.BPF_MEM|unix.BPF_DW, r1, r10, nowAt, 0)
	a.add(unix.BPF_ALU64|unix.BPF_ADD|unix.BPF_X, r1, r8, 0, 0)
	a.add(unix.BPF_STX|unix.BPF_MEM|unix.BPF_DW, r10, r1, valueAt, 0)
	a.mapOf(p.buckets, keyAt)
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_X, r3, r10, 0, 0)
	a.add(unix.BPF_ALU64|unix.BPF_ADD|unix.BPF_K, r3, 0, 0, valueAt)
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_K, r4, 0, 0, 0)
	a.call(helperUpdate)
	a.jump(unix.BPF_JA, 0, 0, name+" is taken from")
	a.label(name + " is known")
	a.add(unix.BPF_LDX|unix.BPF_MEM|unix.BPF_DW, r1, r0, 0, 0)
	a.add(unix.BPF_LDX|unix.BPF_MEM|unix.BPF_DW, r2, r10, nowAt, 0)
	a.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_X, r1, r2, 1, 0)
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_X, r1, r2, 0, 0) // it has been full since
	a.add(unix.BPF_ALU64|unix.BPF_ADD|unix.BPF_X, r2, r9, 0, 0)
	a.jump(unix.BPF_JGT|unix.BPF_X, r1, r2, "drop")
	a.add(unix.BPF_ALU64|unix.BPF_ADD|unix.BPF_X, r1, r8, 0, 0)
	// Two CPUs may take the same token: a port has one in nearly every case.
	a.add(unix.BPF_STX|unix.BPF_MEM|unix.BPF_DW, r0, r1, 0, 0)
	a.label(name + " is taken from")
}

// interval is the time that a message takes out of a bucket, ns; 0: there is no rate.
func interval(r MessageRate) uint64 {
	if r.PerSecond == 0 {
		return 0
	}
	return uint64(math.Ceil(1e9 / float64(r.PerSecond)))
}

// tolerance is how far a bucket may be ahead of the time when a message passes, ns.
func tolerance(r MessageRate) uint64 { return interval(r) * uint64(max(r.Burst, 1)-1) }

// filterAssembly is a program of struct bpf_insn, each as a number of little-endian machines,
// which amd64 and arm64 are.
type filterAssembly struct {
	words  []uint64
	labels map[string]int
	jumps  map[int]string // by the instruction
}

func (a *filterAssembly) add(code, dst, src, off, imm int) {
	a.words = append(a.words, uint64(code)|uint64(dst)<<8|uint64(src)<<12|uint64(uint16(int16(off)))<<16|uint64(uint32(int32(imm)))<<32)
}

// imm64 loads a constant of 64 bits, by two instructions.
func (a *filterAssembly) imm64(dst int, v uint64) {
	a.add(unix.BPF_LD|unix.BPF_IMM|unix.BPF_DW, dst, 0, 0, int(int32(uint32(v))))
	a.add(0, 0, 0, 0, int(int32(uint32(v>>32))))
}

func (a *filterAssembly) call(helper int) { a.add(unix.BPF_JMP|unix.BPF_CALL, 0, 0, 0, helper) }

// mapOf prepares the first two arguments of a helper: a map, and a key on the stack.
func (a *filterAssembly) mapOf(fd, key int) {
	a.add(unix.BPF_LD|unix.BPF_IMM|unix.BPF_DW, r1, unix.BPF_PSEUDO_MAP_FD, 0, fd)
	a.add(0, 0, 0, 0, 0)
	a.add(unix.BPF_ALU64|unix.BPF_MOV|unix.BPF_X, r2, r10, 0, 0)
	a.add(unix.BPF_ALU64|unix.BPF_ADD|unix.BPF_K, r2, 0, 0, key)
}

func (a *filterAssembly) lookup(fd, key int) {
	a.mapOf(fd, key)
	a.call(helperLookup)
}

// jump jumps to a label that comes later. With BPF_X, src is a register, else a constant.
func (a *filterAssembly) jump(condition, dst, src int, to string) {
	if a.jumps == nil {
		a.jumps = map[int]string{}
	}
	a.jumps[len(a.words)] = to
	if condition&unix.BPF_X != 0 {
		a.add(unix.BPF_JMP|condition, dst, src, 0, 0)
	} else {
		a.add(unix.BPF_JMP|condition, dst, 0, 0, src)
	}
}

// jumpsTo reports whether there is a jump to a label.
func (a *filterAssembly) jumpsTo(label string) bool {
	for _, to := range a.jumps {
		if to == label {
			return true
		}
	}
	return false
}

func (a *filterAssembly) label(name string) {
	if a.labels == nil {
		a.labels = map[string]int{}
	}
	a.labels[name] = len(a.words)
}

func (a *filterAssembly) resolved() []uint64 {
	for at, to := range a.jumps {
		a.words[at] |= uint64(uint16(a.labels[to]-at-1)) << 16
	}
	return a.words
}

// createMap makes a map of values of 8 octets.
func createMap(kind, key, entries uint32) (int, error) {
	attr := struct{ kind, key, value, entries, flags uint32 }{kind, key, 8, entries, 0}
	fd, err := bpfCall(unix.BPF_MAP_CREATE, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
	if err != nil {
		return -1, os.NewSyscallError("bpf BPF_MAP_CREATE", err)
	}
	return fd, nil
}

// loadFilter loads a socket filter.
func loadFilter(program []uint64) (int, error) {
	license := [...]byte{'A', 'p', 'a', 'c', 'h', 'e', '-', '2', '.', '0', 0}
	attr := struct {
		kind, count           uint32
		instructions, license unsafe.Pointer
		logLevel, logSize     uint32
		log                   unsafe.Pointer
		kernelVersion, flags  uint32
		name                  [16]byte
	}{kind: unix.BPF_PROG_TYPE_SOCKET_FILTER, count: uint32(len(program)), instructions: unsafe.Pointer(&program[0]), license: unsafe.Pointer(&license)}
	copy(attr.name[:], "sluice_police")
	// A signal to the thread ends the kernel's verifier: it is asked again.
	for attempt := 1; ; attempt++ {
		fd, err := bpfCall(unix.BPF_PROG_LOAD, unsafe.Pointer(&attr), unsafe.Sizeof(attr))
		switch {
		case err == nil:
			return fd, nil
		case err != unix.EAGAIN || attempt == loadAttempts:
			return -1, os.NewSyscallError("bpf BPF_PROG_LOAD", err)
		}
	}
}

// loadAttempts is how often the kernel is asked to take a filter.
const loadAttempts = 20

// bpfCall is bpf(2); its result is a file descriptor where the command makes one.
func bpfCall(command int, attr unsafe.Pointer, size uintptr) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_BPF, uintptr(command), uintptr(attr), size)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}
