// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// file returns the text of a small file below the root, trimmed at its end.
func (c *Config) file(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(c.Root, name))
	return strings.TrimSpace(string(text)), err
}

// hostname returns the kernel's name of the machine.
func hostname(c *Config) string {
	if name, err := c.file("/proc/sys/kernel/hostname"); err == nil {
		return name
	}
	return "unknown"
}

// values reads files as the fields of an item; a missing file is left out.
func (c *Config) values(item string, files map[string]string) (Item, error) {
	it := Item{Name: item, Fields: map[string]string{}}
	var errs []error
	for field, name := range files {
		text, err := c.file(name)
		switch {
		case err == nil:
			it.Fields[field] = strings.ReplaceAll(text, "\n", ", ")
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return it, errors.Join(errs...)
}

// versions returns the versions of Sluice, the kernel and the system, with uptime in
// seconds and load.
func versions(_ context.Context, c *Config) ([]Item, error) {
	items := []Item{{Name: "sluice", Fields: map[string]string{
		"version": c.Version, "go": runtime.Version(), "platform": runtime.GOOS + "/" + runtime.GOARCH,
	}}}
	kernel, err := c.values("kernel", map[string]string{
		"release": "/proc/sys/kernel/osrelease", "version": "/proc/sys/kernel/version", "uptime_s": "/proc/uptime", "load": "/proc/loadavg",
	})
	items = append(items, kernel)
	for _, name := range []string{"/etc/os-release", "/etc/sonic/sonic_version.yml"} {
		text, err := c.file(name)
		if err != nil {
			continue // another system than SONiC, or a small image
		}
		fields := map[string]string{}
		for line := range strings.Lines(text) {
			key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
			if !ok {
				key, value, ok = strings.Cut(strings.TrimSpace(line), ": ")
			}
			if ok && !strings.HasPrefix(key, "#") {
				fields[key] = strings.Trim(value, `"' `)
			}
		}
		items = append(items, Item{Name: name, Fields: fields})
	}
	return items, err
}

// ecmp returns the kernel's settings of forwarding and of the multipath hash, by family.
func ecmp(_ context.Context, c *Config) ([]Item, error) {
	var items []Item
	var errs []error
	for _, family := range []string{"ipv4", "ipv6"} {
		folder := "/proc/sys/net/" + family + "/"
		files := map[string]string{"forwarding": folder + "conf/all/forwarding"}
		for _, name := range []string{"fib_multipath_hash_policy", "fib_multipath_hash_fields", "fib_multipath_hash_seed"} {
			files[name] = folder + name
		}
		item, err := c.values(family, files)
		items, errs = append(items, item), append(errs, err)
	}
	return items, errors.Join(errs...)
}

// limits are those of the control group that we are in, which in a container is
// that of sluiced as well: version 2 of control groups, else version 1.
func limits(_ context.Context, c *Config) ([]Item, error) {
	const v2, v1 = "/sys/fs/cgroup/", "/sys/fs/cgroup/memory/"
	group, err := c.values("control group", map[string]string{
		"memory.max": v2 + "memory.max", "memory.current": v2 + "memory.current", "memory.peak": v2 + "memory.peak",
		"memory.events": v2 + "memory.events", "pids.current": v2 + "pids.current", "pids.max": v2 + "pids.max", "cpu.max": v2 + "cpu.max",
		"memory.limit_in_bytes": v1 + "memory.limit_in_bytes", "memory.usage_in_bytes": v1 + "memory.usage_in_bytes", "memory.failcnt": v1 + "memory.failcnt",
	})
	machine, machineErr := c.chosen("machine", "/proc/meminfo", "MemTotal", "MemAvailable", "SwapTotal", "SwapFree")
	own, ownErr := c.limitsOf("resource limits of this command", "/proc/self")
	return []Item{group, machine, own}, errors.Join(err, machineErr, ownErr)
}

// chosen takes lines "NAME: value" out of a file.
func (c *Config) chosen(item, name string, fields ...string) (Item, error) {
	it := Item{Name: item, Fields: map[string]string{}}
	text, err := c.file(name)
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		for _, f := range fields {
			if key == f {
				it.Fields[key] = strings.Join(strings.Fields(value), " ")
			}
		}
	}
	return it, err
}

// limitsOf reads the resource limits of a process: soft and hard limit, and unit.
func (c *Config) limitsOf(item, proc string) (Item, error) {
	it := Item{Name: item, Fields: map[string]string{}}
	text, err := c.file(proc + "/limits")
	for line := range strings.Lines(text) {
		const nameColumns = 25 // as the kernel prints it
		if len(line) > nameColumns && !strings.HasPrefix(line, "Limit") {
			it.Fields[strings.TrimSpace(line[:nameColumns])] = strings.Join(strings.Fields(line[nameColumns:]), " ")
		}
	}
	return it, err
}
