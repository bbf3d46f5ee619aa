// SPDX-License-Identifier: Apache-2.0

package leaffile

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestFoldersReadOnlySafeFiles: each case is a way to a file that the leaf must not
// open, and what the error says of it. A FIFO would hold the test up for good, and
// /dev/zero would take all memory.
func TestFoldersReadOnlySafeFiles(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, "etc", name) }
	outside := filepath.Join(base, "shadow")
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(path string, size int, mode os.FileMode) {
		t.Helper()
		check(os.WriteFile(path, make([]byte, size), 0o600))
		check(os.Chmod(path, mode)) // whatever the umask is
	}
	for _, folder := range []string{"", "certs", "open", "device"} {
		check(os.Mkdir(at(folder), 0o755))
	}
	write(outside, 8, 0o600)
	write(at("ca.pem"), 8, 0o644)
	write(at("certs/ca.pem"), MaxSize, 0o600)
	write(at("large"), MaxSize+1, 0o600)
	write(at("writable"), 8, 0o646)
	write(at("group"), 8, 0o660)
	write(at("open/ca.pem"), 8, 0o600)
	check(os.Chmod(at("open"), 0o777))
	check(os.Symlink(outside, at("link")))
	check(os.Symlink(base, at("up")))
	check(os.Symlink(at("certs"), at("inside")))
	check(unix.Mkfifo(at("fifo"), 0o600))
	socket, err := net.Listen("unix", at("socket"))
	check(err)
	defer socket.Close()

	folders := Folders{filepath.Join(base, "nowhere"), at("")}
	tests := map[string]string{ // "": it is read
		at("ca.pem"):              "",
		at("certs/ca.pem"):        "",
		at("certs/../ca.pem"):     "",
		outside:                   "not below " + folders[0] + " or " + folders[1],
		at("../shadow"):           "not below ",
		at("") + "more/ca.pem":    "not below ",
		"etc/ca.pem":              "not below ",
		at(""):                    "not below ",
		"":                        "not below ",
		"/dev/zero":               "not below ",
		at("link"):                "link is a symbolic link",
		at("up/shadow"):           "up is a symbolic link",
		at("inside/ca.pem"):       "inside is a symbolic link",
		at("ca.pem/x"):            "ca.pem is a symbolic link or no folder",
		at("fifo"):                "not a regular file",
		at("socket"):              "not a regular file",
		at("certs"):               "not a regular file",
		at("large"):               "more than 1048576 octets",
		at("writable"):            "mode 0646 lets its group or everybody write it",
		at("group"):               "mode 0660 lets",
		at("open/ca.pem"):         "folder open: mode 0777 lets",
		at("missing"):             "open missing: no such file",
		folders[0] + "/any":       "no such file",
		at("ca.pem") + "\x00.pem": "invalid argument",
	}
	if os.Getuid() == 0 {
		check(unix.Mknod(at("device/zero"), unix.S_IFCHR|0o644, int(unix.Mkdev(1, 5))))
		tests[at("device/zero")] = "not a regular file"
		write(at("stranger"), 8, 0o600)
		check(os.Chown(at("stranger"), 4321, 0))
		tests[at("stranger")] = "it belongs to user 4321: root or user 0 must own it"
	}
	for path, want := range tests {
		content, err := folders.Read("etcd_ca_file", path)
		switch {
		case want == "" && (err != nil || len(content) == 0):
			t.Errorf("%s: %d octets, %v", path, len(content), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `etcd_ca_file "`)):
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
