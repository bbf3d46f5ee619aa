// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cli/top"
)

func TestTopPlain(t *testing.T) {
	s := newFakeSluiced(t)
	s.keepsWriting(t)
	out, _ := good(t, "top", "--db-config", s.Config, "--interval", "1s", "--count", "2")
	if n := strings.Count(out, "flow label active (rewrite)"); n != 2 || strings.Contains(out, "\x1b") {
		t.Errorf("%d frames, want 2 without escape codes:\n%q", n, out)
	}
	if !strings.Contains(out, "\nand 44 more\n") { // of 64 flows, 20 are shown
		t.Error(out)
	}
	out, _ = good(t, "top", "--db-config", s.Config, "--once", "--top", "1", "--port", "Ethernet4")
	if strings.Contains(out, "Ethernet0 ") || !strings.Contains(out, "Ethernet4 ") || !strings.Contains(out, "none of the 64 flows names this port") {
		t.Error(out)
	}
}

func TestTopJSON(t *testing.T) {
	s := newFakeSluiced(t)
	s.keepsWriting(t)
	type frame struct {
		State string
		Flows []struct {
			QP uint32 `json:"dest_qp"`
		}
		Ports []struct {
			Name      string
			TxPackets *float64 `json:"tx_packets"`
		}
		CPU struct{ Copied *float64 }
	}
	// The writer of a busy machine may be late, and then a rate is not known; or it writes
	// between the readings of two tables, and then their rates differ.
	for deadline := time.Now().Add(topPatience); ; {
		out, _ := good(t, "top", "--db-config", s.Config, "--json", "--count", "2", "--top", "3", "--sort", "qp", "--interval", "1s")
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if len(lines) != 2 {
			t.Fatalf("%d lines, want 2", len(lines))
		}
		var v frame
		if err := json.Unmarshal([]byte(lines[1]), &v); err != nil {
			t.Fatal(err)
		}
		if v.State != "running" || len(v.Flows) != 3 || v.Flows[2].QP != 0x102 || v.Ports[1].Name != "Ethernet4" {
			t.Fatalf("%+v", v)
		}
		copied, sent := v.CPU.Copied, v.Ports[1].TxPackets
		if copied != nil && sent != nil && *copied > 0 && *sent == *copied {
			// 1000 each half a second or more, by the clock of the writer.
			if *copied > 2001 {
				t.Errorf("copied %v, sent %v, want up to 2000 a second of both: %s", *copied, *sent, lines[1])
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("no rates, or not the same: %s", lines[1])
		}
	}
}

func TestTopBadInput(t *testing.T) {
	s := newFakeSluiced(t)
	for _, tt := range []struct{ args, want string }{
		{"--interval 1ms", "from 100ms to 1h0m0s"},
		{"--count -1", "must be 0 or more"},
		{"--once --count 2", "--once is one frame"},
		{"--sort size", "rate, packets, bytes, qp, port"},
		{"--db-config /nonexistent", "no such file"},
		{"--db-config " + s.Config + " --namespace asic0", "database_global.json"},
	} {
		_, stderr, code := sluice(nil, append([]string{"top"}, strings.Fields(tt.args)...)...)
		if code != 1 || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("top %s: exit code %d: %s, want one line with %q", tt.args, code, stderr, tt.want)
		}
	}
	s.Kill()
	if _, stderr, code := sluice(nil, "top", "--once", "--interval", "100ms", "--db-config", s.Config); code != 1 || !strings.Contains(stderr, "COUNTERS_DB at "+s.Socket) {
		t.Errorf("Redis is down: exit code %d: %s", code, stderr)
	}
	out, _ := good(t, "top", "--count", "1", "--interval", "100ms", "--db-config", s.Config)
	if !strings.Contains(out, "unknown\n! the databases cannot be read since ") {
		t.Errorf("frames while Redis is down: %s", out)
	}
}

