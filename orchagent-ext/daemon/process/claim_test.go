// SPDX-License-Identifier: Apache-2.0

package process

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/sai-shim/saitest"
	"sluice/tests/redistest"
)

// One sluiced has the databases, whether it programs or removes; another switch's
// databases are free.
func TestClaimAllowsOneSluicedForEachDatabase(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "run")
	one, other := redistest.Databases(t), redistest.Databases(t)
	release, err := claim(folder, one)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(folder, one); !errors.Is(err, errRunning) {
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

// TestClaimRemovesLockFilesThatNoProcessHolds: a killed sluiced leaves the files of its
// databases and its network namespace, which may never be used again.
func TestClaimRemovesLockFilesThatNoProcessHolds(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	old, held, fresh, other := at(strings.Repeat("0", 32)+".lock"), at(strings.Repeat("1", 32)+".lock"), at(strings.Repeat("2", 32)+".lock"), at("other.lock")
	for _, path := range []string{old, held, fresh, other} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if long := time.Now().Add(-2 * staleLock); path != fresh {
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	holder, err := lock(held, unix.LOCK_SH)
	if err != nil {
		t.Fatal(err)
	}
	defer holder.Close()
	release, err := claim(folder, redistest.Databases(t))
	if err != nil {
		t.Fatal(err)
	}
	release()
	for path, want := range map[string]bool{old: false, held: true, fresh: true, other: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", path, err, want)
		}
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
	for folder, want := range map[string]error{open: files.ErrShared, link: unix.ENOTDIR} {
		if _, err := claim(folder, d); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", folder, err, want)
		}
	}
}

// TestCheckAndSluicedExcludeEachOther: a check refuses beside a sluiced of its network
// namespace, whatever the databases, and sluiced beside a check.
func TestCheckAndSluicedExcludeEachOther(t *testing.T) {
	library, folder := saitest.New(t), t.TempDir()
	d := redistest.Databases(t)
	release, err := claim(folder, d)
	if err != nil {
		t.Fatal(err)
	}
	o := &Options{SAI: SAI{Library: library.Path, Profile: library.Profile()}, Files: Files{LockFolder: folder}}
	if err := saiCheck(t.Context(), o, strings.NewReader("{}"), io.Discard, io.Discard); !errors.Is(err, errSwitchTaken) {
		t.Errorf("beside sluiced: %v", err)
	}
	if calls := library.Calls(); len(calls) > 0 {
		t.Errorf("the library was called: %q", calls)
	}
	release()
	checking, err := claimSwitch(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(folder, d); !errors.Is(err, errChecking) {
		t.Errorf("sluiced beside a check: %v", err)
	}
	checking()
	if release, err = claim(folder, d); err != nil {
		t.Fatal(err)
	}
	release()
}
