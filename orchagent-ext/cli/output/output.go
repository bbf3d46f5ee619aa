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

	"sluice/orchagent-ext/cli/terminal"
)

// ErrExists is of a file that is there, and may not be overwritten.
var ErrExists = errors.New("the file exists; --force overwrites it")

// ErrTerminal is of octets that a terminal would take for control characters.
var ErrTerminal = errors.New("standard output is a terminal, and this is no text: name a file, or give it to a pipe")

// Target is the place that a command writes to.
type Target struct {
	// Name is that of a file; "-" is Stdout.
	Name   string
	Stdout io.Writer
	// Force lets the new file replace one that is there.
	Force bool
	// Text may go to a terminal.
	Text bool
}

// File is a file being written. It appears under its name when Close succeeds; Abort
// removes it. So readers find whole files only, a command that fails leaves the old file,
// and a command may write over the file that it reads.
type File struct {
	name  string
	final string   // the name that the file gets at the end; "": it has it already
	file  *os.File // nil: standard output
	*bufio.Writer
}

// Create creates a file. A device or pipe is written in place. A new file has the rights
// that the umask leaves, one that was there before keeps its own. The error is
// [ErrExists] where Force is needed, and [ErrTerminal] where Text is.
func Create(to Target) (*File, error) {
	name := to.Name
	f := &File{name: name}
	if name == "-" {
		if _, is := terminal.Is(to.Stdout); is && !to.Text {
			return nil, ErrTerminal
		}
		f.Writer = bufio.NewWriterSize(to.Stdout, 1<<16)
		return f, nil
	}
	var err error
	rights := fs.FileMode(0o666)
	info, statErr := os.Stat(name)
	if statErr == nil {
		rights = info.Mode().Perm()
	}
	if statErr == nil && info.Mode().IsRegular() && !to.Force {
		return nil, fmt.Errorf("create %s: %w", name, ErrExists)
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

// Abort removes the unfinished file. It does nothing after a Close that succeeded.
func (f *File) Abort() {
	if f.file == nil {
		return
	}
	_ = f.file.Close()
	if f.final != "" {
		_ = os.Remove(f.file.Name())
	}
}

// Wrap adds the file's name to an error; nil stays nil.
func (f *File) Wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", f.name, cause(err))
}

// cause returns an error without its file name, which may be that of the temporary file.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
