// SPDX-License-Identifier: Apache-2.0

package ipsec

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const patience = 5 * time.Minute // for what takes half a minute on an idle machine

// counts is what the observer counted, of five messages.
type counts struct {
	Clear  int // left the sender unprotected
	ESP    int // left it as ESP
	AH     int // left it behind an authentication header
	Marked int // came to the receiver below IP, with the mark of the state
	Kernel int // came to a raw ICMPv6 socket there
}

// seen is what was seen in a case.
type seen struct {
	Counts   counts
	Accepted int // by sluice listen
}

// cases are those of testdata/cases.sh.
var cases = map[string]seen{
	"plain":  {counts{Clear: 5, Kernel: 5}, 5},
	"tunnel": {counts{ESP: 5, Marked: 5, Kernel: 5}, 5},

	"sender-restarted": {counts{ESP: 5}, 0}, // its sequence numbers were there already
	"wrong-key":        {counts{ESP: 5}, 0},
	"no-key":           {counts{ESP: 5}, 0},

	// A policy holds for sockets of the kernel's IP: what listens below it hears what
	// they are kept from.
	"forged": {counts{Clear: 5}, 5},
	// The packet of a raw socket with a header of its own has protocol 255.
	"policy-by-type": {counts{Clear: 5}, 5},
	// Only tunnel mode brings the inner packet before who listens below IP.
	"transport": {counts{ESP: 5, Kernel: 5}, 0},

	// The outer packet is no message for who listens below IP; the inner one comes marked if the
	// kernel has verified it.
	"ah-tunnel":    {counts{AH: 5, Marked: 5, Kernel: 5}, 5},
	"ah-wrong-key": {counts{AH: 5}, 0},

	"ppfc": {counts{ESP: 5, Marked: 5, Kernel: 5}, 5},
}

//conformance:draft-yang/ipsec
func TestIPsec(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	sluice := absolute(t, "../../bin")
	if _, err := os.Stat(filepath.Join(sluice, "sluice")); err != nil {
		t.Skipf("needs what make build makes: %v", err)
	}
	env := []string{
		"SLUICE=" + sluice, "COMMANDS=" + commands(t), "OBSERVE=" + absolute(t, "testdata/observe.py"),
		"CASES=" + absolute(t, "testdata/cases.sh"),
	}
	var said string
	if hasESP(t) {
		said = output(t, append(os.Environ(), append(env, "PATH="+sluice+":"+os.Getenv("PATH"))...), "bash", absolute(t, "testdata/cases.sh"))
	} else {
		said = inUserSpace(t, env)
	}
	got := map[string]seen{}
	for _, m := range regexp.MustCompile(`(?m)^CASE (\S+) (.*?)\r?$`).FindAllStringSubmatch(said, -1) {
		var s seen
		if err := json.Unmarshal([]byte(m[2]), &s); err != nil {
			t.Errorf("%s: %v", m[0], err)
		}
		got[m[1]] = s
	}
	if diff := cmp.Diff(cases, got); diff != "" {
		t.Errorf("(-want +got):\n%s\nit wrote:\n%s", diff, said)
	}
}

// commands writes the blocks of the page whose first line is "```sh ipsec NAME"
// into files.
func commands(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, m := range regexp.MustCompile("(?ms)^```sh ipsec (\\S+)\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if err := os.WriteFile(filepath.Join(dir, m[1]+".sh"), []byte(m[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// hasESP reports whether the kernel can carry out the states of the page.
func hasESP(t *testing.T) bool {
	t.Helper()
	name := fmt.Sprint("sluice-esp-", os.Getpid())
	if out, err := exec.Command("ip", "netns", "add", name).CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %s", out)
	}
	defer exec.Command("ip", "netns", "del", name).Run() //nolint:errcheck // the test says nothing of it
	return exec.Command("ip", "netns", "exec", name, "ip", "xfrm", "state", "add", "src", "fe80::1", "dst", "fe80::2", "proto", "esp", "spi", "1",
		"enc", "cbc(aes)", "0x"+strings.Repeat("01", 16), "auth-trunc", "hmac(sha256)", "0x"+strings.Repeat("01", 32), "128").Run() == nil
}

// inUserSpace runs the cases in a Linux of their own.
func inUserSpace(t *testing.T, env []string) string {
	t.Helper()
	linux := absolute(t, "../../build/uml/usr/bin/linux.uml")
	modules, _ := filepath.Glob(absolute(t, "../../build/uml/usr/lib/uml/modules") + "/*")
	if _, err := os.Stat(linux); err != nil || len(modules) != 1 {
		t.Skip("this kernel has no ESP, and there is no Linux in user space: make build/uml")
	}
	args := append([]string{
		"mem=256M", "rootfstype=hostfs", "ro", "hostfs=/", "init=" + absolute(t, "testdata/uml.sh"), "uml_dir=" + t.TempDir() + "/",
		"con=null", "con0=null,fd:1", "quiet", "MODULES=" + modules[0],
	}, env...)
	said := output(t, os.Environ(), linux, args...)
	if !strings.Contains(said, "ENDED") && !strings.Contains(said, "CASE") {
		t.Skipf("Linux in user space does not run here: %s", said)
	}
	return said
}

// output runs a command to its end, with all that it starts, and returns what it
// wrote.
func output(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: unix.SIGKILL}
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }
	runtime.LockOSThread() // whose end is the parent's, for Pdeathsig
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		t.Logf("%s: %v", filepath.Base(name), err)
	}
	return out.String()
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
