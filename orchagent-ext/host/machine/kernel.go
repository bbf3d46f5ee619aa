// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Kernel is a release of Linux by its first two numbers. The zero value is an unknown one.
type Kernel struct{ Major, Minor int }

// Releases of Linux from which on a feature works.
var (
	// SoftwareSwitch is for the BPF programs on ports (BPF_FIB_LOOKUP_SKIP_NEIGH).
	SoftwareSwitch = Kernel{6, 3}
	// KnownPaths is for the seed of the multipath hash (net.ipv4.fib_multipath_hash_seed),
	// by which placement knows the paths of labels.
	KnownPaths = Kernel{6, 11}
)

// KernelError is of the software switch with a kernel that is too old for it.
type KernelError struct{ Release string }

// Error names the release that runs and the one that is needed. It is one line for the operator.
func (e *KernelError) Error() string {
	return fmt.Sprintf("libsoftsai.so needs Linux %v or later, and %v for placement; this is %s: start a later kernel (Debian 12 has one in its backports)", SoftwareSwitch, KnownPaths, e.Release)
}

// CheckKernel returns a [KernelError] where the software switch cannot work with a release of the
// kernel, as [Running] returns it. An unknown release passes.
func CheckKernel(release string) error {
	if ParseKernel(release).Before(SoftwareSwitch) {
		return &KernelError{release}
	}
	return nil
}

// Running returns the release of the kernel that runs, as uname(2) has it; "" where that
// fails.
func Running() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// ParseKernel returns the first two numbers of a release, such as 6.1.0-25-amd64, and the
// zero Kernel where it begins with none.
func ParseKernel(release string) Kernel {
	var k Kernel
	if n, err := fmt.Sscanf(release, "%d.%d", &k.Major, &k.Minor); n != 2 || err != nil {
		return Kernel{}
	}
	return k
}

// Before reports whether k is a known release that is older than other. It is false for
// the zero Kernel, so that an unknown kernel passes.
func (k Kernel) Before(other Kernel) bool {
	return k != Kernel{} && (k.Major < other.Major || k.Major == other.Major && k.Minor < other.Minor)
}

// String returns the release as 6.11.
func (k Kernel) String() string { return fmt.Sprintf("%d.%d", k.Major, k.Minor) }
