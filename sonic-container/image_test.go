// SPDX-License-Identifier: Apache-2.0

package container

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/child"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

const (
	patience = time.Minute // for what takes a second on an idle machine
	poll     = 20 * time.Millisecond

	// As /proc/PID/status writes them.
	softwareSwitchRights = "0000000000a03000" // net_admin, net_raw, sys_admin, sys_nice
	netAdminAndNetRaw    = "0000000000003000"
	noCapability         = "0000000000000000"
)

// TestImageLivesThroughItsLife takes the image through its life, in a Docker of its own and a network
// namespace without a way out. `make image-test` runs it.
func TestImageLivesThroughItsLife(t *testing.T) {
	archive := os.Getenv("SLUICE_IMAGE_TAR")
	switch {
	case archive == "":
		t.Skip("SLUICE_IMAGE_TAR does not name an image: make image-test")
	case os.Getuid() != 0:
		t.Skip("not root: Docker and network namespaces need it")
	}
	d := startDocker(t)
	d.run("load", "--quiet", "--input", archive)
	t.Logf("size: %s octets", d.run("image", "inspect", "docker-sluice", "--format", "{{.Size}}"))
	d.checkLabels()
	if out := d.run("run", "--rm", "--network", "none", "docker-sluice", "sluiced", "--version"); !strings.HasPrefix(out, "sluiced ") {
		t.Errorf("sluiced --version: %q", out)
	}

	// SONiC's base image has supervisord, which then runs the rest.
	supervisord := filepath.Join(t.TempDir(), "supervisord")
	if err := os.WriteFile(supervisord, []byte("#!/bin/sh\necho supervisord\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out := d.run("run", "--rm", "--network", "none", "-v", supervisord+":/usr/local/bin/supervisord:ro", "docker-sluice"); out != "supervisord" {
		t.Errorf("with supervisord in the base: %q", out)
	}

	redis, err := privateredis.Start(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	// The programs run as users of their own, whom SONiC's Redis lets in.
	if err := errors.Join(os.Chmod(filepath.Dir(redis.Config), 0o755), os.Chmod(redis.Socket, 0o666), os.Chmod(redis.Config, 0o644)); err != nil {
		t.Fatal(err)
	}
	databases, err := sonicdb.Load(redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	config, state := open(t, databases, "CONFIG_DB"), open(t, databases, "STATE_DB")

	// The choices of the operator, as they lie on the host.
	etc := t.TempDir()
	choices := "SLUICE_SAI_LIBRARY=/usr/lib/libsoftsai.so\nSLUICE_SAI_PROFILE=SLUICE_QUEUES=8\nSLUICE_DB_CONFIG=" + redis.Config + "\n"
	if err := os.Mkdir(filepath.Join(etc, "sluice"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(etc, "sluice/sluiced.env"), []byte(choices), 0o644); err != nil {
		t.Fatal(err)
	}

	// The network namespace, and with it what is programmed, outlives the container.
	d.run("run", "--detach", "--name", "host", "--network", "none", "docker-sluice", "sleep", "infinity")
	inHost := func(args ...string) string {
		return d.command("nsenter", append([]string{"--net", "--target", d.pid("host")}, args...)...)
	}
	inHost("ip", "link", "add", "Ethernet0", "type", "veth", "peer", "name", "peer0")
	inHost("ip", "link", "set", "Ethernet0", "up")
	port := rows.Row{Table: "PORT", Key: "Ethernet0", Fields: map[string]string{"lanes": "0", "admin_status": "up"}}
	if err := config.Write(t.Context(), sonicdb.Change{Row: port}); err != nil {
		t.Fatal(err)
	}
	beside := t.TempDir() // files of the commands on the host
	cli := func(line string) string { return d.cli(redis.Socket, beside, line) }
	cli("config sluice port set Ethernet0 --role edge")
	cli("config sluice flow-label set --admin-state enabled --manage-switch-hash true")

	tun := filepath.Join(t.TempDir(), "tun") // as udev has it: for all users
	if err := errors.Join(syscall.Mknod(tun, syscall.S_IFCHR|0o666, int(unix.Mkdev(10, 200))), os.Chmod(tun, 0o666)); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "--detach", "--name", "sluice", "--network", "container:host"}
	if realTimeGroups() {
		run = append(run, "--cpu-rt-runtime=300000")
	}
	for _, option := range pageOptions(t) {
		run = append(run, strings.Replace(option, "/dev/net/tun", tun+":/dev/net/tun", 1))
	}
	d.run(append(run, "-v", filepath.Dir(redis.Config)+":"+filepath.Dir(redis.Config), "-v", etc+":/etc/sonic:ro", "docker-sluice")...)
	first := waitState(t, d, state, "running", "")
	inside, err := strconv.Atoi(d.pid("sluice"))
	if err != nil {
		t.Fatal(err)
	}
	checkRights(t, "sluiced", pidBeside(inside, "sluiced"), softwareSwitchRights)
	checkRights(t, "sluice-gnmi", pidBeside(inside, "sluice-gnmi"), noCapability)
	d.run("exec", "sluice", "health.sh")
	// /proc/sys is sealed but for ECMP's hash. Opening for writing changes nothing.
	const try = "(: >>/proc/sys/net/ipv6/fib_multipath_hash_policy) && ! (: >>/proc/sys/kernel/core_pattern) 2>/dev/null && ! (: >>/proc/sys/net/ipv4/ip_forward) 2>/dev/null"
	d.run("exec", "sluice", "sh", "-c", try)
	for line, want := range map[string]string{
		"show sluice status":            "flow label  active (compute)",
		"show sluice capability":        "flow label  compute   active",
		"show sluice capability --json": `"hold_method": "exact"`,
		"show sluice flow-label":        "label skipped  0\nlabel written  0\n",
		"show sluice config":            "SLUICE_PORT        Ethernet0  role                edge     yes",
	} {
		out := cli(line) // the first counters come after the state
		for deadline := time.Now().Add(patience); !strings.Contains(out, want); out = cli(line) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %q is not in\n%s", line, want, out)
			}
		}
	}

	if log := d.run("logs", "sluice"); strings.Contains(log, "real-time") || strings.Contains(log, "net/tun") {
		t.Errorf("sluiced lacks rights:\n%s", log)
	}

	program := inHost("tc", "filter", "show", "dev", "Ethernet0", "ingress")
	if !strings.Contains(program, "softsai") {
		t.Fatalf("no program on Ethernet0: %q", program)
	}
	// A warm boot, as SONiC asks for it, kills the container. Since when it runs is said
	// in whole seconds.
	write := func(db *sonicdb.DB, table, key, field, value string) {
		r := rows.Row{Table: table, Key: key, Fields: map[string]string{field: value}}
		if err := db.Write(t.Context(), sonicdb.Change{Row: r}); err != nil {
			t.Fatal(err)
		}
	}
	write(state, "WARM_RESTART_ENABLE_TABLE", "system", "enable", "true")
	write(state, "WARM_RESTART_TABLE", "sluiced", "restore_count", "0")
	waitSecond(first["since"])
	d.run("kill", "sluice")
	if after := inHost("tc", "filter", "show", "dev", "Ethernet0", "ingress"); after != program {
		t.Errorf("after docker kill: %q, before: %q", after, program)
	}
	began := time.Now()
	d.run("start", "sluice")
	waitRow(t, d, state, "WARM_RESTART_TABLE", "state", "reconciled")
	took := time.Since(began)
	t.Logf("docker kill, docker start: reconciled after %v", took)
	if soak && took > promptly {
		t.Errorf("reconciled after %v, want at most %v", took, promptly)
	}
	second := waitState(t, d, state, "running", first["since"])
	if second["objects"] != first["objects"] {
		t.Errorf("%s objects, before the kill %s", second["objects"], first["objects"])
	}

	// Uninstalled: nothing is left but what SONiC has written.
	write(config, "FEATURE", "sluice", "state", "disabled")
	d.run("stop", "sluice")
	d.run("rm", "sluice")
	for name, db := range map[string]*sonicdb.DB{"STATE_DB": state, "COUNTERS_DB": open(t, databases, "COUNTERS_DB")} {
		left, err := db.Read(t.Context(), append(rows.Tables(name), "WARM_RESTART_TABLE")...)
		if err != nil || len(left) > 0 {
			t.Errorf("left in %s: %v, %v", name, left, err)
		}
	}
	if qdisc := inHost("tc", "qdisc", "show", "dev", "Ethernet0"); strings.Contains(qdisc, "clsact") {
		t.Errorf("left: %s", qdisc)
	}
	files, err := filepath.Glob(etc + "/*/*")
	if err != nil || len(files) != 1 {
		t.Errorf("files in /etc/sonic: %v, %v, want sluiced.env alone", files, err)
	}
}

func open(t *testing.T, databases *sonicdb.Databases, name string) *sonicdb.DB {
	t.Helper()
	db, err := sonicdb.Open(databases, name, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // a reader's
	return db
}

// waitState waits until SLUICE_STATE says state, and another time of start than not.
func waitState(t *testing.T, d *docker, db *sonicdb.DB, state, not string) map[string]string {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		all, err := db.Read(t.Context(), "SLUICE_STATE")
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 1 && all[0].Fields["state"] == state && all[0].Fields["since"] != not {
			return all[0].Fields
		}
		if time.Now().After(deadline) {
			t.Fatalf("not %s: %v\n%s", state, all, d.run("logs", "sluice"))
		}
	}
}

// waitRow waits until a field of the only row of a table has a value.
func waitRow(t *testing.T, d *docker, db *sonicdb.DB, table, field, value string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		all, err := db.Read(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		if len(all) == 1 && all[0].Fields[field] == value {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s is not %s: %v\n%s", field, value, all, d.run("logs", "sluice"))
		}
	}
}

// waitSecond waits until the second of an RFC 3339 time is over.
func waitSecond(stamp string) {
	for time.Now().UTC().Format(time.RFC3339) <= stamp {
		time.Sleep(poll)
	}
}

// realTimeGroups reports whether the kernel grants the time of real-time threads by control
// group (CONFIG_RT_GROUP_SCHED, version 1), where a container has none unless it asks for it.
func realTimeGroups() bool {
	_, err := os.Stat("/sys/fs/cgroup/cpu/cpu.rt_runtime_us")
	return err == nil
}

// docker is a Docker daemon of the test's own.
type docker struct {
	t    *testing.T
	host string
}

func startDocker(t *testing.T) *docker {
	t.Helper()
	for _, program := range []string{"dockerd", "docker"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v: apt-get install docker.io", err)
		}
	}
	dir, err := os.MkdirTemp("", "sluice-docker") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	d := &docker{t: t, host: "unix://" + dir + "/sock"}
	var log bytes.Buffer
	daemon := exec.Command("dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none",
		"--data-root", dir+"/data", "--exec-root", dir+"/exec", "--pidfile", dir+"/pid", "--host", d.host)
	if realTimeGroups() {
		daemon.Args = append(daemon.Args, "--cpu-rt-runtime=600000")
	}
	daemon.Stdout, daemon.Stderr = &log, &log
	if err := child.Start(daemon); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = daemon.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = daemon.Process.Signal(syscall.SIGTERM) // it stops its containers; fails if it has ended
		<-ended
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("leftover: %v", err)
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		if err := d.exec(t.Context(), "docker", "version").Run(); err == nil {
			return d
		}
		select {
		case <-ended:
			t.Fatalf("dockerd ended: %s", log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatal("dockerd does not answer")
		}
	}
}

