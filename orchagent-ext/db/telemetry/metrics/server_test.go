// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRedisAway: without Redis, or with one that hangs, a scrape is answered, says
// so, and has nothing of the rows; when it is back, so are they.
func TestRedisAway(t *testing.T) {
	for name, away := range map[string]func(*site) (back func()){
		"killed": func(s *site) func() {
			s.redis.Kill()
			return func() {
				if err := s.redis.Restart(false); err != nil {
					t.Fatal(err)
				}
				s.fill()
			}
		},
		"hangs": func(s *site) func() {
			pid := s.redis.Pid()
			if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
				t.Fatal(err)
			}
			return func() {
				if err := unix.Kill(pid, unix.SIGCONT); err != nil {
					t.Fatal(err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.fill()
			s.serve(Config{})
			s.await("sluice_redis_up 1")
			back := away(s)
			body := s.await("sluice_redis_up 0")
			if got := fromRows(body); strings.Count(got, "\n") != 6 { // two metrics
				t.Errorf("rows are there without Redis:\n%s", got)
			}
			if !strings.Contains(body, "\nprocess_resident_memory_bytes ") {
				t.Error("nothing of the process")
			}
			if code, state := s.get("/healthz"); code != http.StatusServiceUnavailable || !strings.Contains(state, "Redis does not answer") {
				t.Errorf("health: %d %s", code, state)
			}
			back()
			s.await(`sluice_state{state="degraded"} 1`)
		})
	}
}

// TestManyScrapers: scrapes at once all get the rows.
func TestManyScrapers(t *testing.T) {
	s := newSite(t)
	s.fill()
	s.serve(Config{Flows: 3})
	var wg sync.WaitGroup
	for range maxScrapes {
		wg.Go(func() {
			for range 5 {
				code, body, err := fetch(s.url + "/metrics")
				if err != nil || code != http.StatusOK || !strings.Contains(body, "sluice_label_written_total 1.8446744073709552e+19") {
					t.Errorf("%d %v: %s", code, err, body)
				}
			}
		})
	}
	wg.Wait()
}

// TestScrapesShareOneRead: Redis is asked once in fresh, however many scrapes there are.
func TestScrapesShareOneRead(t *testing.T) {
	s := newSite(t)
	source, err := newSource(s.dbs, tables(false))
	if err != nil {
		t.Fatal(err)
	}
	defer source.close()
	now := time.Now()
	source.now = func() time.Time { return now }
	written := func() string {
		all, err := source.read(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if r.Table == "SLUICE_STATS" {
				return r.Fields["label_written"]
			}
		}
		return ""
	}
	for i, step := range []struct {
		after time.Duration
		want  string
	}{{0, "1"}, {fresh - 1, "1"}, {1, "3"}, {fresh, "4"}} {
		s.write("COUNTERS_DB", "SLUICE_STATS", "global", "label_written", fmt.Sprint(i+1))
		now = now.Add(step.after)
		if got := written(); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
}

// TestHealthFollowsTheState: the state is the answer.
func TestHealthFollowsTheState(t *testing.T) {
	for state, want := range map[string]int{
		"": http.StatusServiceUnavailable, "starting": http.StatusServiceUnavailable,
		"running": http.StatusOK, "degraded": http.StatusOK, "disabled": http.StatusOK,
	} {
		s := newSite(t)
		if state != "" {
			s.write("STATE_DB", "SLUICE_STATE", "global", "state", state)
		} else {
			state = "starting"
		}
		s.serve(Config{})
		if code, body := s.get("/healthz"); code != want || body != state+"\n" {
			t.Errorf("%s: %d %q, want %d", state, code, body, want)
		}
	}
}

// TestNothingElse: there are two pages, to be read.
func TestNothingElse(t *testing.T) {
	s := newSite(t)
	s.serve(Config{})
	for _, tt := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "/", http.StatusNotFound},
		{http.MethodGet, "/debug/pprof/", http.StatusNotFound},
		{http.MethodGet, "/metrics/x", http.StatusNotFound},
		{http.MethodPost, "/metrics", http.StatusMethodNotAllowed},
		{http.MethodDelete, "/healthz", http.StatusMethodNotAllowed},
	} {
		request, err := http.NewRequest(tt.method, s.url+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != tt.want {
			t.Errorf("%s %s: %d, want %d", tt.method, tt.path, r.StatusCode, tt.want)
		}
	}
	request, err := http.NewRequest(http.MethodGet, s.url+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Long", strings.Repeat("x", 2*maxHeader))
	r, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	if r.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a long header: %d", r.StatusCode)
	}
}

// TestSlowClient: who opens a connection and sends no request is cut off.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serve(Config{})
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("GET /metrics HTTP/1.1\r\n")); err != nil {
		t.Fatal(err)
	}
	for r := bufio.NewReader(conn); ; {
		if _, err := r.ReadByte(); err != nil {
			if e, ok := err.(net.Error); ok && e.Timeout() {
				t.Error("it is still connected")
			}
			return
		}
	}
}

// TestAddressTaken: a port that another has is said, in the log once, and does not
// end the server; when it is free, it is used.
func TestAddressTaken(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	var log strings.Builder
	s.Server, err = New(Config{Address: other.Addr().String(), Databases: s.dbs, Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.retry = time.Millisecond
	listens := make(chan net.Addr, 1)
	s.ready = func(a net.Addr) { listens <- a }
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	for deadline := time.Now().Add(patience); s.Warnings() == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no warning")
		}
	}
	want := "metrics are not served at " + other.Addr().String() + ": bind: address already in use"
	if got := s.Warnings()[0]; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-listens:
	case <-time.After(patience):
		t.Fatal("it does not take the free port")
	}
	if w := s.Warnings(); w != nil {
		t.Errorf("it serves, and warns: %s", w)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), want); n != 1 {
		t.Errorf("said %d times in\n%s", n, log.String())
	}
}

// TestServerFreesItsPort: the port is free after the end.
func TestServerFreesItsPort(t *testing.T) {
	s := newSite(t)
	end := s.serve(Config{})
	s.get("/metrics")
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := fetch(s.url + "/metrics"); err == nil {
		t.Error("it still answers")
	}
}

func TestWrongConfig(t *testing.T) {
	s := newSite(t)
	for _, tt := range []struct {
		c    Config
		want string
	}{
		{Config{Address: "9475"}, `metrics address "9475": address 9475: missing port in address: it must be HOST:PORT, such as 127.0.0.1:9475`},
		{Config{Address: DefaultAddress, Flows: -1}, "-1 flows in the metrics: it must be 0 or more"},
	} {
		tt.c.Databases = s.dbs
		if _, err := New(tt.c); err == nil || err.Error() != tt.want {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
}
