// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/child"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/tests/programs"
	"sluice/yang/rows"
)

const patience = 3 * time.Minute // the machine may be busy

// daemon is the path of sluice-gnmi, which TestMain builds.
var daemon string

// soak reports whether there is time for the cases that take long: make soak.
var soak = os.Getenv("SLUICE_SOAK") != ""

// soakOnly leaves a test to make soak.
func soakOnly(t *testing.T) {
	t.Helper()
	if !soak {
		t.Skip("make soak runs it: it takes long, or loads the machine")
	}
}

func TestMain(m *testing.M) {
	os.Exit(func() int {
		flag.Parse()
		err := flag.Set("test.parallel", "3") // parallel tests wait most of their time
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		// The detector makes the hash of a password ten times slower, and finds nothing in it.
		if daemon, err = program("sluice-gnmi", raceFlag, "-gcflags=golang.org/x/crypto/blowfish=-race=false", "./gnmi-server/cmd/sluice-gnmi"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}())
}

// program builds a program, by the options and the package of go build, and returns its path.
func program(name string, args ...string) (string, error) {
	folder, err := programs.Build(args...)
	return filepath.Join(folder, name), err
}

// server is a running sluice-gnmi.
type server struct {
	t       testing.TB
	dir     string
	redis   *privateredis.Server
	process *exec.Cmd
	log     *logbook
	config  *sonicdb.DB
	state   *sonicdb.DB
	counter *sonicdb.DB
}

// logbook keeps what the server says.
type logbook struct {
	mu    sync.Mutex
	lines []string
}

func (l *logbook) add(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
}

func (l *logbook) find(pattern string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	re := regexp.MustCompile(pattern)
	for i := len(l.lines) - 1; i >= 0; i-- {
		if m := re.FindStringSubmatch(l.lines[i]); m != nil {
			return m
		}
	}
	return nil
}

func (l *logbook) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

// start starts Redis and the server, with flags behind the usual ones.
func start(t testing.TB, flags ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("", "gnmi") // t.TempDir can be too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	redis, err := privateredis.Start(dir)
	if errors.Is(err, privateredis.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(redis.Stop)
	s := &server{t: t, dir: dir, redis: redis}
	where, err := sonicdb.Load(redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &s.config, "STATE_DB": &s.state, "COUNTERS_DB": &s.counter} {
		if *db, err = sonicdb.Open(where, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*db).Close() })
	}
	s.run(flags...)
	return s
}

// run starts the program.
func (s *server) run(flags ...string) {
	s.t.Helper()
	s.process = exec.Command(daemon, append([]string{
		"--db-config", s.redis.Config, "--socket", s.socket(), "--state-file", filepath.Join(s.dir, "commit.json"), "--log-level", "debug",
	}, flags...)...)
	stderr, err := s.process.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := child.Start(s.process); err != nil {
		s.t.Fatal(err)
	}
	log := &logbook{}
	s.log = log
	read := make(chan struct{})
	go func() {
		defer close(read)
		lines := bufio.NewReader(stderr) // to its end, or the server could not end
		for {
			line, err := lines.ReadString('\n')
			log.add(strings.TrimSuffix(line, "\n"))
			if err != nil {
				return
			}
		}
	}()
	process := s.process
	var once sync.Once
	s.t.Cleanup(func() {
		once.Do(func() {
			_ = process.Process.Signal(syscall.SIGTERM) // it may be gone
			<-read
			if err := process.Wait(); err != nil && !strings.Contains(err.Error(), "killed") && !strings.Contains(err.Error(), "Wait was already called") {
				s.t.Errorf("sluice-gnmi ended with %v", err)
			}
			if s.t.Failed() || log.find("DATA RACE") != nil {
				s.t.Errorf("sluice-gnmi said:\n%s", log.text())
			}
		})
	})
	s.eventually("the server starts", func() bool { return log.find("sluice-gnmi starts") != nil })
}

// kill ends the program as kill -9 does.
func (s *server) kill() {
	_ = s.process.Process.Kill()
	_ = s.process.Wait()
}

func (s *server) socket() string { return filepath.Join(s.dir, "gnmi.sock") }

// client connects by the unix socket.
func (s *server) client() gpb.GNMIClient { return s.dial("unix:"+s.socket(), insecureOption) }

var insecureOption = grpc.WithTransportCredentials(insecure.NewCredentials())

func (s *server) dial(to string, options ...grpc.DialOption) gpb.GNMIClient {
	s.t.Helper()
	return gpb.NewGNMIClient(s.conn(to, options...))
}

func (s *server) conn(to string, options ...grpc.DialOption) *grpc.ClientConn {
	s.t.Helper()
	conn, err := grpc.NewClient(to, options...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *server) eventually(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: not within %v; the server said:\n%s", what, patience, s.log.text())
		}
	}
}

// write writes a row of a database: TABLE|key, then by turns fields and values.
func (s *server) write(db *sonicdb.DB, name string, fields ...string) {
	s.t.Helper()
	table, key, _ := strings.Cut(name, "|")
	r := rows.Row{Table: table, Key: key, Fields: map[string]string{}}
	for i := 0; i+1 < len(fields); i += 2 {
		r.Fields[fields[i]] = fields[i+1]
	}
	if err := db.Write(s.t.Context(), sonicdb.Change{Row: r}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *server) remove(db *sonicdb.DB, name string) {
	s.t.Helper()
	table, key, _ := strings.Cut(name, "|")
	if err := db.Write(s.t.Context(), sonicdb.Change{Row: rows.Row{Table: table, Key: key}, Deleted: true}); err != nil {
		s.t.Fatal(err)
	}
}

// rows returns the rows of tables of CONFIG_DB; none: of all that there can be.
func (s *server) rows(tables ...string) map[string]map[string]string {
	s.t.Helper()
	if tables == nil {
		tables = append(rows.Tables("CONFIG_DB"), "PORT")
	}
	all, err := s.config.Read(s.t.Context(), tables...)
	if err != nil {
		s.t.Fatal(err)
	}
	got := make(map[string]map[string]string)
	for _, r := range all {
		got[r.Name()] = r.Fields
	}
	return got
}

// limited returns a context for an RPC that must not take for ever.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}
