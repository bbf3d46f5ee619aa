// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/testbed/fabric/child"
)

const patience = 3 * time.Minute // for what takes a second on an idle machine

// A box is a throwaway machine: this one's files under an overlay that is dropped,
// with processes and a network of its own.
type box struct {
	t    *testing.T
	pid  string // of its first process
	root string // of its files
}

// boxSetup makes the box in the namespaces that it is started in, and says its pid.
// What is mounted below / is not in it, but for the folder of the source; nor is the state of a Sluice of this
// machine.
const boxSetup = `
mount -t tmpfs tmpfs "$1"
mkdir -p "$1/upper/$2" "$1/work" "$1/root" "$1/upper2" "$1/work2"
mount -t overlay overlay -o lowerdir=/,upperdir="$1/upper",workdir="$1/work" "$1/root"
rm -rf "$1/root/var/lib/sluice" "$1/root/etc/sluice"
mount -t overlay overlay -o lowerdir="$2",upperdir="$1/upper2",workdir="$1/work2" "$1/root$2"
mount -t proc proc "$1/root/proc"
mount -t sysfs sysfs "$1/root/sys"
mount --rbind /dev "$1/root/dev"
mount -t tmpfs tmpfs "$1/root/run"
ip link set lo up
read -r pid rest </proc/self/stat
echo "$pid"
sleep infinity &
wait # and with it for the processes that others leave`

// newBox makes a box that has the folder of the source where it is here.
func newBox(t *testing.T, source string) *box {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root, for namespaces and an overlay")
	}
	dir := t.TempDir()
	cmd := exec.Command("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-euc", boxSetup, "sh", dir, source)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // and with it the first process, which takes all others along
		_ = cmd.Wait()
	})
	pid, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("the box cannot be made: %s", &complaint)
	}
	return &box{t, strings.TrimSpace(pid), filepath.Join(dir, "root")}
}

// command runs a script in the box, in a folder of it.
func (b *box) command(ctx context.Context, dir, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "nsenter", "--target", b.pid, "--mount", "--net", "--pid",
		"chroot", b.root, "sh", "-euc", "cd "+dir+"\n"+script)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"}
	cmd.WaitDelay = time.Second // what it left in the background may hold its output
	return cmd
}

// install puts a program into the box.
func (b *box) install(program string) {
	b.t.Helper()
	text, err := os.ReadFile(program)
	if err != nil {
		b.t.Fatal(err)
	}
	to := filepath.Join("/proc", b.pid, "root", b.root, "usr/local/bin", filepath.Base(program))
	if err := os.WriteFile(to, text, 0o755); err != nil {
		b.t.Fatal(err)
	}
}

// run runs a script that ends.
func (b *box) run(dir, script string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	if out, err := b.command(ctx, dir, script).CombinedOutput(); err != nil {
		b.t.Fatalf("%s\n%v\n%s%s", script, err, out, b.output())
	}
}

// shows runs a command of a page, and checks that it prints what that says. It
// returns what it printed, where that is to be written into the page.
func (b *box) shows(dir string, p *page, c command) []string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	out, err := b.command(ctx, dir, c.text).CombinedOutput()
	if err != nil {
		b.t.Errorf("%s:%d: $ %s: %v\n%s", p.name, c.line, c.text, err, out)
	}
	got := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	switch {
	case len(out) == 0 && len(c.output) == 0, matches(c.output, got):
		return c.output
	case *update:
		return got
	}
	b.t.Errorf("%s:%d: $ %s\nprints something else (- the page, + the command; go test ./tests/docs -update writes it):\n%s",
		p.name, c.line, c.text, cmp.Diff(strings.Join(c.output, "\n"), strings.Join(got, "\n")))
	return c.output
}

// printing is a script whose output /tmp/output keeps.
func printing(script string) string { return "{\n" + script + "\n} </dev/null >/tmp/output 2>&1" }

// start runs a script that need not end until a condition, a script itself, holds.
// The script goes on.
func (b *box) start(dir, script, until string) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	b.t.Cleanup(cancel)
	b.run("/", ": >/tmp/output") // else the condition may see what was printed before
	cmd := b.command(ctx, dir, printing(script))
	if err := cmd.Start(); err != nil {
		b.t.Fatal(err)
	}
	var failed error
	ended := make(chan struct{})
	go func() {
		failed = cmd.Wait()
		close(ended)
	}()
	b.t.Cleanup(func() {
		cancel()
		<-ended
	})
	for deadline := time.Now().Add(patience); b.command(ctx, "/", until).Run() != nil; time.Sleep(50 * time.Millisecond) {
		select {
		case <-ended:
			if b.command(ctx, "/", until).Run() == nil {
				return
			}
			b.t.Fatalf("%s\nended (%v) before %q held:\n%s", script, failed, until, b.output())
		default:
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("%s\n%q does not hold:\n%s", script, until, b.output())
		}
	}
}

// output is what a printing script has printed.
func (b *box) output() []byte {
	out, _ := b.command(b.t.Context(), "/", "cat /tmp/output").CombinedOutput() // what there is
	return out
}
