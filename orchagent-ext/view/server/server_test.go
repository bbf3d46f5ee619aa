// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"sluice/orchagent-ext/host/login"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/view/frame"
	"sluice/orchagent-ext/view/picture"
	"sluice/yang/rows"
)

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// series is a live source of frames that a test adds.
type series struct {
	mu      sync.Mutex
	all     []*frame.Frame
	changed chan struct{}
	asked   chan struct{} // gets one for each call of Changed; nil: nothing
}

func newSeries(all ...*frame.Frame) *series { return &series{all: all, changed: make(chan struct{})} }

func (s *series) add(f *frame.Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, f)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *series) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked != nil {
		s.asked <- struct{}{}
	}
	return s.changed
}

func (s *series) Span() (first, last time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) == 0 {
		return first, last, false
	}
	return s.all[0].At, s.all[len(s.all)-1].At, true
}

func (s *series) At(_ context.Context, t time.Time) (f, before *frame.Frame, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, of := range s.all {
		if !of.At.After(t) {
			f, before = of, f
		}
	}
	return f, before, nil
}

// past is a series that has ended.
type past struct{ frame.Source }

// state is a frame of a switch at so many seconds after noon.
func state(seconds int, name string) *frame.Frame {
	t := noon.Add(time.Duration(seconds) * time.Second)
	return &frame.Frame{At: t, Switches: []frame.Switch{{Name: name, At: t, Rows: []rows.Row{
		{Table: "SLUICE_PORT_STATS", Key: "Ethernet0", Fields: map[string]string{"role": "fabric", "tx_bytes": fmt.Sprint(1000000 * seconds)}},
		{Table: "SLUICE_FLOW", Key: "f", Fields: map[string]string{"src": "fd00::1", "dst": "fd00::2", "dest_qp": "18", "egress_port": "Ethernet0"}},
	}}}}
}

// ask sends a request in memory.
func ask(s *Server, method, target string, change ...func(*http.Request)) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8080"+target, nil)
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestEachAnswerForbidsWhatThePageDoesNotNeed(t *testing.T) {
	s := New(Config{Source: past{newSeries(state(0, "leaf1"))}, Loopback: true})
	for target, want := range map[string]int{"/": 200, "/app.js": 200, "/app.css": 200, "/api/span": 200, "/api/picture": 200, "/api/stream": 404, "/none": 404, "/%2e%2e/%2e%2e/etc/passwd": 404} {
		w := ask(s, http.MethodGet, target)
		if w.Code != want {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		policy := w.Header().Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'", "frame-ancestors 'none'"} {
			if !strings.Contains(policy, part) {
				t.Errorf("%s: no %s in %q", target, part, policy)
			}
		}
		if w.Header().Get("X-Content-Type-Options") != "nosniff" || want == http.StatusOK && w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %v", target, w.Header())
		}
	}
}

func TestPageAsksNoOtherHost(t *testing.T) {
	s := New(Config{Source: past{newSeries()}})
	page := ask(s, http.MethodGet, "/").Body.String()
	if strings.Contains(page, "//") || strings.Contains(page, "<style") || strings.Contains(page, "onload") || !strings.Contains(page, `src="app.js"`) {
		t.Error(page)
	}
	for _, part := range []string{"/app.js", "/app.css"} {
		text := ask(s, http.MethodGet, part).Body.String()
		for _, bad := range []string{"@import", "url(http", "eval(", "new Function", "sourceMappingURL"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s has %s", part, bad)
			}
		}
	}
}

func TestServerOnlyReads(t *testing.T) {
	s := New(Config{Source: past{newSeries(state(0, "leaf1"))}})
	for _, target := range []string{"/", "/api/span", "/api/picture", "/api/stream"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"} {
			if w := ask(s, method, target); w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s: %d", method, target, w.Code)
			}
		}
		if w := ask(s, http.MethodHead, target); w.Code == http.StatusMethodNotAllowed {
			t.Errorf("HEAD %s: %d", target, w.Code)
		}
	}
}

func TestOnlyRequestsToLoopbackAreAnswered(t *testing.T) {
	s := New(Config{Source: past{newSeries()}, Loopback: true})
	for host, want := range map[string]int{
		"localhost": 200, "localhost:9999": 200, "LOCALHOST.:80": 200, "127.0.0.1:8080": 200, "127.9.9.9": 200, "[::1]:8080": 200, "[::1]": 200, "[::ffff:127.0.0.1]": 200,
		"example.com": 403, "localhost.example.com": 403, "127.0.0.1.example.com:80": 403, "10.0.0.1": 403, "[fe80::1]": 403, "0.0.0.0": 403, "": 403, "localhost:80:80": 403, "2130706433": 403,
	} {
		if w := ask(s, http.MethodGet, "/api/span", func(r *http.Request) { r.Host = host }); w.Code != want {
			t.Errorf("%q: %d", host, w.Code)
		}
	}
	if w := ask(New(Config{Source: past{newSeries()}}), http.MethodGet, "/api/span", func(r *http.Request) { r.Host = "leaf1.example.com" }); w.Code != 200 {
		t.Errorf("beyond loopback: %d", w.Code)
	}
	other := func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }
	if w := ask(s, http.MethodGet, "/api/picture", other); w.Code != http.StatusForbidden {
		t.Errorf("a page from elsewhere: %d", w.Code)
	}
	if w := ask(s, http.MethodGet, "/", other); w.Code != 200 { // a link in a runbook
		t.Errorf("a link from elsewhere: %d", w.Code)
	}
}

