// SPDX-License-Identifier: Apache-2.0

package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

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
// power failure it is the one before or the new one. Errors name path, whatever the file is
// called meanwhile.
func WriteState(path string, v any) error {
	d, err := NewDraft(path, v)
	if err != nil {
		return err
	}
	return d.Sync()
}

// Draft is a new version of a file that outlives the process, and may be lost in a power
// failure. [ReadState] reads it.
type Draft struct {
	path string
	f    *os.File
}

// renames is held while the names of drafts change, so that none takes the name of another one.
var renames sync.Mutex

// NewDraft writes a draft of the file, in place of one that is there.
func NewDraft(path string, v any) (*Draft, error) {
	d := &Draft{path: path}
	return d, named(path, d.write(v))
}

// Close gives the draft up, since a later one is there.
func (d *Draft) Close() error { return d.f.Close() }

// Sync brings the draft to the disk, and gives it the name of the file; it closes the draft. Where a later
// one has taken its place, that one is left alone.
func (d *Draft) Sync() error { return named(d.path, d.sync()) }

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

// write is NewDraft with errors of the file that is renamed.
func (d *Draft) write(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	folder := filepath.Dir(d.path)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if d.f, err = os.CreateTemp(folder, filepath.Base(d.path)+".*"); err != nil { // 0600
		return err
	}
	if _, err = d.f.Write(append(text, '\n')); err == nil {
		renames.Lock()
		err = os.Rename(d.f.Name(), d.path+suffixNew)
		renames.Unlock()
	}
	if err != nil {
		_ = d.f.Close() // the other error has more
		_ = os.Remove(d.f.Name())
	}
	return err
}

// sync is Sync with errors of the file that is renamed.
func (d *Draft) sync() error {
	own, err := d.f.Stat()
	if err = errors.Join(err, d.f.Sync(), d.f.Close()); err != nil {
		return err
	}
	if err := d.rename(own); err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(d.path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// rename gives the draft the name of the file, unless another draft has taken its place.
func (d *Draft) rename(own os.FileInfo) error {
	renames.Lock()
	defer renames.Unlock()
	switch is, err := os.Lstat(d.path + suffixNew); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !os.SameFile(own, is):
		return nil
	}
	return os.Rename(d.path+suffixNew, d.path)
}

// RemoveState removes the file, if it is there, and its draft.
func RemoveState(path string) error {
	renames.Lock() // a draft that is brought to the disk meanwhile does not come back
	defer renames.Unlock()
	for _, p := range []string{path, path + suffixNew} {
		if err := os.Remove(p); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}
