// SPDX-License-Identifier: Apache-2.0

package files

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReaderReadsOnlySafeFiles: each case is a way to a file that the leaf must not
// open, and what the error says of it. A FIFO would hold the test up for good, and
// /dev/zero would take all memory.
func TestReaderReadsOnlySafeFiles(t *testing.T) {
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
	write(at("certs/ca.pem"), MaxLeaf, 0o600)
	write(at("large"), MaxLeaf+1, 0o600)
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

	folders := []string{filepath.Join(base, "nowhere"), at("")}
	reader := Reader{Folders: folders}
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
	if _, err := (&Reader{}).Read("etcd_ca_file", at("ca.pem")); err == nil {
		t.Error("a reader without folders reads a file")
	}
	for path, want := range tests {
		content, err := reader.Read("etcd_ca_file", path)
		switch {
		case want == "" && (err != nil || len(content) == 0):
			t.Errorf("%s: %d octets, %v", path, len(content), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `etcd_ca_file "`)):
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// TestPasswordsHaveAFolderOfTheirOwn: a password is sent to a peer, so a leaf reads as one
// only a file that was put there to be one, whatever else the folders hold.
func TestPasswordsHaveAFolderOfTheirOwn(t *testing.T) {
	base := t.TempDir()
	at := func(name string) string { return filepath.Join(base, "etc", name) }
	for _, folder := range []string{"", passwords, passwords + "/deep", "certs"} {
		if err := os.Mkdir(at(folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"users", "certs/ca.pem", passwords + "/etcd", passwords + "/deep/etcd", passwords + "/named"} {
		if err := os.WriteFile(at(name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(at(passwords+"/named"), at(passwords+"/twin")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(at("users"), at(passwords+"/link")); err != nil {
		t.Fatal(err)
	}
	r := Reader{Folders: []string{filepath.Join(base, "nowhere"), at("")}, Reserved: []string{at("missing"), at(passwords + "/named"), at("certs/ca.pem")}}
	for path, want := range map[string]string{
		at(passwords + "/etcd"):              "",
		at(passwords + "/deep/etcd"):         "",
		at(passwords + "/../passwords/etcd"): "",
		at("users"):                          "move it to " + at(passwords+"/users") + ", and name it there",
		at(passwords + "/../users"):          "move it to " + at(passwords+"/users"),
		at("certs/ca.pem"):                   "move it to " + at(passwords+"/ca.pem"),
		"/etc/shadow":                        "move it to " + at(passwords+"/shadow"), // the first folder that is there
		at(passwords):                        "password files are read below",
		"":                                   "password files are read below",
		at(passwords + "/link"):              "link is a symbolic link",
		at(passwords + "/named"):             "names " + at(passwords+"/named") + " for another part of Sluice",
		at(passwords + "/twin"):              "names " + at(passwords+"/named") + " for another part of Sluice",
	} {
		content, err := r.ReadPassword("etcd_password_file", path)
		switch {
		case want == "" && (err != nil || len(content) == 0):
			t.Errorf("%s: %q, %v", path, content, err)
		case want != "" && (err == nil || content != nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `etcd_password_file "`)):
			t.Errorf("%s: %q, %v, want %s", path, content, err, want)
		}
	}
	for path, want := range map[string]string{at(passwords + "/etcd"): "is for passwords alone", at("certs/ca.pem"): "another part of Sluice"} {
		if content, err := r.Read("ca_file", path); err == nil || content != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %s", path, content, err, want)
		}
	}
	if _, err := (&Reader{}).ReadPassword("etcd_password_file", at(passwords+"/etcd")); err == nil {
		t.Error("a reader without folders reads a password")
	}
}

func TestPathsOfTheEnvironmentAreFound(t *testing.T) {
	got := PathsIn([]string{
		"SLUICE_GNMI_USERS=/etc/sluice/users", "SLUICE_GNMI_FLAGS=--key=/a/key --policy /a/policy -v", "SLUICE_DB_CONFIG=", "SLUICE_SYSLOG=1", "HOME=/root",
		"SLUICE_SAI_PROFILE=FILE=/a/profile", "SLUICE_ODD",
	}, "SLUICE_")
	if want := []string{"/etc/sluice/users", "/a/key", "/a/policy", "/a/profile"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
