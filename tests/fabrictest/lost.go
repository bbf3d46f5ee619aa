// SPDX-License-Identifier: Apache-2.0

package fabrictest

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// NeverArrived returns how many packets found the queues of this machine full on their way to
// a receiver, since it started: where it is busy, some of a storm.
func NeverArrived(tb testing.TB) (n uint64) {
	tb.Helper()
	text, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) { // of a CPU, in hexadecimal
		dropped, err := strconv.ParseUint(strings.Fields(line)[1], 16, 64)
		if err != nil {
			tb.Fatal(err)
		}
		n += dropped
	}
	return n
}
