// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// qpOctet is where the destination queue pair begins in a frame over IPv6.
const qpOctet = 14 + 40 + 8 + 5

// usage is what a process has used.
type usage struct {
	cpu      time.Duration
	resident int // MiB, now
	peak     int // MiB
}

func usageOf(t testing.TB, pid int) usage {
	t.Helper()
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(folder, "stat"))
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(filepath.Join(folder, "status"))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var u usage
	for _, f := range fields[11:13] { // utime and stime, in ticks of 10 ms
		ticks, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		u.cpu += time.Duration(ticks) * 10 * time.Millisecond
	}
	for line := range strings.Lines(string(status)) {
		var kib int
		if n, _ := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 {
			u.resident = kib >> 10
		}
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kib); n == 1 {
			u.peak = kib >> 10
		}
	}
	return u
}

func (l *leaf) flowsNow() int {
	n, _ := strconv.Atoi(l.row("SLUICE_STATE", "global")["flows"])
	return n
}
