// SPDX-License-Identifier: Apache-2.0

// Package statefile keeps what the daemon must know after a reboot in small JSON
// files that only their owner reads. Packages orch and asic/orchagent call it.
package statefile

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MaxSize is the largest file that is read, in octets.
const MaxSize = 64 << 20

// suffixNew names the file that is written, but perhaps not on the disk yet.
const suffixNew = ".new"

// Read reads the file into a value: what a process wrote last that was killed, and
// after a power failure what was on the disk. A file that is not there is no error,
// and changes nothing.
func Read[T any](path string, into *T) error {
	var fresh *T
	if err := read(path+suffixNew, &fresh); err == nil && fresh != nil {
		*into = *fresh
		return nil
	}
	return read(path, into)
}

func read(path string, into any) error {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a regular file", path)
	case info.Size() > MaxSize:
		return fmt.Errorf("%s: %d octets, more than %d", path, info.Size(), MaxSize)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Write replaces the file, with mode 0600, and makes its folder: after a crash or a
// power failure it is the one before or the new one. It calls written, unless that is
// nil, when the new one outlives the process, which is before it is on the disk.
func Write(path string, v any, written func()) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(folder, filepath.Base(path)+".*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err == nil {
		err = os.Rename(f.Name(), path+suffixNew)
	}
	if err == nil && written != nil {
		written()
	}
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+suffixNew, path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may have its name already
		return err
	}
	d, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Remove removes the file, if it is there.
func Remove(path string) error {
	for _, p := range []string{path, path + suffixNew} {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
