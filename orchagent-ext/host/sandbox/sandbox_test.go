// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

const asChild = "SLUICE_TEST_SANDBOX"

func TestMain(m *testing.M) {
	if profile := os.Getenv(asChild); profile != "" {
		n, err := strconv.Atoi(profile)
		if err == nil {
			err = inside(Profile(n))
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inside enters the profile and tries what it takes away, on a thread that was there
// before, too. The arguments are such that a call that is allowed does nothing.
func inside(p Profile) error {
	try := make(chan uintptr)
	answer := make(chan unix.Errno)
	go func() {
		runtime.LockOSThread()
		for call := range try {
			_, _, errno := unix.Syscall6(call, ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0))
			answer <- errno
		}
	}()
	try <- unix.SYS_GETPPID
	if errno := <-answer; errno != 0 {
		return fmt.Errorf("before: %w", errno)
	}
	if err := Enter(p); err != nil {
		return err
	}
	for name, call := range p.denied() {
		for where, errno := range map[string]unix.Errno{
			"this thread": func() unix.Errno {
				_, _, errno := unix.Syscall6(call, ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0), ^uintptr(0))
				return errno
			}(),
			"an older thread": func() unix.Errno { try <- call; return <-answer }(),
		} {
			if errno != unix.EPERM {
				return fmt.Errorf("%s on %s: %w, want EPERM", name, where, errno)
			}
		}
	}
	// What is not taken away works.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := l.Close(); err != nil {
		return err
	}
	err = exec.Command("/bin/true").Run()
	if denied := errors.Is(err, unix.EPERM); denied != (p >= Switch) {
		return fmt.Errorf("start a program: %w", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_BPF, 0xffff, 0, 0) // no such command
	if denied := errno == unix.EPERM; p < Server && os.Getuid() == 0 && denied {
		return fmt.Errorf("bpf: %w", errno)
	}
	return nil
}

// TestEnterRefusesListedCalls runs a child in each profile, which tries every call that it takes away.
func TestEnterRefusesListedCalls(t *testing.T) {
	for _, p := range []Profile{Library, Switch, Server} {
		child := exec.CommandContext(t.Context(), os.Args[0])
		child.Env = append(os.Environ(), asChild+"="+strconv.Itoa(int(p)))
		if out, err := child.CombinedOutput(); err != nil {
			t.Errorf("profile %d: %v: %s", p, err, out)
		}
	}
}

// TestProgramRefusesListedCalls: the filter refuses each call of the list, calls of other machines' tables
// and those of x32, and allows the calls between them.
func TestProgramRefusesListedCalls(t *testing.T) {
	for _, p := range []Profile{Library, Switch, Server} {
		vm, err := bpf.NewVM(p.program())
		if err != nil {
			t.Fatal(err)
		}
		denied := map[uintptr]bool{}
		for call := range maps.Values(p.denied()) {
			denied[call] = true
		}
		verdict := func(arch, number uint32) uint32 {
			t.Helper()
			n, err := vm.Run(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, number), arch)) // the order of this VM
			if err != nil {
				t.Fatal(err)
			}
			return uint32(n)
		}
		for call := range uintptr(600) {
			want := uint32(unix.SECCOMP_RET_ALLOW)
			if denied[call] {
				want = refuse
			}
			if got := verdict(arch, uint32(call)); got != want {
				t.Errorf("profile %d, call %d: %#x, want %#x", p, call, got, want)
			}
			for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
				if got := verdict(other, uint32(call)); got != refuse {
					t.Errorf("profile %d, call %d of machine %#x: %#x", p, call, other, got)
				}
			}
			if got := verdict(arch, uint32(call)|x32); got != refuse {
				t.Errorf("profile %d, call %d of x32: %#x", p, call, got)
			}
		}
	}
}
