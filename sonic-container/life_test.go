// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/tests/fabrictest"
	"sluice/yang/rows"
)

// promptly is how soon after docker kill and start SONiC hears that all is as it was, on a
// machine that does nothing else: make soak.
const promptly = 5 * time.Second

var soak = os.Getenv("SLUICE_SOAK") != ""

// TestBothProgramsHaveTheirRights: both programs run with the rights stated, sluice-gnmi alone is started
// again, nothing is left a zombie, and SIGTERM ends all of it well.
func TestBothProgramsHaveTheirRights(t *testing.T) {
	b := newBox(t, fabrictest.New(t), "leaf", "")
	b.start()
	b.awaitRow("SLUICE_STATE", "global", "state", "running")
	b.await("health", func() bool { _, err := b.exec(b.script("health.sh")); return err == nil })
	checkRights(t, "sluiced", b.pid("sluiced"), softwareSwitchRights)
	checkRights(t, "sluice-gnmi", b.pid("sluice-gnmi"), noCapability)

	// /proc/sys is sealed but for ECMP's hash. Opening for writing changes nothing.
	for file, sealed := range map[string]bool{"kernel/core_pattern": true, "net/ipv4/ip_forward": true, "net/ipv6/fib_multipath_hash_policy": false} {
		if out, err := b.exec("sh", "-c", ": >>/proc/sys/"+file); strings.Contains(out, "Read-only file system") != sealed || err != nil != sealed {
			t.Errorf("%s: %v: %s", file, err, out)
		}
	}

	b.await("health without sluice-gnmi to be looked at", func() bool {
		first := b.pid("sluice-gnmi")
		if err := unix.Kill(first, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		b.await("its end", func() bool { return b.pid("sluice-gnmi") != first })
		out, err := b.exec(b.script("health.sh"))
		if err == nil && b.pid("sluice-gnmi") != 0 {
			return false // it was started again before it was asked
		}
		if err == nil || !strings.Contains(out, "gnmi.sock") {
			t.Errorf("health without sluice-gnmi: %v: %s", err, out)
		}
		return true
	})
	b.await("sluice-gnmi again", func() bool { _, err := b.exec(b.script("health.sh")); return err == nil })

	// An orphan is the first process's to bury.
	if out, err := b.exec("sh", "-c", "(sh -c 'exec sleep 0.01' &) ; :"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	b.await("no zombies", func() bool {
		out, err := b.exec("ps", "-e", "-o", "stat=")
		return err == nil && !strings.Contains(out, "Z")
	})

	socket := filepath.Join(b.dir, "run/sluice/gnmi.sock")
	if _, err := os.Stat(socket); err != nil {
		t.Error(err)
	}
	if err := b.stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
	if _, err := os.Stat(socket); !os.IsNotExist(err) {
		t.Errorf("the socket is left: %v", err)
	}
	for _, said := range []string{"sluice-gnmi ended with exit code 137", `msg="sluiced ends"`, `msg="sluice-gnmi ends"`} {
		if !strings.Contains(b.log.String(), said) {
			t.Errorf("%q is not said", said)
		}
	}
}

// TestRootWhereAFileIsForRootAlone: a key that only root can read keeps working, since
// sluiced then runs as root, and the log says which file it is. What only sluice-gnmi
// reads is no reason.
func TestRootWhereAFileIsForRootAlone(t *testing.T) {
	b := newBox(t, fabrictest.New(t), "leaf", "")
	gnmi := filepath.Join("/", choices, "gnmi.key")
	b.choose("", "SLUICE_SAI_LIBRARY=", "SLUICE_GNMI_USERS="+gnmi)
	writeFile(t, filepath.Join(b.dir, gnmi), "reader:$2a$10$abcdefghijklmnopqrstuuKsuwIiTmvAaTRNIAF2aqNrzbD8iPe2i\n")
	uid := func(program, want string) {
		t.Helper()
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", b.pid(program)))
		if err != nil || !strings.Contains(string(status), "\nUid:\t"+want+"\t"+want+"\t") {
			t.Errorf("%s is not user %s: %v\n%s", program, want, err, status)
		}
	}
	b.start()
	b.await("both", func() bool { return b.pid("sluiced") != 0 && b.pid("sluice-gnmi") != 0 })
	uid("sluiced", "50071")
	uid("sluice-gnmi", "0")
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(b.dir, choices, "etcd.key"), "")
	b.start()
	b.await("both", func() bool { return b.pid("sluiced") != 0 && b.pid("sluice-gnmi") != 0 })
	uid("sluiced", "0")
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	for _, said := range []string{
		"start.sh: sluice-gnmi runs as root: group 50070 cannot use /etc/sonic/sluice/gnmi.key: chgrp 50070 and chmod g+r let it\n",
		"start.sh: sluiced runs as root: group 50070 cannot use /etc/sonic/sluice/etcd.key: chgrp 50070 and chmod g+r let it\n",
	} {
		if !strings.Contains(b.log.String(), said) {
			t.Errorf("%q is not said", said)
		}
	}
}

// TestEndsWithSluiced: the container's exit code is that of sluiced.
func TestEndsWithSluiced(t *testing.T) {
	b := newBox(t, fabrictest.New(t), "leaf", "")
	b.choose("", "SLUICE_METRICS=off", "SLUICE_GNMI_FLAGS=--reflection --verbose", "exit 3") // once, sh ran the last two
	b.env = append(b.env, "SLUICE_DB_CONFIG=/nosuch.json")                                   // the last one counts
	if err := b.run(); err == nil || err.Error() != "exit status 1" {
		t.Errorf("without databases: %v", err)
	}
	if want := "start.sh: /etc/sonic/sluice/sluiced.env, line 3, is left out: "; !strings.Contains(b.log.String(), want) {
		t.Errorf("the log has no %q", want)
	}
	if !strings.Contains(b.log.String(), "read where the databases are") {
		t.Errorf("it does not say why")
	}
}

// TestStopBeforeSluicedHears: docker stop ends well even where sluiced has not come to
// catch signals yet.
func TestStopBeforeSluicedHears(t *testing.T) {
	b := newBox(t, fabrictest.New(t), "leaf", "")
	b.choose("", "SLUICE_SAI_LIBRARY=", "PATH="+filepath.Join(b.dir, "deaf")+":"+strings.TrimPrefix(b.env[0], "PATH="))
	deaf := filepath.Join(b.dir, "deaf/sluiced")
	if err := os.Mkdir(filepath.Dir(deaf), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, deaf, "#!/bin/sh\necho started\nexec sleep 1000\n")
	if err := os.Chmod(deaf, 0o755); err != nil {
		t.Fatal(err)
	}
	b.start()
	b.await("sluiced", func() bool { return strings.Contains(b.log.String(), "started\n") })
	if err := b.stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
}

// TestWarmRestart: docker kill, as a warm boot does, and start. What is programmed
// forwards on, and SONiC is notified of the reconciliation soon.
func TestWarmRestart(t *testing.T) {
	b := newBox(t, fabrictest.New(t), "leaf", "")
	b.start()
	b.awaitRow("SLUICE_STATE", "global", "state", "running")
	b.awaitRow("WARM_RESTART_TABLE", "sluiced", "state", "disabled", "restore_count", "0")
	programs := b.programs()
	if !strings.Contains(programs, "Ethernet0") {
		t.Fatalf("no program on Ethernet0: %s", programs)
	}
	for i, enable := range []string{"system", "sluice"} {
		// What SONiC does before a warm boot.
		b.write(b.state, "WARM_RESTART_ENABLE_TABLE", enable, "enable", "true")
		b.write(b.state, "WARM_RESTART_TABLE", "sluiced", "restore_count", fmt.Sprint(i))
		b.kill()
		if now := b.programs(); now != programs {
			t.Errorf("after the kill: %s, before: %s", now, programs)
		}
		began := time.Now()
		b.start()
		b.awaitRow("WARM_RESTART_TABLE", "sluiced", "state", "reconciled", "restore_count", fmt.Sprint(i+1))
		took := time.Since(began)
		t.Logf("%s: reconciled after %v", enable, took)
		if soak && took > promptly {
			t.Errorf("reconciled after %v, want at most %v", took, promptly)
		}
		if now := b.programs(); unnumbered(now) != unnumbered(programs) {
			t.Errorf("after the start: %s, before: %s", now, programs)
		}
		programs = b.programs()
		b.write(b.state, "WARM_RESTART_ENABLE_TABLE", enable, "enable", "false")
	}
	// A warm boot of the switch keeps a few tables of STATE_DB, and only one row of
	// Sluice.
	b.write(b.state, "WARM_RESTART_ENABLE_TABLE", "system", "enable", "true")
	b.kill()
	b.deleteState()
	b.start()
	b.awaitRow("WARM_RESTART_TABLE", "sluiced", "state", "reconciled", "restore_count", "3")
	if now := b.programs(); unnumbered(now) != unnumbered(programs) {
		t.Errorf("without a ledger: %s, before: %s", now, programs)
	}
	b.write(b.state, "WARM_RESTART_ENABLE_TABLE", "system", "enable", "false")
	// Without a warm boot there is no wait.
	b.kill()
	b.start()
	b.awaitRow("WARM_RESTART_TABLE", "sluiced", "state", "disabled", "restore_count", "0")
	// Nor where the feature is new: there is nothing to restore.
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if err := b.state.Write(t.Context(), sonicdb.Change{Row: rows.Row{Table: "WARM_RESTART_TABLE", Key: "sluiced"}, Deleted: true}); err != nil {
		t.Fatal(err)
	}
	b.write(b.state, "WARM_RESTART_ENABLE_TABLE", "system", "enable", "true")
	b.start()
	b.awaitRow("WARM_RESTART_TABLE", "sluiced", "state", "disabled", "restore_count", "0")
}

// TestUninstallLeavesNothing: feature disabled, container stopped, rows of our models removed,
// container removed, as sonic-package-manager uninstall does. Nothing is left, also
// where the container was killed and sluiced --remove has to do it.
func TestUninstallLeavesNothing(t *testing.T) {
	for name, remove := range map[string]func(*box){
		"feature disabled": func(b *box) {
			b.set("FEATURE", "sluice", "state", "disabled", "auto_restart", "enabled")
			if err := b.stop(); err != nil {
				b.t.Errorf("stopped: %v", err)
			}
		},
		"nothing outlives": func(b *box) {
			b.set("SLUICE", "global", "warm_restart", "disabled")
			if err := b.stop(); err != nil {
				b.t.Errorf("stopped: %v", err)
			}
		},
		"killed": func(b *box) {
			b.kill()
			b.set("FEATURE", "sluice", "state", "disabled")
			if err := b.run("sluiced", "--remove"); err != nil {
				b.t.Errorf("sluiced --remove: %v", err)
			}
		},
		"killed and STATE_DB flushed": func(b *box) {
			b.kill()
			b.in("redis-cli", "-s", b.redis.Socket, "-n", "6", "FLUSHDB")
			if err := b.run("sluiced", "--remove"); err != nil {
				b.t.Errorf("sluiced --remove: %v", err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, fabrictest.New(t), "leaf", "")
			b.set("FEATURE", "sluice", "state", "enabled")
			before := b.traces()
			b.start()
			b.awaitRow("SLUICE_STATE", "global", "state", "running", "flow_label", "active")
			b.awaitRow("SLUICE_CAPABILITY", "switch", "flow_label_method", "compute")
			if during := b.traces(); cmp.Equal(before, during) {
				t.Fatal("it leaves no trace while it runs: the test is blind")
			}
			remove(b)
			// sonic-package-manager: the tables of our models in CONFIG_DB. What is left
			// there in the end are rows of SONiC.
			b.removeConfig()
			want, got := before, b.traces()
			want["keys of database 4"] = "FEATURE|sluice\nPORT|Ethernet0"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("left (-before +after):\n%s", diff)
			}
		})
	}
}

