// SPDX-License-Identifier: Apache-2.0

// Package leaffile reads the files that leaves of CONFIG_DB name: certificates, keys
// and passwords. Who may write a row is not who may read every file of the machine as
// root, so only small regular files below the operator's folders are read, and only
// those that no other user can write.
//
// Packages ipfix and streamid call it through their configuration. It never waits: a
// FIFO, a device or a socket is refused. It is not for files of the command line,
// which the caller's own user names.
package leaffile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// MaxSize is the largest file that is read, octets.
const MaxSize = 1 << 20

// Folders are where files are read from, with all below them.
type Folders []string

// Default are the folders of an operator, on a Linux box and in the container.
var Default = Folders{"/etc/sluice", "/etc/sonic/sluice"}

// Read returns what the file holds that a leaf names by an absolute path. Errors name
// both, and what is allowed.
func (f Folders) Read(leaf, path string) ([]byte, error) {
	content, err := f.read(path)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", leaf, path, err)
	}
	return content, nil
}

func (f Folders) read(path string) ([]byte, error) {
	for _, folder := range f {
		below, err := filepath.Rel(folder, path)
		if err == nil && filepath.IsLocal(below) && below != "." {
			return read(folder, strings.Split(below, string(filepath.Separator)))
		}
	}
	return nil, fmt.Errorf("not below %s: no other folder is read (--file-folder adds one)", strings.Join(f, " or "))
}

// read walks from the folder, which the operator named, to the file, one name at a
// time: so no symbolic link is followed, and each folder on the way is judged.
func read(folder string, names []string) ([]byte, error) {
	at, err := open(unix.AT_FDCWD, folder, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if err := judge(at, unix.S_IFDIR); err != nil {
			at.Close() //nolint:errcheck // it was read
			return nil, fmt.Errorf("folder %s: %w", at.Name(), err)
		}
		flags := unix.O_NOFOLLOW
		if i < len(names)-1 {
			flags |= unix.O_DIRECTORY
		}
		next, err := open(int(at.Fd()), name, flags)
		at.Close() //nolint:errcheck // it was read
		if err != nil {
			return nil, err
		}
		at = next
	}
	defer at.Close()
	if err := judge(at, unix.S_IFREG); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(at, MaxSize+1))
	if err == nil && len(content) > MaxSize {
		err = fmt.Errorf("it has more than %d octets, the most that is read", MaxSize)
	}
	return content, err
}

// open opens without waiting for a writer of a FIFO, and takes no terminal over.
func open(at int, name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(at, name, flags|unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%s is a symbolic link or no folder: links are not followed", name)
	case errors.Is(err, unix.ENXIO): // a socket, or a FIFO that is opened to write
		return nil, errKind
	case err != nil:
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return os.NewFile(uintptr(fd), name), nil
}

var errKind = errors.New("not a regular file: a FIFO, a device or a socket is not read")

// judge refuses what is of another kind, or what a user other than root and our own
// could have written.
func judge(f *os.File, kind uint32) error {
	var is unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &is); err != nil {
		return &fs.PathError{Op: "stat", Path: f.Name(), Err: err}
	}
	switch {
	case is.Mode&unix.S_IFMT != kind:
		return errKind
	case is.Uid != 0 && int(is.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d: root or user %d must own it", is.Uid, os.Geteuid())
	case is.Mode&0o022 != 0:
		return fmt.Errorf("mode %04o lets its group or everybody write it: chmod go-w", is.Mode&0o7777)
	}
	return nil
}