// picture decodes an answer.
func decode(t *testing.T, text []byte) *picture.Picture {
	t.Helper()
	p := &picture.Picture{}
	if err := json.Unmarshal(text, p); err != nil {
		t.Fatalf("%v: %.200s", err, text)
	}
	return p
}

func TestPictureOfATime(t *testing.T) {
	s := New(Config{Source: past{newSeries(state(0, "leaf1"), state(1, "leaf1"), state(3, "leaf2"))}})
	for query, want := range map[string]string{
		"": "leaf2", "?at=2026-11-27T12:00:01Z": "leaf1 8", "?at=2026-11-27T12:00:02.9Z": "leaf1 8", "?at=2026-11-27T13:00:01%2B01:00": "leaf1 8", "?at=2026-11-27T12:00:00Z": "leaf1",
	} {
		w := ask(s, http.MethodGet, "/api/picture"+query)
		p := decode(t, w.Body.Bytes())
		got := p.Switches[0].Name
		if m := p.Uplinks[0].Mbps; m != nil {
			got += fmt.Sprintf(" %v", *m)
		}
		if got != want || len(p.Flows) != 1 {
			t.Errorf("%s: %s", query, got)
		}
	}
	for query, want := range map[string]int{"?at=noon": 400, "?at=2026-11-27T11:00:00Z": 404} {
		if w := ask(s, http.MethodGet, "/api/picture"+query); w.Code != want {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	if p := decode(t, ask(s, http.MethodGet, "/api/picture?find=fd00::9").Body.Bytes()); len(p.Flows) != 0 || p.Of.Flows != 1 {
		t.Errorf("%+v", p.Flows)
	}
	if got := ask(s, http.MethodGet, "/api/span").Body.String(); got != `{"first":"2026-11-27T12:00:00Z","last":"2026-11-27T12:00:03Z","live":false,"step_ms":2000}`+"\n" {
		t.Error(got)
	}
	if got := ask(New(Config{Source: newSeries()}), http.MethodGet, "/api/span").Body.String(); got != `{"live":true}`+"\n" {
		t.Error(got)
	}
}

// serve starts a server on loopback, and returns its address and a function that ends it.
func serve(t *testing.T, c Config, secure *tls.Config) (address string, end func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(c).Serve(ctx, l, secure) }()
	var once sync.Once
	var last error
	end = func() error {
		once.Do(func() { cancel(); last = <-ended })
		return last
	}
	t.Cleanup(func() { _ = end() })
	return l.Addr().String(), end
}

// event reads the next picture of a stream.
func event(t *testing.T, r *bufio.Reader) *picture.Picture {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if data, is := strings.CutPrefix(line, "data: "); is {
			return decode(t, []byte(data))
		}
	}
}

func TestStreamHasAPictureForEachChange(t *testing.T) {
	source := newSeries()
	address, end := serve(t, Config{Source: source, Loopback: true}, nil)
	answer, err := http.Get("http://" + address + "/api/stream?find=leaf")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got := answer.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Error(got)
	}
	r := bufio.NewReader(answer.Body)
	for i := range 5 {
		source.add(state(i, fmt.Sprint("leaf", i)))
		if p := event(t, r); p.Switches[0].Name != fmt.Sprint("leaf", i) {
			t.Errorf("%d: %s", i, p.Switches[0].Name)
		}
	}
	if err := end(); err != nil { // with a stream that is open
		t.Error(err)
	}
}

