// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

// A state describes a running lab for `lab down` and `lab exec`.
type state struct {
	Pid   int              `json:"pid"`
	Nodes map[string]place `json:"nodes"`
}

// A place is a node as a namespace.
type place struct {
	Namespace   string   `json:"namespace"` // as `ip netns` knows it
	Environment []string `json:"environment"`
}

// stateFile returns the path of the state in a folder.
func stateFile(folder string) string { return filepath.Join(folder, "lab.json") }

// running are the names of the nodes that are namespaces, and management.
func (l *lab) running() []string {
	return slices.Sorted(maps.Keys(l.state().Nodes))
}

// state returns the lab's process, namespaces and environments, for the other commands.
func (l *lab) state() state {
	s := state{os.Getpid(), map[string]place{"management": {Namespace: l.management.Namespace}}}
	for name, n := range l.nodes {
		s.Nodes[name] = place{n.Namespace, l.environment(name, l.Topology.Nodes[name])}
	}
	return s
}

// write saves the state in a folder, and the inventory of the leaves for --target.
func (l *lab) write(folder string) error {
	text, err := json.MarshalIndent(l.state(), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, inventory), l.inventory(), 0o644); err != nil {
		return err
	}
	return os.WriteFile(stateFile(folder), text, 0o644)
}

// inventory is the file of a lab's folder that names its leaves for --target. Sockets are reached
// from outside of the namespaces, too.
const inventory = "targets"

// inventory returns lines of a leaf and the socket of its sluice-gnmi.
func (l *lab) inventory() (lines []byte) {
	for _, name := range l.names() {
		if l.processes[name+" sluice-gnmi"] != nil {
			lines = fmt.Appendf(lines, "%s unix:%s\n", name, l.socket(name))
		}
	}
	return lines
}

// socket is that of a leaf's sluice-gnmi.
func (l *lab) socket(name string) string { return filepath.Join(l.work, name, "gnmi.sock") }

// journal is the file of a node's folder in which sluice keeps changes of its configuration.
const journal = "config-journal.json"

// forget removes the state from a folder, its inventory, and the journals of its nodes: the next lab begins
// without changes. Logs stay.
func forget(folder string) error {
	journals, _ := filepath.Glob(filepath.Join(folder, "*", journal)) // the pattern is right
	for _, file := range journals {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return errors.Join(os.Remove(filepath.Join(folder, inventory)), os.Remove(stateFile(folder)))
}

// errNoLab is of a folder that knows no lab.
var errNoLab = errors.New("no lab is running: make lab")

// read returns the lab that a folder knows of.
func read(folder string) (s state, err error) {
	text, err := os.ReadFile(stateFile(folder))
	if errors.Is(err, os.ErrNotExist) {
		return s, errNoLab
	}
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}

// alive reports whether the process is there, and is one that holds a lab.
func (s state) alive() bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", s.Pid))
	return err == nil && strings.Contains(string(line), "\x00serve\x00")
}

// down ends the lab, and waits until it is gone. Without a lab there is nothing to do.
func down(folder string) error {
	s, err := read(folder)
	if errors.Is(err, errNoLab) {
		fmt.Println("no lab is running")
		return nil
	}
	if err != nil {
		return err
	}
	if !s.alive() {
		// The kernel ended the programs with it; its namespaces go with the next fabric.
		return forget(folder)
	}
	if err := unix.Kill(s.Pid, unix.SIGTERM); err != nil {
		return fmt.Errorf("end process %d: %w", s.Pid, err)
	}
	for deadline := time.Now().Add(startPatience); s.alive(); time.Sleep(startPoll) {
		if time.Now().After(deadline) {
			return fmt.Errorf("process %d is still there %v after SIGTERM", s.Pid, startPatience)
		}
	}
	return nil
}

// inNode runs a command in a node in place of this program.
func inNode(folder, name string, words []string) error {
	s, err := read(folder)
	if err != nil {
		return err
	}
	at, ok := s.Nodes[name]
	if !ok {
		return fmt.Errorf("node %q: the lab has %s", name, strings.Join(slices.Sorted(maps.Keys(s.Nodes)), ", "))
	}
	ip, err := exec.LookPath("ip")
	if err != nil {
		return err
	}
	runtime.LockOSThread() // the program that follows takes this thread's host name
	if err := fabric.Rename(name); err != nil {
		return err
	}
	return syscall.Exec(ip, append([]string{"ip", "netns", "exec", at.Namespace}, words...), append(os.Environ(), at.Environment...))
}
