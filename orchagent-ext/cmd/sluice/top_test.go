package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cmd/sluice/internal/top"
	"sluice/orchagent-ext/sonicdb"
	"sluice/orchagent-ext/sonicdb/redistest"
	"sluice/yang/rows"
)

// asTool makes the test binary the tool, for tests that need a process.
const asTool = "SLUICE_TEST_AS_TOOL"

func TestMain(m *testing.M) {
	if os.Getenv(asTool) != "" {
		main()
	}
	os.Exit(m.Run())
}

const topPatience = 60 * time.Second

// fakeSluiced is a Redis with the rows that a real sluiced wrote.
type fakeSluiced struct {
	*redistest.Server
	config, state, counters *sonicdb.DB
}

func newFakeSluiced(t *testing.T) *fakeSluiced {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &fakeSluiced{}
	s.Server, err = redistest.Start(dir)
	if errors.Is(err, redistest.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	all, err := sonicdb.Load(s.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &s.config, "STATE_DB": &s.state, "COUNTERS_DB": &s.counters} {
		if *db, err = sonicdb.Open(all, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*db).Close() })
	}
	return s
}

// writes writes the recorded rows, the counters read just now.
func (s *fakeSluiced) writes(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("internal/top/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []rows.Row
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	changes := map[*sonicdb.DB][]sonicdb.Change{}
	for _, r := range all {
		if r.Table == "SLUICE_STATS" {
			r.Fields["time"] = time.Now().UTC().Format(time.RFC3339Nano)
		}
		for database, db := range map[string]*sonicdb.DB{"CONFIG_DB": s.config, "STATE_DB": s.state, "COUNTERS_DB": s.counters} {
			for _, table := range rows.Tables(database) {
				if table == r.Table {
					changes[db] = append(changes[db], sonicdb.Change{Row: r})
				}
			}
		}
	}
	for db, c := range changes {
		if err := db.Write(t.Context(), c...); err != nil {
			t.Fatal(err)
		}
	}
}

// keepsWriting writes counters that go up, twice a second, until the test ends.
func (s *fakeSluiced) keepsWriting(t *testing.T) {
	t.Helper()
	s.writes(t, "before.json")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		for n := 1; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-time.After(500 * time.Millisecond):
			}
			// Fails while a test has Redis down.
			_ = s.counters.Write(ctx,
				sonicdb.Change{Row: rows.Row{Table: "SLUICE_STATS", Key: "global", Fields: map[string]string{
					"time": time.Now().UTC().Format(time.RFC3339Nano), "cpu_copied": fmt.Sprint(1000 * n)}}},
				sonicdb.Change{Row: rows.Row{Table: "SLUICE_PORT_STATS", Key: "Ethernet4", Fields: map[string]string{
					"tx_bytes": fmt.Sprint(1e6 * n), "tx_packets": fmt.Sprint(1000 * n), "rx_bytes": "0", "rx_packets": "0"}}})
		}
	}()
}

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
	out, _ := good(t, "top", "--db-config", s.Config, "--json", "--count", "2", "--top", "3", "--sort", "qp", "--interval", "1s")
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines, want 2", len(lines))
	}
	var v struct {
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
	if err := json.Unmarshal([]byte(lines[1]), &v); err != nil {
		t.Fatal(err)
	}
	if v.State != "running" || len(v.Flows) != 3 || v.Flows[2].QP != 0x102 {
		t.Errorf("%+v", v)
	}
	// 1000 each half a second, by the clock of the writer: a busy machine makes it
	// slower, and nothing faster.
	for _, rate := range []*float64{v.CPU.Copied, v.Ports[1].TxPackets} {
		if rate == nil || *rate <= 0 || *rate > 2500 {
			t.Errorf("rate %v, want up to 2000 a second: %s", rate, lines[1])
		}
	}
}

func TestTopBadInput(t *testing.T) {
	s := newFakeSluiced(t)
	for _, tt := range []struct{ args, want string }{
		{"--interval 1ms", "from 100ms to 1h0m0s"},
		{"--count -1", "must be 0 or more"},
		{"--once --count 2", "--once is one frame"},
		{"--sort size", "rate, packets, bytes, qp"},
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

// pty is a pseudo terminal, and what was written to it.
type pty struct {
	master, slave *os.File

	mu      sync.Mutex
	written bytes.Buffer
}

func newPTY(t *testing.T, width, height uint16) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminal: %v", err)
	}
	p := &pty{master: master}
	t.Cleanup(func() { _ = master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		p.slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.slave.Close() })
	p.resize(t, width, height)
	go func() {
		b := make([]byte, 1<<16)
		for {
			n, err := master.Read(b)
			p.mu.Lock()
			p.written.Write(b[:n])
			p.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return p
}

func (p *pty) resize(t *testing.T, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

func (p *pty) mode(t *testing.T) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func (p *pty) press(t *testing.T, keys string) {
	t.Helper()
	if _, err := p.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func (p *pty) all() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.written.String()
}

// frame is the last frame that is whole.
func (p *pty) frame() string {
	all := p.all()
	all = all[:max(0, strings.LastIndex(all, "\x1b[J"))]
	all = all[max(0, strings.LastIndex(all, "\x1b[H")):]
	all = strings.TrimPrefix(all, "\x1b[H")
	return strings.ReplaceAll(strings.ReplaceAll(all, "\x1b[K", ""), "\r\n", "\n")
}

// shows waits for a frame that has all of these.
func (p *pty) shows(t *testing.T, what ...string) string {
	t.Helper()
	for deadline := time.Now().Add(topPatience); ; time.Sleep(10 * time.Millisecond) {
		frame, missing := p.frame(), ""
		for _, w := range what {
			if !strings.Contains(frame, w) {
				missing = w
			}
		}
		if missing == "" && frame != "" {
			return frame
		}
		if time.Now().After(deadline) {
			t.Fatalf("the frame does not show %q:\n%s\nall that was written: %q", missing, frame, p.all())
		}
	}
}

// start starts the tool on the terminal.
func (p *pty) start(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(append(os.Environ(), asTool+"=1", "TERM=xterm", "LC_ALL=C.UTF-8", "NO_COLOR="), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// left says whether the tool ended well and the terminal is as it was.
func (p *pty) left(t *testing.T, cmd *exec.Cmd, was unix.Termios) {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(topPatience):
		t.Fatal("it does not end")
	}
	p.gaveBack(t, was)
}

func (p *pty) gaveBack(t *testing.T, was unix.Termios) {
	t.Helper()
	if diff := cmp.Diff(was, p.mode(t)); diff != "" {
		t.Errorf("the terminal is not as it was (-before +after):\n%s", diff)
	}
	const leave = "\x1b[?25h\x1b[?1049l"
	for deadline := time.Now().Add(topPatience); !strings.Contains(p.all(), leave); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it does not leave the alternate screen: %q", p.all())
		}
	}
}

func TestTopOnATerminal(t *testing.T) {
	s := newFakeSluiced(t)
	s.keepsWriting(t)
	p := newPTY(t, 80, 24)
	was := p.mode(t)
	cmd := p.start(t, nil, "top", "--db-config", s.Config, "--interval", "200ms")

	frame := p.shows(t, "\x1b[32mrunning\x1b[0m", "worst ÷ mean 4.00", "0x000100", "s sort: rate")
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
			if frame := p.shows(t, "  running  ", "worst / mean"); strings.Contains(frame, "\x1b[3") {
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