// TestRatesStayWhereSluicedCountsLater: the pictures of a series have the same rates in its order and out
// of it. sluiced counts at 0, 1 and 3 s; the frames are of 0 to 4 s.
func TestRatesStayWhereSluicedCountsLater(t *testing.T) {
	source := newSeries()
	for i, read := range []int{0, 1, 1, 3, 3} {
		f := state(i, "leaf1")
		f.Switches[0].Rows[0].Fields["tx_bytes"] = fmt.Sprint(map[int]int{0: 0, 1: 1_000_000, 3: 7_000_000}[read])
		f.Switches[0].Rows = append(f.Switches[0].Rows, rows.Row{Table: "SLUICE_STATS", Key: "global", Fields: map[string]string{"read_time": noon.Add(time.Duration(read) * time.Second).Format(time.RFC3339)}})
		source.add(f)
	}
	want := []string{"none", "8", "8", "24", "24"}
	for _, order := range [][]int{{0, 1, 2, 3, 4}, {4, 2, 1, 0, 3}} {
		s := New(Config{Source: past{source}})
		for _, i := range order {
			got := "none"
			if m := decode(t, ask(s, http.MethodGet, "/api/picture?at="+noon.Add(time.Duration(i)*time.Second).Format(time.RFC3339)).Body.Bytes()).Uplinks[0].Mbps; m != nil {
				got = fmt.Sprint(*m)
			}
			if got != want[i] {
				t.Errorf("%v: at %d s: %s Mbit/s, want %s", order, i, got, want[i])
			}
		}
	}
}

// TestRatesStayForSeveralReadings: one who reads each quarter of a second sees the rate of the last two counts, 8 Mbit/s,
// in all pictures until the next.
func TestRatesStayForSeveralReadings(t *testing.T) {
	source := newSeries()
	s := New(Config{Source: source})
	for i := range 8 {
		f := state(0, "leaf1")
		f.At = noon.Add(time.Duration(i) * 250 * time.Millisecond)
		f.Switches[0].Rows[0].Fields["tx_bytes"] = fmt.Sprint(i / 4 * 1_000_000)
		f.Switches[0].Rows = append(f.Switches[0].Rows, rows.Row{Table: "SLUICE_STATS", Key: "global", Fields: map[string]string{"read_time": noon.Add(time.Duration(i/4) * time.Second).Format(time.RFC3339)}})
		source.add(f)
		m := decode(t, ask(s, http.MethodGet, "/api/picture").Body.Bytes()).Uplinks[0].Mbps
		if i >= 4 && (m == nil || *m != 8) || i < 4 && m != nil {
			t.Errorf("picture %d: %v", i, m)
		}
	}
}

// pipes is a listener of connections in memory, in which nothing waits.
type pipes struct {
	conns chan net.Conn
	ended chan struct{}
}

// Accept implements [net.Listener].
func (l pipes) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (l pipes) Close() error { close(l.ended); return nil }

// Addr implements [net.Listener].
func (l pipes) Addr() net.Addr { return &net.TCPAddr{} }

// TestSlowClientGetsTheNewestPicture: a client that reads nothing while 200 pictures come gets that
// which was on its way, and then the last.
func TestSlowClientGetsTheNewestPicture(t *testing.T) {
	const changes = 200
	source := newSeries(state(0, "leaf1"))
	source.asked = make(chan struct{}, 2*changes)
	l := pipes{make(chan net.Conn, 1), make(chan struct{})}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- New(Config{Source: source, Stall: time.Hour}).Serve(ctx, l, nil) }()
	client, server := net.Pipe()
	l.conns <- server
	fmt.Fprintf(client, "GET /api/stream HTTP/1.1\r\nHost: localhost\r\n\r\n")
	answer, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(answer.Body)
	var got []int
	read := func() {
		got = append(got, int(event(t, r).At.Sub(noon).Seconds()))
	}
	read()
	for i := 1; i <= changes; i++ {
		source.add(state(i, "leaf1"))
		if i == 1 {
			<-source.asked
			<-source.asked // the picture of the first change, or one after it, is on its way
		}
	}
	for got[len(got)-1] != changes {
		read()
	}
	if len(got) > 4 {
		t.Errorf("%d pictures: %v", len(got), got)
	}
	cancel()
	_ = client.Close() // a pipe
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestStreamThatRestsGoesOn: over HTTP/2 as a browser speaks it, a stream without a new picture for an hour
// has the next one.
func TestStreamThatRestsGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secure, pool := certificate(t)
		source := newSeries(state(0, "leaf1"))
		l := pipes{make(chan net.Conn, 1), make(chan struct{})}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- New(Config{Source: source}).Serve(ctx, l, secure) }()
		transport := &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
			DialContext: func(context.Context, string, string) (net.Conn, error) {
				client, server := net.Pipe()
				l.conns <- server
				return client, nil
			},
		}
		answer, err := (&http.Client{Transport: transport}).Get("https://localhost/api/stream")
		if err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(answer.Body)
		event(t, r)
		time.Sleep(time.Hour)
		source.add(state(3600, "leaf2"))
		if p := event(t, r); p.Switches[0].Name != "leaf2" || answer.ProtoMajor != 2 {
			t.Errorf("%s: %+v", answer.Proto, p.Switches)
		}
		_ = answer.Body.Close() // the server ends the stream
		transport.CloseIdleConnections()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	address, _ := serve(t, Config{Source: newSeries(state(0, "leaf1")), Streams: 2}, nil)
	var open []*http.Response
	for i := range 3 {
		answer, err := http.Get("http://" + address + "/api/stream")
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		open = append(open, answer)
		if want := map[bool]int{true: 200, false: 503}[i < 2]; answer.StatusCode != want {
			t.Errorf("stream %d: %d", i, answer.StatusCode)
		}
	}
	if wait := open[2].Header.Get("Retry-After"); wait == "" {
		t.Error("no word when to try again")
	}
}

