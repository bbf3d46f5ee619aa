// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// rights are what the software switch takes. A vendor's library says itself what
// it takes.
var rights = []struct {
	bits []int // one of them
	name string
	why  string
}{
	{[]int{unix.CAP_NET_ADMIN}, "CAP_NET_ADMIN", "to attach programs to ports and to set the ECMP hash"},
	{[]int{unix.CAP_BPF, unix.CAP_SYS_ADMIN}, "CAP_BPF (or CAP_SYS_ADMIN)", "to load programs into the kernel"},
	{[]int{unix.CAP_PERFMON, unix.CAP_SYS_ADMIN}, "CAP_PERFMON (or CAP_SYS_ADMIN)", "since the kernel requires it to load programs that do pointer arithmetic"},
}

// missingRights says which capabilities the process lacks for the software
// switch, "" where it has all.
func missingRights(status string) string {
	effective := uint64(0)
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			effective, _ = strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		}
	}
	var missing []string
	for _, r := range rights {
		has := false
		for _, bit := range r.bits {
			has = has || effective>>bit&1 != 0
		}
		if !has {
			missing = append(missing, fmt.Sprintf("%s %s", r.name, r.why))
		}
	}
	return strings.Join(missing, "; ")
}

// ownStatus returns /proc/self/status, "" if it cannot be read.
func ownStatus() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	return string(b)
}
