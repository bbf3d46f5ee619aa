// SPDX-License-Identifier: Apache-2.0

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ErrShared is of a folder that could have been written by another user than root and that of the process.
var ErrShared = errors.New("other users must not be able to write it")

// OwnFolder makes a folder that no other user can write, with mode 0755. One that is there and
// belongs to another user than root and that of the process, or that others can write, is an error.
func OwnFolder(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	is, err := os.Lstat(folder)
	if err != nil {
		return err
	}
	owner := ownerOf(is)
	switch {
	case !is.IsDir():
		return &fs.PathError{Op: "lock files", Path: folder, Err: syscall.ENOTDIR}
	case owner != 0 && owner != os.Geteuid() || is.Mode()&othersWrite != 0:
		return fmt.Errorf("folder %s belongs to user %d and has mode %04o: %w", folder, owner, is.Mode().Perm(), ErrShared)
	}
	return nil
}

// Kinds and rights of files.
const (
	regular     fs.FileMode = 0
	othersWrite fs.FileMode = 0o022 // its group, or everybody, can write it
)

// ownerOf returns the user that a file belongs to, by its number.
func ownerOf(is fs.FileInfo) int { return int(is.Sys().(*syscall.Stat_t).Uid) }
