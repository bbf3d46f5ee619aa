// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net"
	"os"
	"strings"
	"sync"
)

// A syslog keeps the logs of SONiC's programs, in memory and in a file.
type syslog struct {
	socket *net.UnixConn
	file   *os.File
	mu     sync.Mutex
	lines  []string
	done   chan struct{}
}

// listenSyslog receives the messages of a socket at a path, and appends it to a file.
func listenSyslog(path, file string) (*syslog, error) {
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o666); err != nil {
		return nil, err
	}
	out, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	s := &syslog{socket: socket, file: out, done: make(chan struct{})}
	go s.read()
	return s, nil
}

func (s *syslog) read() {
	defer close(s.done)
	b := make([]byte, 1<<16)
	for {
		n, err := s.socket.Read(b)
		if err != nil {
			return // closed
		}
		line := strings.TrimSpace(string(b[:n]))
		s.mu.Lock()
		s.lines = append(s.lines, line)
		s.mu.Unlock()
		_, _ = s.file.WriteString(line + "\n") // the copy for people
	}
}

// len is the number of lines so far.
func (s *syslog) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.lines)
}

// count is the number of lines from one on that have all of some texts.
func (s *syslog) count(from int, texts ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
next:
	for _, line := range s.lines[from:] {
		for _, t := range texts {
			if !strings.Contains(line, t) {
				continue next
			}
		}
		n++
	}
	return n
}

func (s *syslog) close() error {
	err := s.socket.Close()
	<-s.done
	return errors.Join(err, s.file.Close())
}
