// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"sluice/orchagent-ext/testbed/fabric/child"
)

// stateFiles are those that the programs keep on the disk.
var stateFiles = []string{"sluiced-rows.json", "sluiced-sai.json", "sluiced-sai.journal", "sluiced-ledger.json", "commit.json", "config-journal.json"}

// disks are the states of a disk, and of the files on it, that no program may need: begin is
// before the programs start, and later while they run. (No kernel makes a file system read-only
// that has files open for writing.)
var disks = []struct {
	name         string
	begin, later func(t *testing.T, folder string)
	unwritable   bool // files, so that a change that enables is refused
	undoes       bool // a rollback of what was disabled is known
}{
	{name: "in order", undoes: true},
	{name: "read-only", begin: readOnlyDisk, unwritable: true},
	{name: "full", begin: fullDisk, unwritable: true},
	{name: "full later", later: fullDisk, unwritable: true},
	{name: "0 octets", begin: func(t *testing.T, folder string) { cutFiles(t, folder, 0) }, unwritable: true},
	{name: "0 octets later", later: func(t *testing.T, folder string) { cutFiles(t, folder, 0) }, unwritable: true},
	{name: "cut", begin: func(t *testing.T, folder string) { cutFiles(t, folder, 20) }, unwritable: true},
	{name: "cut later", later: func(t *testing.T, folder string) { cutFiles(t, folder, 20) }, unwritable: true},
}

