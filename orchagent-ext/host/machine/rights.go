// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Capabilities by their numbers in linux/capability.h, the bits of [Effective].
const (
	capNetAdmin = 12
	// CapNetRaw is for packet sockets and raw sockets.
	CapNetRaw   = 13
	capSysAdmin = 21
	capPerfmon  = 38
	capBPF      = 39
)

// rights are the capabilities that the software switch takes. The library of a vendor has
// its own list.
var rights = []struct {
	bits []int // one of them
	name string
	why  string
}{
	{[]int{capNetAdmin}, "CAP_NET_ADMIN", "to attach programs to ports and to set the ECMP hash"},
	{[]int{capBPF, capSysAdmin}, "CAP_BPF (or CAP_SYS_ADMIN)", "to load programs into the kernel"},
	{[]int{capPerfmon, capSysAdmin}, "CAP_PERFMON (or CAP_SYS_ADMIN)", "since the kernel requires it to load programs that do pointer arithmetic"},
}

// MissingRights returns the capabilities that a process lacks for the software switch,
// each with its reason, separated by semicolons; "" where it has all. status is the text
// of its /proc/PID/status.
func MissingRights(status string) string {
	effective := Effective(status)
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

// Effective returns the effective capabilities in the text of /proc/PID/status, a bit
// for each by its number; 0 where it has none.
func Effective(status string) (bits uint64) {
	for line := range strings.Lines(status) {
		if hex, ok := strings.CutPrefix(line, "CapEff:"); ok {
			bits, _ = strconv.ParseUint(strings.TrimSpace(hex), 16, 64)
		}
	}
	return bits
}

// OwnStatus returns /proc/self/status, "" if it cannot be read. It is the text for
// [Effective].
func OwnStatus() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	return string(b)
}
