// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

// Times of a program's start, and addresses in each node's own network namespace.
const (
	startPatience  = 20 * time.Second // for a program to answer
	startPoll      = 5 * time.Millisecond
	redisAddress   = "127.0.0.1:6379"
	metricsAddress = "127.0.0.1:9475"
)

// A lab is the network with its programs.
type lab struct {
	*network
	bin, work string // folders: of the programs, and for what they write
	processes map[string]*fabric.Process
}

// start starts the programs of the nodes: Redis with its initial rows, and the programs
// that the image of Sluice starts by itself. It returns the nodes that are in containers
// alone.
func (l *lab) start() (left []string, err error) {
	var leaves []string
	for _, name := range l.names() {
		n := l.Topology.Nodes[name]
		other, shares := n.shares()
		switch {
		case shares && strings.HasPrefix(n.Cmd, "redis-server "):
			if err := l.redis(name, l.nodes[other], n); err != nil {
				return nil, fmt.Errorf("node %s: %w", name, err)
			}
		case n.runs() && n.Cmd == "":
			leaves = append(leaves, name)
		case !n.runs():
			left = append(left, name)
		}
	}
	for _, name := range leaves {
		if err := l.sluice(name, l.Topology.Nodes[name]); err != nil {
			return nil, fmt.Errorf("node %s: %w", name, err)
		}
	}
	return left, nil
}

// redis starts a Redis in the node whose network it has, and fills it.
func (l *lab) redis(name string, at *fabric.Node, n node) error {
	words := strings.Fields(n.Cmd)
	if err := l.run(name, name, at, words[0], words[1:], nil); err != nil {
		return err
	}
	if err := l.await(name, name, answers(at, "tcp", redisAddress)); err != nil {
		return err
	}
	return l.commands(at, n.Exec)
}

// sluice starts the daemons of a leaf, both as start.sh of the image does, or one of them.
func (l *lab) sluice(name string, n node, daemons ...string) error {
	folder := filepath.Join(l.work, name)
	socket := l.socket(name)
	env := append(l.environment(name, n), "SLUICE_STATE_FILE="+filepath.Join(folder, "sluiced.json"), "SLUICE_LOCK_FOLDER="+folder)
	args := map[string][]string{"sluice-gnmi": {"--socket", socket, "--state-file", filepath.Join(folder, "commit.json")}}
	ready := map[string]func() error{
		"sluiced":     answers(l.nodes[name], "tcp", metricsAddress),
		"sluice-gnmi": answers(l.nodes[name], "unix", socket),
	}
	if daemons == nil {
		daemons = []string{"sluiced", "sluice-gnmi"}
	}
	for _, daemon := range daemons {
		if err := l.run(name, daemon, l.nodes[name], filepath.Join(l.bin, daemon), args[daemon], env); err != nil {
			return err
		}
	}
	for _, daemon := range daemons {
		if err := l.await(name, daemon, ready[daemon]); err != nil {
			return err
		}
	}
	return nil
}

// answers reports whether a program in a node accepts a connection.
func answers(at *fabric.Node, network, address string) func() error {
	return func() error {
		return at.Do(func() error {
			conn, err := net.Dial(network, address)
			if err == nil {
				err = conn.Close()
			}
			return err
		})
	}
}

// await waits until a program of a node is ready. The error has its output.
func (l *lab) await(name, as string, ready func() error) error {
	p := l.processes[name+" "+as]
	wrote := func() string {
		text, _ := os.ReadFile(filepath.Join(l.work, name, as+".log"))
		return strings.TrimSpace(string(text))
	}
	for deadline := time.Now().Add(startPatience); ; {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s is not ready within %v: %w: it wrote: %s", as, startPatience, err, wrote())
		}
		select {
		case <-p.Done():
			return fmt.Errorf("%s ended (%v): %s", as, p.Wait(), wrote())
		case <-time.After(startPoll):
		}
	}
}

// environment is a node's, with the files of this machine in place of those of the image
// and of those that are bound into it. What sluice keeps of changes is the node's own.
func (l *lab) environment(name string, n node) (env []string) {
	env = []string{"SLUICE_CONFIG_JOURNAL=" + filepath.Join(l.work, name, journal)}
	for name, value := range n.Env {
		file, ok := l.file(n, value)
		if !ok && strings.HasPrefix(value, "/usr/lib/") {
			file = filepath.Join(l.bin, filepath.Base(value))
		}
		env = append(env, name+"="+file)
	}
	return env
}

// run starts a program in a node, in a folder of the node's own. Its output is in
// PROGRAM.log there.
func (l *lab) run(name, as string, at *fabric.Node, program string, args, env []string) error {
	folder := filepath.Join(l.work, name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(folder, as+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = folder, log, log
	cmd.Env = append(os.Environ(), env...)
	p, err := at.Start(cmd)
	if err != nil {
		return err
	}
	l.processes[name+" "+as] = p
	return nil
}
