// SPDX-License-Identifier: Apache-2.0

package fabric

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// SteerReceive switches receive packet steering on for all interfaces that the node
// has: all CPUs receive, and the packets of one flow are always received by the
// same CPU.
func (n *Node) SteerReceive() error {
	if err := n.sysfs(steerAll); err != nil {
		return fmt.Errorf("steer what %s receives: %w", n.Name, err)
	}
	return nil
}

// steerAll lets all CPUs receive each interface's packets, by flow (RPS).
func steerAll() error {
	queues, err := filepath.Glob("/sys/class/net/*/queues/rx-*/rps_cpus")
	if err != nil {
		return err
	}
	all := strconv.FormatUint(1<<min(runtime.NumCPU(), 32)-1, 16)
	for _, q := range queues {
		if err := os.WriteFile(q, []byte(all), 0); err != nil {
			return err
		}
	}
	return nil
}

// sysfs calls do on a thread whose /sys shows the node's namespace.
func (n *Node) sysfs(do func() error) error {
	done := make(chan error, 1)
	go func() {
		// sysfs shows the namespace of the one who mounted it: this thread mounts its
		// own, and ends with the goroutine.
		runtime.LockOSThread()
		done <- n.mounted(do)
	}()
	return <-done
}

// mounted calls do with the /sys of the node's namespace.
func (n *Node) mounted(do func() error) error {
	if err := unix.Setns(int(n.ns), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter namespace %s: %w", n.Namespace, err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make a mount namespace: %w", err)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("mount sysfs: %w", err)
	}
	return do()
}
