// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// programs are those of Sluice that run all the time.
var programs = []string{"sluiced", "sluice-gnmi"}

// status are the lines that are read of /proc/PID/status: memory, rights, threads
// (proc(5)).
var status = []string{
	"State", "PPid", "NSpid", "Uid", "FDSize", "VmPeak", "VmSize", "VmHWM", "VmRSS", "RssAnon", "VmLck", "VmSwap", "Threads",
	"CapEff", "CapBnd", "NoNewPrivs", "Seccomp", "Cpus_allowed_list", "voluntary_ctxt_switches", "nonvoluntary_ctxt_switches",
}

// processes are those that /proc shows here: in a container, those of it.
func processes(_ context.Context, c *Config) ([]Item, error) {
	found, err := filepath.Glob(filepath.Join(c.Root, "/proc/[0-9]*/comm"))
	if err != nil {
		return nil, err
	}
	var items []Item
	var errs []error
	for _, name := range found {
		pid := filepath.Base(filepath.Dir(name))
		comm, err := c.file("/proc/" + pid + "/comm")
		// it may have ended meanwhile
		if err != nil || !slices.Contains(programs, comm) {
			continue
		}
		some, err := c.process(comm, pid)
		items, errs = append(items, some...), append(errs, err)
	}
	if items == nil {
		errs = append(errs, fmt.Errorf("none of %s runs here", strings.Join(programs, ", ")))
	}
	return items, errors.Join(errs...)
}

// process returns the state of one process: the chosen lines of status, its command line,
// the number of its open files, its network namespace and its resource limits.
func (c *Config) process(comm, pid string) ([]Item, error) {
	folder := "/proc/" + pid
	name := comm + " " + pid
	it, err := c.chosen(name, folder+"/status", status...)
	if line, cmdErr := c.file(folder + "/cmdline"); cmdErr == nil {
		it.Fields["command"] = strings.ReplaceAll(strings.Trim(line, "\x00"), "\x00", " ")
	}
	if n, openErr := os.ReadDir(filepath.Join(c.Root, folder, "fd")); openErr == nil {
		it.Fields["open_files"] = strconv.Itoa(len(n))
	}
	if space, linkErr := os.Readlink(filepath.Join(c.Root, folder, "ns/net")); linkErr == nil {
		it.Fields["network_namespace"] = space
	}
	limits, limitsErr := c.limitsOf("resource limits of "+name, folder)
	return []Item{it, limits}, errors.Join(err, limitsErr)
}
