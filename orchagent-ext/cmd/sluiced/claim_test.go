// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/fabric/privateredis"
	"sluice/orchagent-ext/sonicdb"
)

// databasesOf are those of a Redis of the test's own.
func databasesOf(t *testing.T) *sonicdb.Databases {
	t.Helper()
	s, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	d, err := sonicdb.Load(s.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// One sluiced has the databases, whether it programs or removes; another switch's
// databases are free.
func TestClaim(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	one, other := databasesOf(t), databasesOf(t)
	release, err := claim(folder, one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(folder, one); err == nil || !strings.Contains(err.Error(), "another sluiced runs") {
		t.Errorf("claimed twice: %v", err)
	}
	releaseOther, err := claim(folder, other)
	if err != nil {
		t.Fatal(err)
	}
	releaseOther()
	release()
	if release, err = claim(folder, one); err != nil {
		t.Fatalf("not free again: %v", err)
	}
	release()

	// Another network namespace's sluiced is another switch's.
	runtime.LockOSThread() // and not unlocked: the thread ends with the test
	if os.Getuid() == 0 {
		if release, err = claim(folder, one); err != nil {
			t.Fatal(err)
		}
		defer release()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			t.Fatal(err)
		}
		elsewhere, err := claim(folder, one)
		if err != nil {
			t.Fatalf("in another network namespace: %v", err)
		}
		elsewhere()
	}
}

// TestClaimCannotBeBlocked: what another local user can do beforehand, whatever the
// abstract socket is named, does not keep sluiced from starting; a folder that others
// can write, or a link, is not used.
func TestClaimCannotBeBlocked(t *testing.T) {
	s, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	d, err := sonicdb.Load(s.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	db, err := d.Database("CONFIG_DB")
	if err != nil {
		t.Fatal(err)
	}
	name := sha256.Sum256(fmt.Append(nil, db.Address, db.ID))
	squatter, err := net.Listen("unix", fmt.Sprintf("@sluiced/%x", name[:16]))
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	base := t.TempDir()
	release, err := claim(filepath.Join(base, "run"), d)
	if err != nil {
		t.Fatal(err)
	}
	release()

	open, link := filepath.Join(base, "open"), filepath.Join(base, "link")
	if err := errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777), os.Symlink(filepath.Join(base, "run"), link)); err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]string{open: "has mode 0777: other users must not be able to write it", link: "is no folder"} {
		if _, err := claim(folder, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", folder, err, want)
		}
	}
}
