// SPDX-License-Identifier: Apache-2.0

package guest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

const (
	patience = 2 * time.Minute // for something that takes milliseconds on an idle machine
	poll     = 20 * time.Millisecond
)

// A Guest is a virtual machine that runs commands. Its methods may be called from any goroutine;
// one command runs at a time.
type Guest struct {
	Name    string
	process *fabric.Process
	console net.Conn
	answers *bufio.Reader
	mu      sync.Mutex
	lost    bool   // a command was answered in part: the next lines may belong to it
	log     string // of its kernel
}

// A Machine is the image, memory and devices of a guest.
type Machine struct {
	Image  Image
	Memory int      // MB
	CPUs   int      // 0: one
	Folder string   // of its socket and logs
	Extra  []string // further options of QEMU, such as those of devices
}

// Boot starts a guest in the namespace of a node. It does not wait for the guest, see
// [Guest.Await]. Closing the node's fabric ends it.
func Boot(node *fabric.Node, name string, m Machine) (*Guest, error) {
	g := &Guest{Name: name, log: filepath.Join(m.Folder, name+".console")}
	socket := filepath.Join(m.Folder, name+".socket")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	log, err := os.Create(filepath.Join(m.Folder, name+".qemu"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command("qemu-system-x86_64", append([]string{"-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", fmt.Sprint(max(m.CPUs, 1)), "-m", fmt.Sprint(m.Memory),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", m.Image.Kernel, "-initrd", m.Image.Initramfs, "-append", "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on tsc=reliable",
		"-serial", "file:" + g.log,
		// Not a second serial port, which loses characters on a busy machine.
		"-device", "virtio-serial-pci", "-chardev", "socket,id=commands,server=on,wait=off,path=" + socket, "-device", "virtserialport,chardev=commands"}, m.Extra...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if g.process, err = node.Start(cmd); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		if g.console, err = net.Dial("unix", socket); err == nil {
			g.answers = bufio.NewReader(g.console)
			return g, nil
		}
		select {
		case <-g.process.Done():
			return nil, fmt.Errorf("QEMU ended, see %s: %w", log.Name(), g.process.Wait())
		default:
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
}

// Await waits until the guest runs commands.
func (g *Guest) Await(timeout time.Duration) error {
	if err := g.console.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	for {
		line, err := g.answers.ReadString('\n')
		if err != nil {
			return fmt.Errorf("guest %s does not boot, see %s: %w", g.Name, g.log, err)
		}
		if strings.TrimSpace(line) == "ready" {
			return nil
		}
	}
}

// Run runs a shell command of one line and returns its output. A status other than 0 is an error.
func (g *Guest) Run(ctx context.Context, format string, args ...any) (string, error) {
	command := fmt.Sprintf(format, args...)
	g.mu.Lock()
	defer g.mu.Unlock()
	status, out, err := g.exchange(ctx, command)
	if err != nil {
		g.lost = true
		return out, fmt.Errorf("guest %s: %s: %w", g.Name, command, err)
	}
	if status != 0 {
		return out, fmt.Errorf("guest %s: %s: status %d: %s", g.Name, command, status, lastLines(out, 40))
	}
	return out, nil
}

// exchange hands a command to the guest, and waits for its status and output.
func (g *Guest) exchange(ctx context.Context, command string) (status int, out string, err error) {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(patience)
	}
	if err := g.console.SetDeadline(deadline); err != nil {
		return 0, "", err
	}
	defer context.AfterFunc(ctx, func() { _ = g.console.SetDeadline(time.Now()) })()
	if _, err := io.WriteString(g.console, command+"\n"); err != nil {
		return 0, "", err
	}
	line, err := g.answers.ReadString('\n')
	if err != nil {
		return 0, "", err
	}
	var octets int
	if _, err := fmt.Sscanf(line, "done %d %d", &status, &octets); err != nil {
		return 0, "", fmt.Errorf("answer %q: %w", line, err)
	}
	text := make([]byte, octets)
	_, err = io.ReadFull(g.answers, text)
	return status, string(text), err
}

// Lost reports whether the guest has ended, or failed to answer a command: it runs no more.
func (g *Guest) Lost() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.lost
}

// lastLines returns at most n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// Close ends the guest.
func (g *Guest) Close() {
	if g.console != nil {
		_ = g.console.Close() // it was for commands, which have ended
	}
	g.process.Kill()
}