func readOnlyDisk(t *testing.T, folder string) {
	t.Helper()
	if err := unix.Mount("", folder, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
}

func fullDisk(t *testing.T, folder string) {
	t.Helper()
	f, err := os.Create(filepath.Join(folder, "rest"))
	if err != nil {
		t.Fatal(err)
	}
	for size := 4096; size > 0; size /= 2 {
		for err == nil {
			_, err = f.Write(make([]byte, size))
		}
		err = nil
	}
	_ = f.Close()
}

// cutFiles makes files of so many octets at most, or of as many of the text of none, as JSON or a
// journal begins.
func cutFiles(t *testing.T, folder string, octets int) {
	t.Helper()
	for _, name := range stateFiles {
		file := filepath.Join(folder, name)
		if _, err := os.Stat(file); err != nil {
			err = os.WriteFile(file, []byte(`{"entries":[{"time":"2026`)[:octets], 0o600)
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Truncate(file, int64(octets)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDisk: with a disk that is full, read-only or damaged each program starts and runs, the kill
// switch acts by the tool and by gNMI, and what is disabled can be enabled again.
func TestDisk(t *testing.T) {
	soakOnly(t)
	for _, disk := range disks {
		t.Run(disk.name, func(t *testing.T) {
			l := newLeaf(t)
			folder := t.TempDir()
			if err := unix.Mount("none", folder, "tmpfs", 0, "size=256k"); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
			l.memory = filepath.Join(folder, "sluiced.json")
			journal := filepath.Join(folder, "config-journal.json")
			if disk.begin != nil {
				disk.begin(t, folder)
			}
			l.labels()
			l.start()
			l.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
			socket := l.serveOn(folder)
			if disk.later != nil {
				disk.later(t, folder)
			}
			tool := func(args ...string) (string, error) {
				c := exec.CommandContext(t.Context(), bin+"sluice", args...)
				c.Env = append(os.Environ(), "SLUICE_DB_CONFIG="+l.redis.Config, "SLUICE_CONFIG_JOURNAL="+journal)
				out, err := c.CombinedOutput()
				return string(out), err
			}
			if out, err := tool("config", "global", "set", "--admin-state", "disabled"); err != nil {
				t.Fatalf("kill switch: %v: %s", err, out)
			}
			l.awaitFields("SLUICE_STATE", "global", "state", "disabled", "flow_label", "inactive")
			out, err := tool("rollback")
			if (err == nil) != disk.undoes {
				t.Errorf("rollback: %v: %s", err, out)
			}
			if disk.undoes {
				l.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
			} else if out, err := tool("config", "global", "set", "--admin-state", "enabled", "--journal", ""); err != nil {
				t.Errorf("enabled without a journal: %v: %s", err, out)
			}
			l.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
			if out, err := tool("config", "port", "set", l.LeafA.Name, "--role", "border"); (err != nil) != disk.unwritable {
				t.Errorf("another change: %v: %s", err, out)
			}
			conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := gpb.NewGNMIClient(conn).Set(t.Context(), flowLabel("disabled")); err != nil {
				t.Errorf("gNMI: %v", err)
			}
			l.awaitFields("SLUICE_STATE", "global", "flow_label", "inactive")
			l.stop()
			l.start() // again, with what is there by now
		})
	}
}

// serveOn starts sluice-gnmi with its state file in a folder, and returns its socket.
func (l *leaf) serveOn(folder string) (socket string) {
	l.t.Helper()
	dir, err := os.MkdirTemp("", "gnmi") // TempDir can be too long for a socket
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket = filepath.Join(dir, "gnmi.sock")
	log := &logged{}
	cmd := exec.Command(bin+"sluice-gnmi", "--db-config", l.redis.Config, "--socket", socket, "--state-file", filepath.Join(folder, "commit.json"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := child.Start(cmd); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		if err := cmd.Wait(); err != nil {
			l.t.Errorf("sluice-gnmi: %v: %s", err, log)
		}
	})
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), "sluice-gnmi starts"); time.Sleep(poll) {
		if time.Now().After(deadline) {
			l.t.Fatalf("sluice-gnmi does not start: %s", log)
		}
	}
	return socket
}

// TestKillSwitchBesideManyBadRows: labels end whatever else CONFIG_DB has. The times are for
// the log: bench judges by the clock.
func TestKillSwitchBesideManyBadRows(t *testing.T) {
	soakOnly(t)
	l := newLeaf(t)
	l.labels()
	const n = 150_000
	l.badRows(n)
	began := time.Now()
	l.start()
	l.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
	t.Logf("active after %v beside %d bad rows", time.Since(began), n)
	l.awaitFields("SLUICE_STATE", "global", "config_errors", fmt.Sprint(n))
	for range 5 {
		began = time.Now()
		l.set("SLUICE", "global", "admin_state", "disabled")
		took := l.untilUnlabeled(began)
		t.Logf("no packet was changed %v after the kill switch", took)
		l.set("SLUICE", "global", "admin_state", "enabled")
		l.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
	}
}

// badRows writes n rows that no schema takes.
func (l *leaf) badRows(n int) {
	l.t.Helper()
	lines := &strings.Builder{}
	for i := range n {
		fmt.Fprintf(lines, "HSET SLUICE_THRESHOLD|bad%d high_bytes many\n", i)
	}
	load := exec.CommandContext(l.t.Context(), "redis-cli", "-s", l.redis.Socket, "-n", fmt.Sprint(l.config.ID), "--pipe")
	load.Stdin = strings.NewReader(lines.String())
	if out, err := load.CombinedOutput(); err != nil {
		l.t.Fatalf("%v: %s", err, out)
	}
}

// untilUnlabeled sends packets until none of them is changed, and returns how long after a time those had arrived.
func (l *leaf) untilUnlabeled(began time.Time) time.Duration {
	l.t.Helper()
	for deadline := began.Add(patience); ; {
		labels := flowLabels(l.t, l.send(l.sessions(1)))
		took := time.Since(began)
		if !slices.ContainsFunc(slices.Collect(maps.Values(labels)), func(label uint32) bool { return label != 0 }) {
			return took
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("labels go on: %v", labels)
		}
	}
}

// TestPortsOfAnotherProcess: a second sluiced with databases of its own gets no port of the
// first, and says who has them; once that has ended it gets them.
func TestPortsOfAnotherProcess(t *testing.T) {
	soakOnly(t)
	first := newLeaf(t)
	first.labels()
	first.start()
	first.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
	second := newSwitch(t, first.LeafSpine)
	second.labels()
	second.launch("--lock-folder", filepath.Join(t.TempDir(), "locks"), "--metrics", "off")
	second.await("SLUICE_STATE", "global", func(fields map[string]string) bool {
		return strings.Contains(fields["last_error"], "is programmed by another sluiced, PID ") && strings.Contains(fields["last_error"], first.redis.Socket)
	})
	if state := first.row("SLUICE_STATE", "global"); state["flow_label"] != "active" || state["warnings"] != "" {
		t.Errorf("the first one: %v", state)
	}
	first.remove("SLUICE_FLOW_LABEL", "global")
	first.awaitFields("SLUICE_STATE", "global", "flow_label", "inactive")
	first.stop()
	second.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
}
