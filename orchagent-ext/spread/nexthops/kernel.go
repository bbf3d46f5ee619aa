// SPDX-License-Identifier: Apache-2.0

package nexthops

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"sluice/orchagent-ext/spread/ecmp"
)

// ErrNoSeed means that the kernel keeps its seed to itself: it is older than 6.11.
var ErrNoSeed = errors.New("there is no net.ipv4.fib_multipath_hash_seed: it needs Linux 6.11 or later")

// Hash reads the kernel's settings of the multipath hash for IPv4 or IPv6
// (net.ipv4.fib_multipath_hash_* and net.ipv6.*). [ecmp.Kernel.Err] reports whether paths
// can be predicted with them.
func Hash(v4 bool) (k ecmp.Kernel, err error) {
	family := "ipv6"
	if v4 {
		family = "ipv4"
	}
	seed, err := sysctl("ipv4/fib_multipath_hash_seed", 32)
	if errors.Is(err, fs.ErrNotExist) {
		return k, ErrNoSeed
	}
	if err != nil {
		return k, err
	}
	policy, err := sysctl(family+"/fib_multipath_hash_policy", 8)
	if err != nil {
		return k, err
	}
	fields, err := sysctl(family+"/fib_multipath_hash_fields", 16)
	if err != nil {
		return k, err
	}
	return ecmp.Kernel{Seed: uint32(seed), Policy: uint8(policy), Fields: uint16(fields)}, nil
}

// sysctl reads a number below /proc/sys/net.
func sysctl(name string, bits int) (uint64, error) {
	text, err := os.ReadFile("/proc/sys/net/" + name)
	if err != nil {
		return 0, err
	}
	value, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, bits)
	if err != nil {
		return 0, fmt.Errorf("/proc/sys/net/%s: %w", name, err)
	}
	return value, nil
}
