// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

// usage is printed with an error of the command line.
const usage = `lab up [TOPOLOGY] | lab down | lab exec NODE COMMAND
Run it in the root of the source, as root: make lab, make lab-down`

// Files, from the root of the source.
const (
	standard = "lab/sluice.clab.yml"
	programs = "bin"
	folder   = "build/lab/run"
)

// main exits with 1 after an error.
func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// command carries out the arguments. "serve" is for up, which starts it as the process
// that holds the lab.
func command(args []string) error {
	switch {
	case len(args) == 1 && args[0] == "up":
		return up(standard)
	case len(args) == 2 && args[0] == "up":
		return up(args[1])
	case len(args) == 2 && args[0] == "serve":
		return serve(args[1])
	case len(args) == 1 && args[0] == "down":
		return down(folder)
	case len(args) > 2 && args[0] == "exec":
		return inNode(folder, args[1], args[2:])
	}
	return errors.New(usage)
}

// up starts the process that holds the lab, and waits until the lab is there.
func up(topology string) error {
	if s, err := read(folder); err == nil && s.alive() {
		return fmt.Errorf("a lab is running, process %d: make lab-down ends it", s.Pid)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(folder, "lab.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "serve", topology)
	cmd.Stderr = log
	// it outlives the terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	// It closes its output when the lab is there, or it has failed.
	said, err := io.ReadAll(out)
	if err != nil {
		return err
	}
	if _, err := read(folder); err != nil {
		_ = cmd.Wait()
		text, _ := os.ReadFile(log.Name())
		return errors.New(strings.TrimPrefix(strings.TrimSpace(string(text)), "lab: "))
	}
	fmt.Print(string(said))
	return cmd.Process.Release()
}

// serve builds the lab and holds it until SIGTERM.
func serve(topology string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	t, err := load(topology)
	if err != nil {
		return err
	}
	f, err := fabric.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n, err := t.build(f)
	if err != nil {
		return err
	}
	l := &lab{network: n, processes: map[string]*fabric.Process{}}
	if l.bin, err = filepath.Abs(programs); err != nil {
		return err
	}
	if l.work, err = filepath.Abs(folder); err != nil {
		return err
	}
	left, err := l.start()
	if err != nil {
		return err
	}
	if err := l.write(folder); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, forget(folder)) }()
	fmt.Printf("the lab %s is running: %d nodes. build/lab/lab exec NODE COMMAND runs a command in one of\n%s\n", t.Name, len(l.nodes), strings.Join(l.running(), " "))
	fmt.Printf("only with containerlab: %s\n", strings.Join(left, " "))
	if err := os.Stdout.Close(); err != nil {
		return err
	}
	for name, p := range l.processes {
		go func() {
			<-p.Done()
			if ctx.Err() == nil {
				fmt.Fprintf(os.Stderr, "lab: %s ended: %v\n", name, p.Wait())
			}
		}()
	}
	<-ctx.Done()
	return nil
}
