// SPDX-License-Identifier: Apache-2.0

package sandbox

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_X86_64

var ofThisMachine = map[string]uintptr{
	"iopl": unix.SYS_IOPL, "ioperm": unix.SYS_IOPERM, "kexec_file_load": unix.SYS_KEXEC_FILE_LOAD, "modify_ldt": unix.SYS_MODIFY_LDT,
	"uselib": unix.SYS_USELIB, "_sysctl": unix.SYS__SYSCTL,
}
