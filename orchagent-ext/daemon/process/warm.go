// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"io/fs"
	"os"
)

// Keys of SAI's profile for warm restarts of a library that sluiced initializes itself: the
// operator gives the file that the library writes at the end.
const (
	keyBootType  = "SAI_BOOT_TYPE" // 0: cold, 1: warm
	keyWarmWrite = "SAI_WARM_BOOT_WRITE_FILE"
	keyWarmRead  = "SAI_WARM_BOOT_READ_FILE"
	bootWarm     = "1"
)

// warmFile is the file by which the library goes on where the process before it ended; "":
// a restart of sluiced is a cold start, or another process initializes the library.
func (o *Options) warmFile() string {
	if o.Connect {
		return ""
	}
	return o.Profile[keyWarmWrite]
}

// bootWarmBy has the library go on by its file, where an earlier process has left one with
// objects on the switch.
func bootWarmBy(profile map[string]string, file string, cold bool) {
	if _, set := profile[keyBootType]; set || file == "" || cold {
		return
	}
	if _, err := os.Stat(file); err != nil {
		return
	}
	profile[keyBootType] = bootWarm
	if profile[keyWarmRead] == "" {
		profile[keyWarmRead] = file
	}
}

// forgetWarm removes the file when it was read: after a process that is killed it would be
// out of date.
func forgetWarm(file string) error {
	if file == "" {
		return nil
	}
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Close implements [loop.Hardware]. The library prepares a warm restart, where the profile
// names the file that it writes.
func (s *switched) Close() error {
	if s.warm {
		if err := s.LeaveWarm(); err != nil {
			s.log.Warn("the SAI library cannot prepare a warm restart: the next start is cold", "error", err)
		}
	}
	err := s.Driver.Close()
	if s.locks != nil {
		s.locks.Release()
	}
	return err
}
