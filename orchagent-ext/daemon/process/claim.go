// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/files"
)

// Reasons for which a claim fails: another process has the switch or the databases.
var (
	errRunning     = errors.New("another sluiced runs")
	errChecking    = errors.New("a sai-check runs in this network namespace: it takes the switch for itself until it ends")
	errSwitchTaken = errors.New("a sluiced or another sai-check runs in this network namespace: end it first")
)

// LockFolder is where the locks are, unless the command line has another one.
const LockFolder = "/run/sluiced"

// claim makes this process the only sluiced of these databases in its network
// namespace: two would undo each other's work. The claim is a lock of a file in a
// folder that only root, or the user of this process, can write: no other user can
// take it first. The kernel gives it up when the process ends, however that comes.
func claim(folder string, d *sonicdb.Databases) (release func(), err error) {
	db, err := d.Database("CONFIG_DB")
	if err != nil {
		return nil, err
	}
	shared, err := claimNamespace(folder, unix.LOCK_SH)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errChecking
	}
	if err != nil {
		return nil, err
	}
	removeStaleLocks(folder)
	file, err := lock(lockFile(folder, fmt.Sprint(db.Address, db.ID)), unix.LOCK_EX)
	if err != nil {
		_ = shared.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w on the databases at %s: end it first", errRunning, db.Address)
		}
		return nil, fmt.Errorf("claim the databases at %s: %w", db.Address, err)
	}
	return func() {
		_ = os.Remove(file.Name()) // while it is locked, so that no other process has it
		_, _ = file.Close(), shared.Close()
	}, nil
}

// claimSwitch makes this process the only one of this network namespace that uses a
// switch: no sluiced runs, whatever its databases, and none starts.
func claimSwitch(folder string) (release func(), err error) {
	file, err := claimNamespace(folder, unix.LOCK_EX)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, errSwitchTaken
	}
	if err != nil {
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

// claimNamespace locks the file of this network namespace, which stays.
func claimNamespace(folder string, how int) (*os.File, error) {
	if err := files.OwnFolder(folder); err != nil {
		return nil, fmt.Errorf("claim the switch: %w", err)
	}
	file, err := lock(lockFile(folder, "switch"), how)
	if err != nil && !errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("claim the switch: %w", err)
	}
	return file, err
}

// lockFile is the path of a lock within this network namespace.
func lockFile(folder, what string) string {
	var namespace unix.Stat_t // zero without /proc: all namespaces are one
	_ = unix.Stat("/proc/thread-self/ns/net", &namespace)
	name := sha256.Sum256(fmt.Append(nil, what, namespace.Dev, namespace.Ino))
	return filepath.Join(folder, fmt.Sprintf("%x.lock", name[:16]))
}

// lock makes a file and locks it, LOCK_EX or LOCK_SH. One that its owner has removed
// meanwhile is made again.
func lock(path string, how int) (*os.File, error) {
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		if err := unix.Flock(int(file.Fd()), how|unix.LOCK_NB); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		locked, err := file.Stat()
		if err != nil {
			_ = file.Close()
			return nil, err
		}
		if there, err := os.Lstat(path); err == nil && os.SameFile(locked, there) {
			return file, nil
		}
		_ = file.Close()
	}
}

// lockNames is the pattern of names that lockFile makes.
var lockNames = regexp.MustCompile(`^[0-9a-f]{32}\.lock$`)

// staleLock is how old a lock file is at least that is removed: another process that starts
// meanwhile finds it locked for a moment.
const staleLock = time.Hour

// removeStaleLocks removes lock files that no process holds: a process that was killed
// leaves its own, and those of databases and network namespaces that are gone stay for
// ever. It removes a file only while it holds the lock: lock makes the file again where
// another process has just opened it.
func removeStaleLocks(folder string) {
	all, err := os.ReadDir(folder)
	if err != nil {
		return // lock reports the reason
	}
	for _, one := range all {
		if !one.Type().IsRegular() || !lockNames.MatchString(one.Name()) {
			continue
		}
		if info, err := one.Info(); err != nil || time.Since(info.ModTime()) < staleLock {
			continue
		}
		path := filepath.Join(folder, one.Name())
		if file, err := lock(path, unix.LOCK_EX); err == nil {
			_ = os.Remove(path)
			_ = file.Close()
		}
	}
}
