// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestCapabilitiesHaveTheKernelsNumbers(t *testing.T) {
	for ours, kernels := range map[int]int{
		capNetAdmin: unix.CAP_NET_ADMIN, CapNetRaw: unix.CAP_NET_RAW, capSysAdmin: unix.CAP_SYS_ADMIN, capPerfmon: unix.CAP_PERFMON, capBPF: unix.CAP_BPF,
	} {
		if ours != kernels {
			t.Errorf("%d, want %d", ours, kernels)
		}
	}
}
