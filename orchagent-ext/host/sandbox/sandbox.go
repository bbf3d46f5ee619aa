// SPDX-License-Identifier: Apache-2.0

// Package sandbox takes system calls away from the process that it has no use for, so
// that an attacker who takes the process over cannot make them: loading kernel modules,
// mounting, tracing other processes, and the like. The daemons call it when they start.
//
// A call that is taken away fails with EPERM, and the kernel logs it (audit, else the
// kernel's log: type=1326). The calls of a list are taken away, and the rest is allowed:
// it is a second wall after capabilities and users.
package sandbox

import (
	"fmt"
	"maps"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Profile is a list of calls that a process has no use for.
type Profile int

// Profiles, from the most to the least that is allowed.
const (
	Library Profile = iota // a vendor's library, which may load modules, access I/O ports and start programs
	Switch                 // sluiced with the software switch, or while the switch is closed
	Server                 // sluice-gnmi: BPF and raw access to the network are denied, too
)

// denied are the calls that a profile takes away, by name.
func (p Profile) denied() map[string]uintptr {
	calls := maps.Clone(always)
	if p >= Switch {
		maps.Copy(calls, ofLibraries)
		maps.Copy(calls, ofThisMachine)
	}
	if p >= Server {
		maps.Copy(calls, ofSwitches)
	}
	return calls
}

// Calls of the profiles, by name and number on this machine (syscalls(2)).
var (
	always = map[string]uintptr{
		"mount": unix.SYS_MOUNT, "umount2": unix.SYS_UMOUNT2, "pivot_root": unix.SYS_PIVOT_ROOT, "chroot": unix.SYS_CHROOT,
		"open_tree": unix.SYS_OPEN_TREE, "move_mount": unix.SYS_MOVE_MOUNT, "fsopen": unix.SYS_FSOPEN, "fsconfig": unix.SYS_FSCONFIG,
		"fsmount": unix.SYS_FSMOUNT, "fspick": unix.SYS_FSPICK, "mount_setattr": unix.SYS_MOUNT_SETATTR,
		"ptrace": unix.SYS_PTRACE, "process_vm_readv": unix.SYS_PROCESS_VM_READV, "process_vm_writev": unix.SYS_PROCESS_VM_WRITEV,
		"pidfd_getfd": unix.SYS_PIDFD_GETFD, "kcmp": unix.SYS_KCMP,
		"kexec_load": unix.SYS_KEXEC_LOAD, "reboot": unix.SYS_REBOOT, "swapon": unix.SYS_SWAPON, "swapoff": unix.SYS_SWAPOFF,
		"add_key": unix.SYS_ADD_KEY, "request_key": unix.SYS_REQUEST_KEY, "keyctl": unix.SYS_KEYCTL,
		"open_by_handle_at": unix.SYS_OPEN_BY_HANDLE_AT, "fanotify_init": unix.SYS_FANOTIFY_INIT, "userfaultfd": unix.SYS_USERFAULTFD,
		"io_uring_setup": unix.SYS_IO_URING_SETUP, "io_uring_register": unix.SYS_IO_URING_REGISTER, "io_uring_enter": unix.SYS_IO_URING_ENTER,
		"acct": unix.SYS_ACCT, "quotactl": unix.SYS_QUOTACTL, "syslog": unix.SYS_SYSLOG, "vhangup": unix.SYS_VHANGUP,
		"sethostname": unix.SYS_SETHOSTNAME, "setdomainname": unix.SYS_SETDOMAINNAME,
		"settimeofday": unix.SYS_SETTIMEOFDAY, "clock_settime": unix.SYS_CLOCK_SETTIME, "adjtimex": unix.SYS_ADJTIMEX, "clock_adjtime": unix.SYS_CLOCK_ADJTIME,
		"setns": unix.SYS_SETNS, "unshare": unix.SYS_UNSHARE, "personality": unix.SYS_PERSONALITY,
	}
	ofLibraries = map[string]uintptr{
		"init_module": unix.SYS_INIT_MODULE, "finit_module": unix.SYS_FINIT_MODULE, "delete_module": unix.SYS_DELETE_MODULE,
		"execve": unix.SYS_EXECVE, "execveat": unix.SYS_EXECVEAT, "perf_event_open": unix.SYS_PERF_EVENT_OPEN,
	}
	ofSwitches = map[string]uintptr{"bpf": unix.SYS_BPF}
)

// refuse is how a call that is taken away ends.
const refuse = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

// Offsets in the kernel's struct seccomp_data.
const (
	atNumber = 0
	atArch   = 4
)

// x32 marks calls of amd64 that go by another table, which knows the same calls.
const x32 = 1 << 30

// program is the filter. It refuses every call of another machine's table, such as
// those of 32-bit programs: their numbers mean other calls.
func (p Profile) program() []bpf.Instruction {
	calls := slices.Sorted(maps.Values(p.denied()))
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: arch, SkipTrue: 1},
		bpf.RetConstant{Val: refuse},
		bpf.LoadAbsolute{Off: atNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: x32, SkipTrue: 1},
		bpf.RetConstant{Val: refuse},
	}
	for i, call := range calls {
		// behind the rest, and behind the one that allows
		toRefuse := len(calls) - i
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(call), SkipTrue: uint8(toRefuse)})
	}
	return append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}, bpf.RetConstant{Val: refuse})
}

// Enter takes the calls of a profile away from all threads of the process, for good,
// and the right to gain rights by starting a program.
func Enter(p Profile) error {
	raw, err := bpf.Assemble(p.program())
	if err != nil {
		return fmt.Errorf("make the filter of system calls: %w", err)
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}

	// no_new_privs is of a thread, and goes to the others with the filter
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	const flags = unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_LOG
	differs, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	switch {
	case errno != 0:
		return fmt.Errorf("install the filter of system calls: %w", errno)
	case differs != 0:
		return fmt.Errorf("install the filter of system calls: thread %d has another one", differs)
	}
	return nil
}
