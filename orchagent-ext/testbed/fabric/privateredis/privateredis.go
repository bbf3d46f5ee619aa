// SPDX-License-Identifier: Apache-2.0

// Package privateredis runs a private Redis as SONiC has it: on a unix socket,
// with events for keys, and a database_config.json beside it. It ends with the
// process that started it. It is for tests and the demo.
package privateredis

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sluice/orchagent-ext/testbed/fabric/child"
)

const (
	startTimeout = time.Minute // of a machine that has much else to do
	pollInterval = 5 * time.Millisecond
)

// ErrNotInstalled is the error where the machine lacks redis-server.
var ErrNotInstalled = errors.New("redis-server is not installed: make deps")

// Server is a running Redis. Its methods are for one goroutine.
type Server struct {
	Config string // path of database_config.json
	Socket string // path of the unix socket

	dir     string
	options []string
	process *exec.Cmd
	exited  chan struct{}
}

// Start starts a Redis that keeps everything in dir, and waits until it answers.
// Options are as in redis.conf, by turns name and value with "--" before the
// name, and come after the defaults. Call Stop in the end.
func Start(dir string, options ...string) (*Server, error) {
	s := &Server{
		Config:  filepath.Join(dir, "database_config.json"),
		Socket:  filepath.Join(dir, "redis.sock"),
		dir:     dir,
		options: options,
	}
	if err := s.writeConfig(); err != nil {
		return nil, err
	}
	if err := s.start(); err != nil {
		return nil, err
	}
	return s, nil
}

// Pid returns the process id.
func (s *Server) Pid() int { return s.process.Process.Pid }

// Kill ends Redis as kill -9 does, and waits until it is gone.
func (s *Server) Kill() {
	_ = s.process.Process.Kill() // fails if it is gone already
	<-s.exited
}

// Restart kills Redis and starts it again, empty or with the data it had, which
// is saved before if it still runs.
func (s *Server) Restart(empty bool) error {
	dump := filepath.Join(s.dir, "dump.rdb")
	select {
	case <-s.exited:
	default:
		if !empty {
			if err := s.Save(); err != nil {
				return err
			}
		}
		s.Kill()
	}
	if empty {
		if err := os.Remove(dump); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return s.start()
}

// Save makes Redis write its rows to disk.
func (s *Server) Save() error {
	answer, err := s.ask("SAVE")
	if err == nil && answer != "+OK" {
		err = errors.New(answer)
	}
	if err != nil {
		return fmt.Errorf("save Redis: %w", err)
	}
	return nil
}

// Stop kills Redis. Its files stay in dir.
func (s *Server) Stop() { s.Kill() }

// start starts redis-server and waits until it answers.
func (s *Server) start() error {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return ErrNotInstalled
	}
	log, err := os.Create(filepath.Join(s.dir, "redis.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.process = exec.Command(path, append([]string{
		"--port", "0", "--unixsocket", s.Socket, "--dir", s.dir, "--daemonize", "no",
		"--save", "", "--appendonly", "no", "--notify-keyspace-events", "KEA",
	}, s.options...)...)
	s.process.Stdout, s.process.Stderr = log, log
	if err := child.Start(s.process); err != nil {
		return fmt.Errorf("start Redis: %w", err)
	}
	s.exited = make(chan struct{})
	go func() {
		_ = s.process.Wait() // how it ended is in the log
		close(s.exited)
	}()
	for deadline := time.Now().Add(startTimeout); ; {
		if answer, err := s.ask("PING"); err == nil && answer == "+PONG" {
			return nil
		}
		select {
		case <-s.exited:
			said, _ := os.ReadFile(log.Name())
			return fmt.Errorf("start Redis: it ended at once: %s", said)
		case <-time.After(pollInterval):
		}
		if time.Now().After(deadline) {
			s.Kill()
			return fmt.Errorf("start Redis: no answer at %s within %v", s.Socket, startTimeout)
		}
	}
}

// ask sends a command of one word and returns the first line of the answer.
func (s *Server) ask(command string) (string, error) {
	conn, err := net.Dial("unix", s.Socket)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	answer := make([]byte, 512)
	n, err := conn.Read(answer)
	line, _, _ := strings.Cut(string(answer[:n]), "\r\n")
	return line, err
}

// writeConfig writes the database_config.json of a SONiC switch of one ASIC.
func (s *Server) writeConfig() error {
	type database struct {
		ID        int    `json:"id"`
		Separator string `json:"separator"`
		Instance  string `json:"instance"`
	}
	databases := make(map[string]database)
	for name, at := range map[string]database{
		"APPL_DB": {ID: 0, Separator: ":"}, "ASIC_DB": {ID: 1, Separator: ":"}, "COUNTERS_DB": {ID: 2, Separator: ":"},
		"CONFIG_DB": {ID: 4, Separator: "|"}, "FLEX_COUNTER_DB": {ID: 5, Separator: ":"}, "STATE_DB": {ID: 6, Separator: "|"},
	} {
		at.Instance = "redis"
		databases[name] = at
	}
	content, err := json.MarshalIndent(map[string]any{
		"INSTANCES": map[string]any{"redis": map[string]any{"hostname": "127.0.0.1", "port": 6379, "unix_socket_path": s.Socket}},
		"DATABASES": databases,
		"VERSION":   "1.0",
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.Config, content, 0o644)
}
