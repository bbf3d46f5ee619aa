// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const (
	// namePrefix begins the names of all namespaces of fabrics, by which those of killed
	// processes are found.
	namePrefix = "sluice-"
	namesDir   = "/run/netns" // where iproute2 looks for them
)

// firstTime removes leftovers of an earlier process with this one's pid, as in a
// container, where pids repeat: before this process made its first namespace, all
// of that name are the earlier one's.
var firstTime sync.Once

// removeLeftovers removes the namespaces whose maker is dead.
func removeLeftovers() error {
	var errs []error
	firstTime.Do(func() {
		errs = append(errs, removeNamespaces(func(pid int) bool { return pid == os.Getpid() }))
	})
	errs = append(errs, removeNamespaces(func(pid int) bool {
		return errors.Is(unix.Kill(pid, 0), unix.ESRCH)
	}))
	return errors.Join(errs...)
}

// shareNames makes namesDir a mount of its own, shared with other mount
// namespaces, as the first `ip netns add` of a machine does: that would otherwise
// put its mount over the names that are there, and these could no longer be
// removed. It may be called again.
func shareNames() error {
	if err := os.MkdirAll(namesDir, 0o755); err != nil {
		return err
	}
	dir, err := os.Open(namesDir)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()                              // and with it its lock
	if err := unix.Flock(int(dir.Fd()), unix.LOCK_EX); err != nil { // which iproute2 takes, too
		return fmt.Errorf("lock %s: %w", namesDir, err)
	}
	share := func() error { return unix.Mount("", namesDir, "none", unix.MS_SHARED|unix.MS_REC, "") }
	err = share()
	if errors.Is(err, unix.EINVAL) { // before the first mount
		if err = unix.Mount(namesDir, namesDir, "none", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = share()
		}
	}
	if err != nil {
		return unsupported("mount "+namesDir, err)
	}
	return nil
}

// removeNamespaces removes the namespaces of fabrics whose maker has gone. Those that lie
// under a mount of another program's stay.
func removeNamespaces(gone func(maker int) bool) error {
	entries, err := os.ReadDir(namesDir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if maker, ok := makerOf(e.Name()); ok && gone(maker) {
			if err := removeNamespace(e.Name()); !errors.Is(err, unix.EBUSY) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// makerOf returns the pid in the name of a namespace, sluice-PID-N-node.
func makerOf(name string) (pid int, ok bool) {
	rest, ok := strings.CutPrefix(name, namePrefix)
	if !ok {
		return 0, false
	}
	parts := strings.SplitN(rest, "-", 3)
	if len(parts) != 3 {
		return 0, false
	}
	pid, err := strconv.Atoi(parts[0])
	_, err2 := strconv.Atoi(parts[1])
	return pid, err == nil && err2 == nil && pid > 0
}

// removeNamespace removes a namespace's name. A name that is gone is fine:
// another process removed it. So is a name without a namespace: its maker was
// killed in the middle.
func removeNamespace(name string) error {
	err := netns.DeleteNamed(name)
	if errors.Is(err, unix.EINVAL) {
		err = os.Remove(namesDir + "/" + name)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove namespace %s: %w", name, err)
	}
	return nil
}
