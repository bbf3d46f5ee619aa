// SPDX-License-Identifier: Apache-2.0

package container

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/tests/fabrictest"
)

// box is the container without Docker: start.sh is the first process of its PID and
// mount namespaces, with folders /run, /var/lib and /etc/sonic of its own, in the
// network namespace of a node, which outlives it. Programs are those of bin/.
type box struct {
	t       *testing.T
	node    *fabric.Node
	redis   *privateredis.Server
	dir     string
	env     []string
	process *fabric.Process
	first   int // first process, as this machine numbers it
	log     *journal

	config, state, counters *sonicdb.DB
}

// journal keeps what the box writes.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// newBox makes a box with a Redis, and a switch of one port, Ethernet0, that is to
// be labelled. namespace is the NAMESPACE_ID.
func newBox(t *testing.T, f *fabric.Fabric, name, namespace string) *box {
	t.Helper()
	for _, file := range []string{"sluiced", "sluice-gnmi", "sluice", "libsoftsai.so"} {
		if _, err := os.Stat("../bin/" + file); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
	}
	bin, err := filepath.Abs("../bin")
	if err != nil {
		t.Fatal(err)
	}
	node, err := f.Node(name)
	fabrictest.Check(t, err)
	peer, err := f.Node(name + "p")
	fabrictest.Check(t, err)
	if _, _, err := f.Link(node, "Ethernet0", peer, "eth0"); err != nil {
		t.Fatal(err)
	}
	b := &box{t: t, node: node, dir: t.TempDir(), log: &journal{}}
	b.env = []string{"PATH=" + bin + ":" + filepath.Dir(b.script("start.sh")) + ":" + os.Getenv("PATH") + ":/usr/sbin:/sbin", "NAMESPACE_ID=" + namespace}
	// The databases are where SONiC has them, seen from inside.
	sonicDB := filepath.Join(b.dir, "run/redis"+namespace+"/sonic-db")
	for _, dir := range []string{sonicDB, filepath.Join(b.dir, "lib"), filepath.Join(b.dir, "redis"), filepath.Join(b.dir, choices)} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.choose("", "SLUICE_SAI_LIBRARY="+filepath.Join(bin, "libsoftsai.so"))
	if b.redis, err = privateredis.Start(filepath.Join(b.dir, "redis")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.redis.Stop)
	// The programs run as users of their own, whom SONiC's Redis lets in.
	if err := errors.Join(os.Chmod(filepath.Dir(b.dir), 0o755), os.Chmod(b.dir, 0o755), os.Chmod(b.redis.Socket, 0o666), os.Chmod(b.redis.Config, 0o644)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(b.redis.Config, filepath.Join(sonicDB, "database_config.json")); err != nil {
		t.Fatal(err)
	}
	databases, err := sonicdb.Load(b.redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	b.config, b.state, b.counters = open(t, databases, "CONFIG_DB"), open(t, databases, "STATE_DB"), open(t, databases, "COUNTERS_DB")
	b.set("PORT", "Ethernet0", "lanes", "0", "admin_status", "up")
	b.set("SLUICE_PORT", "Ethernet0", "role", "edge")
	b.set("SLUICE_FLOW_LABEL", "global", "admin_state", "enabled", "manage_switch_hash", "true")
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s wrote:\n%s", name, b.log)
		}
	})
	return b
}

// choices is where the operator's choices are, below the box's folder.
const choices = "etc/sonic/sluice"

// choose writes the operator's choices: of all instances, or of an ASIC's.
func (b *box) choose(asic string, lines ...string) {
	b.t.Helper()
	writeFile(b.t, filepath.Join(b.dir, choices, "sluiced"+asic+".env"), strings.Join(lines, "\n")+"\n")
}

// start is docker start: start.sh with these arguments.
func (b *box) start(args ...string) {
	b.t.Helper()
	b.launch(args...)
	b.await("the first process", func() bool {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", b.process.Pid))
		b.first, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && b.first != 0
	})
}

func (b *box) launch(args ...string) {
	b.t.Helper()
	script, err := filepath.Abs("start.sh")
	if err != nil {
		b.t.Fatal(err)
	}
	const enter = `
		mount -n --bind "$1/run" /run
		mount -n --bind "$1/lib" /var/lib
		mount -n -t overlay -o "lowerdir=$1/etc:/etc" overlay /etc
		shift
		exec "$@"`
	cmd := exec.Command("unshare", append([]string{"--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-ec", enter, "sh", b.dir, script}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = b.env, b.log, b.log
	if b.process, err = b.node.Start(cmd); err != nil {
		b.t.Fatal(err)
	}
}

// run is docker run: start.sh with these arguments, to its end.
func (b *box) run(args ...string) error {
	b.t.Helper()
	b.launch(args...)
	return b.ended()
}

// stop is docker stop: SIGTERM to the first process.
func (b *box) stop() error {
	b.t.Helper()
	b.signal(unix.SIGTERM)
	return b.ended()
}

// kill is docker kill: SIGKILL to the first process, with which the others end.
func (b *box) kill() {
	b.t.Helper()
	b.signal(unix.SIGKILL)
	if err := b.ended(); err == nil {
		b.t.Fatal("killed, and ended well")
	}
}

func (b *box) signal(s unix.Signal) {
	b.t.Helper()
	if err := unix.Kill(b.first, s); err != nil {
		b.t.Fatal(err)
	}
}

// ended waits for the end, and returns how it ended.
func (b *box) ended() error {
	b.t.Helper()
	select {
	case <-b.process.Done():
		return b.process.Wait()
	case <-time.After(patience):
		b.t.Fatalf("the box did not end within %v", patience)
		return nil
	}
}

// exec is docker exec: a command inside, and what it prints.
func (b *box) exec(args ...string) (string, error) {
	cmd := exec.CommandContext(b.t.Context(), "nsenter", append([]string{"--target", strconv.Itoa(b.first), "--mount", "--net", "--pid"}, args...)...)
	cmd.Env = b.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// in runs a command in the network namespace, which is there without the box, too, and returns
// its standard output. What a command complains of may be of others: "ip link" names each
// namespace that another test is just making.
func (b *box) in(args ...string) string {
	b.t.Helper()
	var stderr strings.Builder
	cmd := exec.CommandContext(b.t.Context(), "ip", append([]string{"netns", "exec", b.node.Namespace}, args...)...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		b.t.Fatalf("%s: %v: %s%s", args, err, out, &stderr)
	}
	return string(out)
}

func (b *box) await(what string, ok func() bool) {
	b.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(poll) {
		if time.Now().After(deadline) {
			b.t.Fatalf("not within %v: %s", patience, what)
		}
		select {
		case <-b.process.Done():
			b.t.Fatalf("the box ended before %s: %v", what, b.process.Wait())
		default:
		}
	}
}

// script is the path of a script of the image.
func (b *box) script(name string) string {
	b.t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return path
}