func TestLongHeadersAreRefused(t *testing.T) {
	address, _ := serve(t, Config{Source: newSeries()}, nil)
	r, err := http.NewRequest(http.MethodGet, "http://"+address+"/?find="+strings.Repeat("x", 2*mostHeader), nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("%d", answer.StatusCode)
	}
}

// certificate returns a certificate for localhost, and the pool that trusts it.
func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	a := ipfixtest.NewAuthority(t)
	_, _, pair := a.Sign(t, "localhost")
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, a.Pool
}

func TestUsersNeedTheirPassword(t *testing.T) {
	hash, err := bcrypt.GenerateFromPassword([]byte("ecila"), login.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(file, append([]byte("alice:"), hash...), 0o600); err != nil {
		t.Fatal(err)
	}
	users, err := login.OpenUsers(file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	secure, pool := certificate(t)
	source := newSeries(state(0, "leaf1"))
	address, _ := serve(t, Config{Source: source, Users: users}, secure)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}}
	get := func(target, name, password string) *http.Response {
		t.Helper()
		r, err := http.NewRequest(http.MethodGet, "https://localhost:"+port+target, nil)
		if err != nil {
			t.Fatal(err)
		}
		if name != "" {
			r.SetBasicAuth(name, password)
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = answer.Body.Close() })
		return answer
	}
	for _, target := range []string{"/", "/app.js", "/api/picture", "/api/span", "/api/stream"} {
		if got := get(target, "", ""); got.StatusCode != 401 || got.Header.Get("WWW-Authenticate") == "" {
			t.Errorf("%s without a user: %d", target, got.StatusCode)
		}
	}
	for _, l := range [][2]string{{"alice", "alice"}, {"bob", "ecila"}, {"", "ecila"}} {
		if got := get("/api/picture", l[0], l[1]); got.StatusCode != 401 {
			t.Errorf("%q: %d", l, got.StatusCode)
		}
	}
	if got := get("/api/picture", "alice", "ecila"); got.StatusCode != 200 {
		t.Errorf("alice: %d", got.StatusCode)
	}
	answer := get("/api/stream", "alice", "ecila")
	r := bufio.NewReader(answer.Body)
	if p := event(t, r); answer.ProtoMajor != 2 || p.Switches[0].Name != "leaf1" {
		t.Errorf("%s %+v", answer.Proto, p.Switches)
	}
	source.add(state(1, "leaf2"))
	if p := event(t, r); p.Switches[0].Name != "leaf2" {
		t.Errorf("%+v", p.Switches)
	}
	for range 20 {
		get("/", "alice", "wrong")
	}
	if got := get("/", "alice", "wrong"); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("after many wrong passwords: %d", got.StatusCode)
	}
	if err := os.WriteFile(file, append([]byte("# alice has left\nbob:"), hash...), 0o600); err != nil {
		t.Fatal(err)
	}
	source.add(state(2, "leaf3"))
	if rest, err := io.ReadAll(r); err != nil || strings.Contains(string(rest), "leaf3") {
		t.Errorf("the stream of a user who was removed: %v: %.300s", err, rest)
	}
}

func TestPlainTextIsRefusedWhereTLSIs(t *testing.T) {
	secure, _ := certificate(t)
	address, _ := serve(t, Config{Source: newSeries()}, secure)
	answer, err := http.Get("http://" + address + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 400 {
		t.Errorf("%d %s %v", answer.StatusCode, text, err)
	}
}

// TestHostileNamesStayText: markup, escapes and 10 kB in names are in JSON as they were, less
// octets that cannot be shown, and no octet of markup is in it as such.
func TestHostileNamesStayText(t *testing.T) {
	for _, name := range []string{"</script><script>alert(1)</script>", "\x1b[31mred\u202e", strings.Repeat("leaf", 2500)} {
		f := state(0, name)
		f.Switches[0].Rows[1].Fields["src"] = name
		text := ask(New(Config{Source: past{newSeries(f)}}), http.MethodGet, "/api/picture?find="+"").Body.Bytes()
		p := decode(t, text)
		if strings.ContainsAny(string(text), "<>\x1b\u202e") || len(p.Switches[0].Name) > 300 || len(p.Flows) != 1 || len(p.Uplinks) != 1 {
			t.Errorf("%.40q: %.300q", name, text)
		}
	}
}
