// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric/child"
)

const patience = 3 * time.Minute // for what takes seconds on an idle machine

// boot boots the Debian by systemd-nspawn, with a network of its own, and returns the pid of
// its systemd. The test is skipped, with what nspawn says, where it cannot.
func (d *debianRoot) boot(t *testing.T) (leader string) {
	t.Helper()
	program, err := exec.LookPath("systemd-nspawn")
	if err != nil {
		t.Skip("systemd-nspawn is not installed: apt-get install systemd-container")
	}
	var said bytes.Buffer
	// Programs in the kernel need a system call that nspawn filters.
	cmd := exec.Command(program, "--quiet", "--register=no", "--keep-unit", "--private-network", "--capability=all",
		"--system-call-filter=bpf perf_event_open", "--bind=/dev/net/tun", "--directory="+d.root, "--boot")
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := child.Start(cmd); err != nil {
		t.Skipf("systemd-nspawn: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		err = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		if leader != "" {
			_ = exec.Command("kill", "-KILL", leader).Run() // its processes go with it
		}
		_ = cmd.Process.Kill()
		<-ended
	})
	for deadline := time.Now().Add(patience); ; {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", cmd.Process.Pid))
		if pids := strings.Fields(string(text)); len(pids) == 1 {
			leader = pids[0]
			out, _ := exec.Command("nsenter", "--target", leader, "--all", "systemctl", "is-system-running").CombinedOutput()
			if state := strings.TrimSpace(string(out)); state == "running" || state == "degraded" {
				return leader
			}
		}
		select {
		case <-ended:
			t.Skipf("systemd-nspawn does not boot here: %v: %s", err, &said)
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			t.Skipf("systemd-nspawn does not boot here within %v", patience)
		}
	}
}

// systemd itself starts the units, with all that they take away from the programs, and
// flow labels become active.
func (d *debianRoot) runsUnderSystemd(t *testing.T) {
	leader := d.boot(t)
	in := func(script string) string {
		t.Helper()
		return run(t, "nsenter", "--target", leader, "--all", "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "sh", "-euc", script)
	}
	in(`apt-get install -y /srv/sluice_*.deb
ip link add eth1 type veth peer name far1
ip link set eth1 up
ip link set far1 up
systemctl enable --now sluiced sluice-gnmi
sluice config port set eth1 --role edge
sluice config flow-label set --admin-state enabled --manage-switch-hash true`)
	state := func() string {
		return in(`redis-cli -s /run/sluice-redis/redis.sock -n 6 HGET 'SLUICE_STATE|global' flow_label
systemctl is-active sluice-redis sluiced sluice-gnmi || :`)
	}
	const want = "active\nactive\nactive\nactive"
	for deadline := time.Now().Add(patience); state() != want; time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s\n%s", state(), in("journalctl --no-pager -n 60 -u sluiced -u sluice-gnmi -u sluice-redis"))
		}
	}
	if said := in("systemctl show -P NRestarts sluiced sluice-gnmi sluice-redis"); strings.Trim(said, "0\n") != "" {
		t.Errorf("units were restarted: %s", said)
	}
	in("apt-get purge -y sluice")
	if said := in("systemctl list-units --all --no-legend 'sluice*'; tc qdisc show dev eth1 | grep clsact || :"); said != "" {
		t.Errorf("left by purge: %s", said)
	}
	if _, err := os.Stat(filepath.Join(d.root, "etc/sluice")); err == nil {
		t.Error("/etc/sluice is left by purge")
	}
}
