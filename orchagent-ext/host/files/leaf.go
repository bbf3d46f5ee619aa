// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"
)

// MaxLeaf is the largest file that is read, octets.
const MaxLeaf = 1 << 20

// Default are the folders of an operator, on a Linux box and in the container.
var Default = []string{"/etc/sluice", "/etc/sonic/sluice"}

// passwords is the folder of password files, below each folder of a [Reader].
const passwords = "passwords"

// Reader reads the files that rows of CONFIG_DB name. The zero value refuses every file.
type Reader struct {
	// Folders are the absolute paths of the operator's folders. Certificates and keys are
	// read below them, passwords below their folder "passwords" alone: a password is sent to
	// the peer that the same row names, so every other file is refused as one.
	Folders []string

	// Reserved are paths of files that other parts of Sluice read, such as the users and
	// the key of the gNMI server. They are refused by any of their paths.
	Reserved []string
}

// Read returns the contents of the file of certificates or keys that a leaf names by an
// absolute path. Errors name both, and the folders that are allowed.
func (r *Reader) Read(leaf, path string) ([]byte, error) {
	content, err := r.readCertificate(path)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", leaf, path, err)
	}
	return content, nil
}

// ReadPassword returns the contents of the password file that a leaf names by an absolute
// path. Errors name both, and where the file belongs.
func (r *Reader) ReadPassword(leaf, path string) ([]byte, error) {
	content, err := r.readPassword(path)
	if err != nil {
		return nil, fmt.Errorf("%s %q: %w", leaf, path, err)
	}
	return content, nil
}

// readCertificate reads a file below one of the folders, outside their folders of
// passwords.
func (r *Reader) readCertificate(path string) ([]byte, error) {
	for _, folder := range r.Folders {
		if names := namesBelow(folder, path); names != nil {
			if names[0] == passwords {
				return nil, fmt.Errorf("folder %s is for passwords alone: move the file out of it", filepath.Join(folder, passwords))
			}
			return r.readLeaf(folder, names)
		}
	}
	return nil, fmt.Errorf("not below %s: no other folder is read (--file-folder adds one)", strings.Join(r.Folders, " or "))
}

// readPassword reads a file below the folder "passwords" of one of the folders. Its error
// names the place where the file belongs.
func (r *Reader) readPassword(path string) ([]byte, error) {
	if len(r.Folders) == 0 {
		return nil, errors.New("no folder of passwords is configured")
	}
	home := r.Folders[0] // where the file belongs
	if i := slices.IndexFunc(r.Folders, exists); i >= 0 {
		home = r.Folders[i]
	}
	for _, folder := range r.Folders {
		names := namesBelow(folder, path)
		switch {
		case len(names) > 1 && names[0] == passwords:
			return r.readLeaf(folder, names)
		case names != nil:
			home = folder
		}
	}
	return nil, fmt.Errorf("password files are read below folders %q alone: move it to %s, and name it there", passwords, filepath.Join(home, passwords, filepath.Base(path)))
}

// exists reports whether a path can be found.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// namesBelow returns the names on the way from a folder to a path below it, nil where the
// path is elsewhere.
func namesBelow(folder, path string) []string {
	below, err := filepath.Rel(folder, path)
	if err != nil || !filepath.IsLocal(below) || below == "." {
		return nil
	}
	return strings.Split(below, string(filepath.Separator))
}

// readLeaf walks from the folder, which the operator named, to the file, one name at a
// time: so symbolic links are refused, and each folder on the way is judged.
func (r *Reader) readLeaf(folder string, names []string) ([]byte, error) {
	at, err := open(unix.AT_FDCWD, folder, unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if err := judge(at, fs.ModeDir); err != nil {
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
	if err := judge(at, regular); err != nil {
		return nil, err
	}
	if err := r.refuseReserved(at); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(at, MaxLeaf+1))
	if err == nil && len(content) > MaxLeaf {
		err = fmt.Errorf("it has more than %d octets, the most that is read", MaxLeaf)
	}
	return content, err
}

// refuseReserved returns an error where the open file is one of the reserved: compared by
// device and inode, since a file may have several names.
func (r *Reader) refuseReserved(f *os.File) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	for _, path := range r.Reserved {
		if other, err := os.Stat(path); err == nil && os.SameFile(is, other) {
			return fmt.Errorf("the environment of sluiced names %s for another part of Sluice: rows may not name it", path)
		}
	}
	return nil
}

// PathsIn returns the absolute paths in an environment of KEY=VALUE: in values of
// variables that begin with a prefix, as the value, as a word of it, or after a '='.
func PathsIn(environment []string, prefix string) (paths []string) {
	for _, variable := range environment {
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, prefix) {
			for _, word := range strings.FieldsFunc(value, func(c rune) bool { return c == '=' || unicode.IsSpace(c) }) {
				if filepath.IsAbs(word) {
					paths = append(paths, word)
				}
			}
		}
	}
	return paths
}

// open opens a FIFO without its writer (O_NONBLOCK), and leaves a terminal to its session
// (O_NOCTTY).
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

// errKind is the error of an object other than a regular file.
var errKind = errors.New("not a regular file: a FIFO, a device or a socket is not read")

// judge refuses a file of another kind, or one that a user other than root and the
// daemon's own could have written.
func judge(f *os.File, kind fs.FileMode) error {
	is, err := f.Stat()
	if err != nil {
		return err
	}
	owner := ownerOf(is)
	switch {
	case is.Mode().Type() != kind:
		return errKind
	case owner != 0 && owner != os.Geteuid():
		return fmt.Errorf("it belongs to user %d: root or user %d must own it", owner, os.Geteuid())
	case is.Mode()&othersWrite != 0:
		return fmt.Errorf("mode %04o lets its group or everybody write it: chmod go-w", is.Mode().Perm())
	}
	return nil
}