// TestTracesAreOutputAlone: what a command complains of is no trace.
func TestTracesAreOutputAlone(t *testing.T) {
	node, err := fabrictest.New(t).Node("leaf")
	fabrictest.Check(t, err)
	b := &box{t: t, node: node}
	if got, want := b.in("sh", "-c", "echo 'Error: Peer netns reference is invalid.' >&2; echo 1: lo"), "1: lo\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRestartGoesOn: docker stop and start of a feature that is enabled goes on where it
// was; the switch forwards in between as before.
func TestRestartGoesOn(t *testing.T) {
	b := newBox(t, fabrictest.New(t), "leaf", "")
	b.set("FEATURE", "sluice", "state", "enabled")
	b.start()
	b.awaitRow("SLUICE_STATE", "global", "state", "running")
	programs := b.programs()
	if err := b.stop(); err != nil {
		t.Errorf("stopped: %v", err)
	}
	if now := b.programs(); now != programs {
		t.Errorf("after the stop: %s, before: %s", now, programs)
	}
	if row := b.row("SLUICE_STATE", "global"); row != nil {
		t.Errorf("it is stopped, and SLUICE_STATE says %v", row)
	}
	b.start()
	b.awaitRow("SLUICE_STATE", "global", "state", "running")
	if now := b.programs(); unnumbered(now) != unnumbered(programs) {
		t.Errorf("after the start: %s, before: %s", now, programs)
	}
	if err := b.run("sluiced", "--remove"); err == nil || !strings.Contains(b.log.String(), "another sluiced runs") {
		t.Errorf("sluiced --remove beside a running sluiced: %v", err)
	}
}

// TestDebugDump: what the manifest names is what SONiC's show techsupport runs in the
// container; it tells of the databases and of sluiced.
func TestDebugDump(t *testing.T) {
	command := strings.Fields(theManifest(t).Package.DebugDump)
	if len(command) == 0 {
		t.Fatal("the manifest has no debug-dump")
	}
	b := newBox(t, fabrictest.New(t), "leaf", "0")
	b.start()
	b.awaitRow("SLUICE_STATE", "global", "state", "running")
	out, err := b.exec(command...)
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{"SLUICE_STATE|global", "SLUICE_ASIC_OBJECT|", "SLUICE_FLOW_LABEL|global", "clsact", "WARM_RESTART_TABLE|sluiced"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

// TestDriverOrchagent: where syncd owns the ASIC the operator names the driver, and
// nothing else: the rights that it takes are there, with a library and without.
func TestDriverOrchagent(t *testing.T) {
	for name, tt := range map[string]struct{ library, rights string }{
		"no library": {"", netAdminAndNetRaw},
		"a library":  {"SLUICE_SAI_LIBRARY=/usr/lib/libsoftsai.so", softwareSwitchRights},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox(t, fabrictest.New(t), "leaf", "")
			b.choose("", tt.library)
			b.set("SLUICE", "global", "driver", "orchagent")
			b.set("SWITCH_HASH", "GLOBAL", "ecmp_hash@", "SRC_IP,DST_IP")
			b.write(b.state, "SWITCH_CAPABILITY", "switch", "ECMP_HASH_CAPABLE", "true", "HASH|NATIVE_HASH_FIELD_LIST", "SRC_IP,DST_IP,RDMA_BTH_DEST_QP")
			b.start()
			b.awaitRow("SLUICE_STATE", "global", "state", "running", "flow_label", "active", "flow_label_method", "hash")
			checkRights(t, "sluiced", b.pid("sluiced"), tt.rights)
			b.set("FEATURE", "sluice", "state", "disabled")
			if err := b.stop(); err != nil {
				t.Errorf("stopped: %v", err)
			}
			if hash := b.in("redis-cli", "-s", b.redis.Socket, "-n", "4", "HGET", "SWITCH_HASH|GLOBAL", "ecmp_hash@"); hash != "SRC_IP,DST_IP\n" {
				t.Errorf("ecmp_hash is %q", hash)
			}
		})
	}
}
