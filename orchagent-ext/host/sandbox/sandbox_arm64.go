// SPDX-License-Identifier: Apache-2.0

package sandbox

import "golang.org/x/sys/unix"

// arch is the value of seccomp_data.arch for this machine's own calls.
const arch = unix.AUDIT_ARCH_AARCH64

// ofThisMachine are calls whose number differs from x86-64's list.
var ofThisMachine = map[string]uintptr{"kexec_file_load": unix.SYS_KEXEC_FILE_LOAD}
