// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"debug/elf"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

const (
	arm64Bin  = "../bin/arm64/"
	arm64Root = "../build/arm64/root"
)

// underQemu is a command of arm64, which this machine runs by qemu.
func underQemu(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	const qemu, root = "qemu-aarch64-static", "/usr/aarch64-linux-gnu"
	if _, err := exec.LookPath(qemu); err != nil {
		t.Skipf("%v: make arm64-test", err)
	}
	if _, err := os.Stat(args[0]); err != nil {
		t.Skipf("%v: make arm64", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	t.Cleanup(stop)
	libraries := arm64Root + "/usr/lib/aarch64-linux-gnu:" + arm64Root + "/lib/aarch64-linux-gnu"
	return exec.CommandContext(ctx, qemu, append([]string{"-L", root, "-E", "LD_LIBRARY_PATH=" + libraries}, args...)...)
}

// TestARM64Programs: each is of arm64, starts, and knows its version.
func TestARM64Programs(t *testing.T) {
	for program, want := range map[string]string{"sluiced": "sluiced ", "sluice-gnmi": "sluice-gnmi ", "sluice": "sluice version "} {
		out, err := underQemu(t, arm64Bin+program, "--version").CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) || len(out) == len(want) {
			t.Errorf("%s --version: %v: %q", program, err, out)
		}
		t.Logf("%s", out)
		file, err := elf.Open(arm64Bin + program)
		if err != nil {
			t.Fatal(err)
		}
		if file.Machine != elf.EM_AARCH64 {
			t.Errorf("%s is of %v", program, file.Machine)
		}
		_ = file.Close() // it was read
	}
}

// TestARM64Library: sluiced loads libsoftsai.so, and they understand each other: the
// library reads the profile and looks for the port. It is one that is not there,
// since qemu has no system call for BPF programs.
func TestARM64Library(t *testing.T) {
	redis, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	databases, err := sonicdb.Load(redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	config := open(t, databases, "CONFIG_DB")
	port := rows.Row{Table: "PORT", Key: "lo", Fields: map[string]string{"lanes": "0"}}
	if err := config.Write(t.Context(), sonicdb.Change{Row: port}); err != nil {
		t.Fatal(err)
	}
	sluiced := underQemu(t, arm64Bin+"sluiced", "--db-config", redis.Config, "--sai-library", arm64Bin+"libsoftsai.so",
		"--sai-profile", "SLUICE_PORTS=none", "--metrics", "off")
	var log journal
	sluiced.Stderr = &log
	if err := sluiced.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sluiced.Process.Kill() // fails if it has ended
		_ = sluiced.Wait()         // it was killed
	}()
	const want = "softsai: SLUICE_PORTS: port none: no such netdev"
	for deadline := time.Now().Add(patience); !strings.Contains(log.String(), want); time.Sleep(poll) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not say %q:\n%s", want, &log)
		}
	}
}