func TestTopOnATerminal(t *testing.T) {
	s := newFakeSluiced(t)
	s.keepsWriting(t)
	p := newPTY(t, 80, 24)
	was := p.mode(t)
	cmd := p.start(t, nil, "top", "--db-config", s.Config, "--interval", "200ms")

	frame := p.shows(t, "\x1b[32mrunning\x1b[0m", "max ÷ mean 4.00", "0x000100", "s sort: rate")
	if n := strings.Count(frame, "\n") + 1; n != 24 {
		t.Errorf("the frame has %d lines, want 24:\n%s", n, frame)
	}
	if during := p.mode(t); during.Lflag&(unix.ICANON|unix.ECHO) != 0 {
		t.Error("keys are echoed, or wait for a line")
	}
	p.press(t, "s")
	p.shows(t, "s sort: packets", "PKT/S*")
	p.press(t, "ss")
	p.shows(t, "s sort: qp", "DEST-QP*")
	p.resize(t, 120, 50)
	if frame = p.shows(t, "BYTES"); strings.Count(frame, "\n")+1 != 50 {
		t.Errorf("after SIGWINCH:\n%s", frame)
	}
	p.press(t, "/0x00010a\r")
	if frame = p.shows(t, "/0x00010a  q quit"); strings.Contains(frame, "0x000100") || !strings.Contains(frame, "0x00010a ") {
		t.Errorf("a search:\n%s", frame)
	}
	p.press(t, "/\x15\r")
	p.shows(t, "0x000100")
	p.press(t, "\x1b[B")
	p.shows(t, "1 above")
	p.press(t, "g")
	p.shows(t, "0x000100")
	p.press(t, "?")
	p.shows(t, "Any key goes back")
	p.press(t, "x")
	p.shows(t, "SOURCE")
	p.press(t, "p")
	p.shows(t, "PAUSED")
	p.press(t, "p")
	p.shows(t, "p pause")

	if err := s.Save(); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	p.shows(t, "! the databases cannot be read since ", "0x000100")
	if err := s.Restart(false); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(topPatience); strings.Contains(p.shows(t, "0x000100"), "cannot be read"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come back by itself")
		}
	}
	p.press(t, "q")
	p.left(t, cmd, was)
}

func TestTopGivesTheTerminalBack(t *testing.T) {
	s := newFakeSluiced(t)
	s.writes(t, "now.json")
	for name, end := range map[string]func(p *pty, pid int) error{
		"Ctrl-C":  func(p *pty, _ int) error { _, err := p.master.WriteString("\x03"); return err },
		"SIGTERM": func(_ *pty, pid int) error { return unix.Kill(pid, unix.SIGTERM) },
		"SIGHUP":  func(_ *pty, pid int) error { return unix.Kill(pid, unix.SIGHUP) },
		"SIGQUIT": func(_ *pty, pid int) error { return unix.Kill(pid, unix.SIGQUIT) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPTY(t, 80, 24)
			was := p.mode(t)
			cmd := p.start(t, []string{"NO_COLOR=1", "LC_ALL=C"}, "top", "--db-config", s.Config)
			if frame := p.shows(t, "  running  ", "max / mean"); strings.Contains(frame, "\x1b[3") {
				t.Errorf("NO_COLOR is set: %q", frame)
			}
			if err := end(p, cmd.Process.Pid); err != nil {
				t.Fatal(err)
			}
			p.left(t, cmd, was)
		})
	}
	t.Run("count", func(t *testing.T) {
		p := newPTY(t, 80, 24)
		was := p.mode(t)
		p.left(t, p.start(t, nil, "top", "--db-config", s.Config, "--count", "2", "--interval", "100ms"), was)
	})
	t.Run("panic", func(t *testing.T) {
		p := newPTY(t, 80, 24)
		was := p.mode(t)
		var said any
		func() {
			defer func() { said = recover() }()
			w := &watcher{interval: time.Second, order: top.ByRate} // no databases
			_ = w.live(t.Context(), p.slave, p.slave)
		}()
		if said == nil {
			t.Error("there was no panic")
		}
		p.gaveBack(t, was)
	})
}
