// SPDX-License-Identifier: Apache-2.0

package main

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

// guestMemory is that of a guest, MB.
const guestMemory = 330

// A guest is a virtual machine that runs commands. Its methods may be called from any goroutine;
// one command runs at a time.
type guest struct {
	name    string
	process *fabric.Process
	console net.Conn
	answers *bufio.Reader
	mu      sync.Mutex
	log     string // of its kernel
}

// boot starts a guest whose network device is the TAP of a node, with a MAC address. It does not
// wait for the guest, see [guest.await].
func boot(node *fabric.Node, name, tap, mac string, i image, folder string) (*guest, error) {
	g := &guest{name: name, log: filepath.Join(folder, name+".console")}
	socket := filepath.Join(folder, name+".socket")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	log, err := os.Create(filepath.Join(folder, name+".qemu"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	// Frames leave with their checksums filled in, and none is larger than the MTU: a switch
	// would see the same.
	const asWired = "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ufo=off,host_tso4=off,host_tso6=off,host_ufo=off,mrg_rxbuf=off"
	cmd := exec.Command("qemu-system-x86_64", "-machine", "q35", "-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", fmt.Sprint(guestMemory),
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-kernel", i.kernel, "-initrd", i.initramfs, "-append", "console=ttyS0 quiet panic=-1 mitigations=off random.trust_cpu=on tsc=reliable",
		"-serial", "file:"+g.log, "-serial", "unix:"+socket+",server=on,wait=off",
		// Unbounded (sndbuf): QEMU can miss that a device which was full has room again.
		"-netdev", "tap,id=net0,script=no,downscript=no,sndbuf=0,ifname="+tap,
		"-device", "virtio-net-pci,netdev=net0,romfile=,mac="+mac+","+asWired)
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

// await waits until the guest runs commands.
func (g *guest) await(timeout time.Duration) error {
	if err := g.console.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return err
	}
	for {
		line, err := g.answers.ReadString('\n')
		if err != nil {
			return fmt.Errorf("guest %s does not boot, see %s: %w", g.name, g.log, err)
		}
		if strings.TrimSpace(line) == "ready" {
			return nil
		}
	}
}

// run runs a shell command of one line and returns its output. A status other than 0 is an error.
func (g *guest) run(ctx context.Context, format string, args ...any) (string, error) {
	command := fmt.Sprintf(format, args...)
	g.mu.Lock()
	defer g.mu.Unlock()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(patience)
	}
	if err := g.console.SetDeadline(deadline); err != nil {
		return "", err
	}
	if _, err := io.WriteString(g.console, command+"\n"); err != nil {
		return "", fmt.Errorf("guest %s: %w", g.name, err)
	}
	line, err := g.answers.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("guest %s: %s: %w", g.name, command, err)
	}
	var status, octets int
	if _, err := fmt.Sscanf(line, "done %d %d", &status, &octets); err != nil {
		return "", fmt.Errorf("guest %s: %s: answer %q: %w", g.name, command, line, err)
	}
	out := make([]byte, octets)
	if _, err := io.ReadFull(g.answers, out); err != nil {
		return "", fmt.Errorf("guest %s: %s: %w", g.name, command, err)
	}
	if status != 0 {
		return string(out), fmt.Errorf("guest %s: %s: status %d: %s", g.name, command, status, lastLines(string(out), 40))
	}
	return string(out), nil
}

// lastLines returns at most n lines of a text.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(len(lines)-n, 0):], "\n")
}

// close ends the guest.
func (g *guest) close() {
	if g.console != nil {
		_ = g.console.Close() // it was for commands, which have ended
	}
	g.process.Kill()
}