func (d *docker) exec(ctx context.Context, name string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, name, args...)
	c.Env = append(os.Environ(), "DOCKER_HOST="+d.host)
	return c
}

// command runs a program and returns what it prints, without the last line end.
func (d *docker) command(name string, args ...string) string {
	d.t.Helper()
	c := d.exec(d.t.Context(), name, args...)
	out, err := c.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s: %v: %s", c, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

func (d *docker) run(args ...string) string {
	d.t.Helper()
	return d.command("docker", args...)
}

// cli runs a command of the switch on a Redis, as its own tests do. It must succeed.
func (d *docker) cli(redis, cache, line string) string {
	d.t.Helper()
	const script = "import sys; sys.path.insert(0, 'cli/tests'); from conftest import Switch; print(Switch(sys.argv[1], sys.argv[2]).run(sys.argv[3]))"
	c := d.exec(d.t.Context(), python, "-B", "-c", script, redis, cache, line)
	out, err := c.CombinedOutput()
	if err != nil {
		d.t.Fatalf("%s: %v: %s", line, err, out)
	}
	return string(out)
}

// pid is that of a container's first process.
func (d *docker) pid(container string) string {
	d.t.Helper()
	return d.run("inspect", container, "--format", "{{.State.Pid}}")
}

// checkLabels compares the image's labels with those of labels.sh.
func (d *docker) checkLabels() {
	d.t.Helper()
	out, err := exec.Command("./labels.sh").Output()
	if err != nil {
		d.t.Fatal(err)
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, want, _ := strings.Cut(label, "=")
		if got := d.run("image", "inspect", "docker-sluice", "--format", fmt.Sprintf("{{index .Config.Labels %q}}", key)); got != want {
			d.t.Errorf("label %s has %d octets, want the %d of the file", key, len(got), len(want))
		}
	}
}
