// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// File is a file being written. It appears under its name when Close succeeds,
// and not at all when Abort is called: no half-written file is taken for a whole
// one, none is lost for a command that fails, and a command may write over the
// file that it reads.
type File struct {
	name  string
	final string   // the name that the file gets at the end; "": it has it already
	file  *os.File // nil: standard output
	*bufio.Writer
}

// Create creates a file; "-" is stdout. A device or pipe is written to, never
// replaced. A new file has the rights that the umask leaves, one that was there
// before keeps its own.
func Create(name string, stdout io.Writer) (*File, error) {
	f := &File{name: name}
	if name == "-" {
		f.Writer = bufio.NewWriterSize(stdout, 1<<16)
		return f, nil
	}
	var err error
	rights := fs.FileMode(0o666)
	info, statErr := os.Stat(name)
	if statErr == nil {
		rights = info.Mode().Perm()
	}
	if statErr == nil && !info.Mode().IsRegular() {
		f.file, err = os.OpenFile(name, os.O_WRONLY, 0)
	} else {
		f.final = name
		beside := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%d", filepath.Base(name), rand.Uint64()))
		f.file, err = os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, rights)
	}
	if err != nil {
		return nil, fmt.Errorf("create %s: %w", name, cause(err))
	}
	f.Writer = bufio.NewWriterSize(f.file, 1<<16)
	return f, nil
}

// Close finishes the file and gives it its name.
func (f *File) Close() error {
	err := f.Flush()
	if err == nil && f.file != nil {
		err = f.file.Close()
	}
	if err == nil && f.final != "" {
		err = os.Rename(f.file.Name(), f.final)
	}
	if err != nil {
		f.Abort()
	}
	return f.Wrap(err)
}

// Abort drops what was written. Behind a Close that succeeded it does nothing.
func (f *File) Abort() {
	if f.file == nil {
		return
	}
	_ = f.file.Close()
	if f.final != "" {
		_ = os.Remove(f.file.Name())
	}
}

// Wrap says of an error which file it is about; nil stays nil.
func (f *File) Wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", f.name, cause(err))
}

// cause takes the name of the file off an error: not always the one that the
// user gave.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
