// SPDX-License-Identifier: Apache-2.0

package sandbox

import "golang.org/x/sys/unix"

const arch = unix.AUDIT_ARCH_AARCH64

var ofThisMachine = map[string]uintptr{"kexec_file_load": unix.SYS_KEXEC_FILE_LOAD}
