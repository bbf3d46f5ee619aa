// SPDX-License-Identifier: Apache-2.0

package sandbox

import "golang.org/x/sys/unix"

// arch is the value of seccomp_data.arch for this machine's own calls.
const arch = unix.AUDIT_ARCH_X86_64

// ofThisMachine are calls that exist on x86-64 only, or are missing on arm64.
var ofThisMachine = map[string]uintptr{
	"iopl": unix.SYS_IOPL, "ioperm": unix.SYS_IOPERM, "kexec_file_load": unix.SYS_KEXEC_FILE_LOAD, "modify_ldt": unix.SYS_MODIFY_LDT,
	"uselib": unix.SYS_USELIB, "_sysctl": unix.SYS__SYSCTL,
}
