// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// MaxState is the largest file that is read, in octets.
const MaxState = 64 << 20

// suffixNew is the ending of the file that is being written, which may still be on its
// way to the disk.
const suffixNew = ".new"

// ReadState reads the file into a value: the last text of a process, even if it was
// killed since, and after a power failure the last one on the disk. A missing file leaves
// the value as it is, without an error.
func ReadState[T any](path string, into *T) error {
	var fresh *T
	if err := readState(path+suffixNew, &fresh); err == nil && fresh != nil {
		*into = *fresh
		return nil
	}
	return readState(path, into)
}

// readState reads JSON into a value; a missing file is a success. It refuses symbolic
// links (O_NOFOLLOW), which could lead a daemon that runs as root to another file.
func readState(path string, into any) error {
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
		return fmt.Errorf("%s: %w", path, errKind)
	case info.Size() > MaxState:
		return fmt.Errorf("%s: %d octets, more than %d", path, info.Size(), MaxState)
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

// WriteState replaces the file, with mode 0600, and makes its folder: after a crash or a
// power failure it is the one before or the new one. It calls written, unless that is
// nil, when the new one outlives the process, which is before it is on the disk. Errors name
// path, whatever the file is called meanwhile.
func WriteState(path string, v any, written func()) error {
	return named(path, writeState(path, v, written))
}

// named is an error with the name of the file that was to be written.
func named(path string, err error) error {
	var of *os.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &link):
		return &os.PathError{Op: link.Op, Path: path, Err: link.Err}
	case errors.As(err, &of):
		return &os.PathError{Op: of.Op, Path: path, Err: of.Err}
	}
	return err
}

// writeState is WriteState with errors of the file that is renamed to path.
func writeState(path string, v any, written func()) error {
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

// RemoveState removes the file, if it is there.
func RemoveState(path string) error {
	for _, p := range []string{path, path + suffixNew} {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
