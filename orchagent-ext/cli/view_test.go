// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/bcrypt"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/login"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/orchagent-ext/view/framefile"
	"sluice/orchagent-ext/view/picture"
	"sluice/tests/browser"
	"sluice/tests/framestest"
	"sluice/tests/pasttest"
	"sluice/yang/rows"
)

// viewOf starts sluice view and returns the address of its page, as it prints it.
func viewOf(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := newViewCommand()
	out, w := io.Pipe()
	var errs bytes.Buffer
	cmd.SetOut(w)
	cmd.SetErr(&errs)
	cmd.SetArgs(append([]string{"--listen", "127.0.0.1:0"}, args...))
	ended := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		_ = w.Close() // a pipe
		ended <- err
	}()
	line, _ := bufio.NewReader(out).ReadString('\n') // "" after an error of the command
	_ = out.Close()                                  // the text of usage, at the end, has no reader then
	address, has := strings.CutSuffix(line, "/ has the page; Ctrl-C ends it\n")
	if !has {
		cancel()
		t.Fatalf("sluice view %v: %q, %v: %s", args, line, <-ended, &errs)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != kit.ErrInterrupted { //nolint:errorlint // as it is
			t.Errorf("sluice view: %v: %s", err, &errs)
		}
	})
	return address
}

// pictureOf returns the first picture of a page.
func pictureOf(t *testing.T, address string) *picture.Picture {
	t.Helper()
	answer, err := http.Get(address + "/api/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	p := &picture.Picture{}
	var text []byte
	for part := make([]byte, 4096); ; {
		n, err := answer.Body.Read(part)
		text = append(text, part[:n]...)
		if _, data, is := bytes.Cut(text, []byte("data: ")); is && bytes.Contains(data, []byte("\n\n")) {
			if err := json.Unmarshal(data[:bytes.Index(data, []byte("\n\n"))], p); err != nil {
				t.Fatal(err)
			}
			return p
		}
		if err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
}

// leafRows are the rows of leaf1 of the fabric of framestest, with its ports.
func leafRows() (all []rows.Row) {
	for _, r := range framestest.Fabric(10, 4, 4, false).Switches[0].Rows {
		if all = append(all, r); r.Table == "SLUICE_PORT_STATS" {
			all = append(all, rows.Row{Table: "PORT", Key: r.Key})
		}
	}
	return all
}

// shownBy returns the JSON of a command of show.
func shownBy(t *testing.T, verb string) (all []map[string]any) {
	t.Helper()
	stdout, stderr, _ := sluice(nil, "show", verb, "--json") // status 3: the rows are of another day
	if err := json.Unmarshal([]byte(stdout), &all); err != nil {
		t.Fatalf("show %s: %v: %s%s", verb, err, stdout, stderr)
	}
	return all
}

// parts returns some fields of objects of JSON, one line an object, sorted.
func parts(t *testing.T, all any, fields ...string) (lines []string) {
	t.Helper()
	encoded, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	var objects []map[string]any
	if err := json.Unmarshal(encoded, &objects); err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		var line []string
		for _, f := range fields {
			if v, there := o[f]; there {
				line = append(line, fmt.Sprintf("%s=%v", f, v))
			}
		}
		lines = append(lines, strings.Join(line, " "))
	}
	slices.Sort(lines)
	return lines
}

// holdsOf returns the holds in trees.
func holdsOf(trees []*picture.Hold) (all []*picture.Hold) {
	for _, h := range trees {
		if h.Message != "" {
			all = append(all, h)
		}
		all = append(all, holdsOf(h.Below)...)
	}
	return all
}

func TestViewHasWhatShowPrints(t *testing.T) {
	databasesOf(t, leafRows()...)
	p := pictureOf(t, viewOf(t))
	if len(p.Switches) != 1 || p.Switches[0].State != "running" || len(p.Uplinks) != 4 || len(p.Flows) != 5 || len(p.Holds) != 1 {
		t.Fatalf("%+v", p)
	}
	for _, tt := range []struct {
		verb   string
		has    any
		fields []string
	}{
		{"queues", p.Queues, []string{"port", "queue", "queued_bytes", "watermark_bytes", "packets", "dropped"}},
		{"flows", p.Flows, []string{"src", "dst", "dest_qp", "src_qp", "flow_label", "rate_mbps", "state", "queue_bytes", "advised_mbps"}},
		{"flows", p.Health[:1], []string{"psn_lost", "retransmitted_bytes", "cnps", "seen_packets", "sampling_rate", "dest_qp"}},
		{"holds", holdsOf(p.Holds), []string{"port", "queue", "from", "state", "action", "since", "until", "waiting_bytes", "src", "dst", "dest_qp", "message", "method", "reason"}},
	} {
		want := shownBy(t, tt.verb)
		if len(p.Health) > 0 && tt.fields[0] == "psn_lost" { // the worst one
			want = slices.DeleteFunc(want, func(f map[string]any) bool { return f["psn_lost"] == nil })
		}
		// texts of keys are texts in a picture, and numbers in show
		one := func(lines []string) string { return strings.Join(lines, "\n") }
		if diff := gocmp.Diff(one(parts(t, want, tt.fields...)), one(parts(t, tt.has, tt.fields...))); diff != "" {
			t.Errorf("show %s: %s", tt.verb, diff)
		}
	}
}

// TestViewBeyondLoopbackNeedsAPassword: it speaks TLS, by the name of the machine, and asks for a user.
func TestViewBeyondLoopbackNeedsAPassword(t *testing.T) {
	databasesOf(t, leafRows()...)
	name, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	a := ipfixtest.NewAuthority(t)
	cert, key, _ := a.Sign(t, name)
	hash, err := bcrypt.GenerateFromPassword([]byte("ecila"), login.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	users := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(users, append([]byte("alice:"), hash...), 0o600); err != nil {
		t.Fatal(err)
	}
	address := viewOf(t, "--listen", ":0", "--cert", cert, "--key", key, "--users", users)
	port, is := strings.CutPrefix(address, "https://"+net.JoinHostPort(name, ""))
	if !is {
		t.Fatalf("the page is at %s", address)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool, MinVersion: tls.VersionTLS12, ServerName: name}}}
	for user, want := range map[string]int{"": 401, "bob": 401, "alice": 200} {
		r, err := http.NewRequest(http.MethodGet, "https://"+net.JoinHostPort("127.0.0.1", port)+"/api/span", nil)
		if err != nil {
			t.Fatal(err)
		}
		if r.Host = name; user != "" { // another name than loopback's
			r.SetBasicAuth(user, "ecila")
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if _ = answer.Body.Close(); answer.StatusCode != want {
			t.Errorf("%q: %d", user, answer.StatusCode)
		}
	}
}

func TestViewRefusesFlagsThatDoNotGo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for args, want := range map[string]string{
		"--every 1ms":                         "--every 1ms: from 100ms to 1h0m0s are possible",
		"--from x --target leaf1":             "show the past alone",
		"--from x --every 2s":                 "show the past alone",
		"--from x --prometheus http://y":      "either --from or --prometheus",
		"--prometheus :":                      "--prometheus:",
		"--from none.record":                  "none.record",
		"--cert c":                            "--cert and --key go together",
		"--users u":                           "--users needs --cert and --key",
		"--listen 0.0.0.0:0":                  "beyond loopback the page needs --cert, --key and --users",
		"--listen :0":                         "beyond loopback the page needs --cert, --key and --users",
		"--listen [::]:0":                     "beyond loopback the page needs --cert, --key and --users",
		"--listen nowhere":                    "--listen:",
		"--listen " + taken.Addr().String():   "--listen: listen tcp",
		"--cert none.pem --key none.pem":      "none.pem",
		"--gnmi-user me":                      "--gnmi-user goes with --target",
		"--target leaf1 --db-config database": "--db-config is about this machine",
		"leaf1":                               `"leaf1" is one word too many`,
	} {
		_, stderr, code := sluice(nil, append([]string{"view"}, strings.Fields(args)...)...)
		if code != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d: %s", args, code, stderr)
		}
	}
}

// TestViewOfAFileHasItsTimes: a record is shown from its begin to its end.
func TestViewOfAFileHasItsTimes(t *testing.T) {
	address := viewOf(t, "--from", recordOf(t, 4, 10))
	for at, want := range map[string]int{"2026-11-27T12:00:03Z": 200, "2026-11-27T11:59:59Z": 404} {
		answer, err := http.Get(address + "/api/picture?at=" + at)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: %d", at, answer.StatusCode)
		}
		p := &picture.Picture{}
		if want == 200 {
			if err := json.NewDecoder(answer.Body).Decode(p); err != nil || !p.At.Equal(framestest.Noon.Add(3*time.Second)) || len(p.Switches) != 8 || p.Uplinks[0].Mbps == nil {
				t.Errorf("%v %v %+v", err, p.At, p.Switches)
			}
		}
	}
}

// recordOf writes a record of a fabric: so many leaves, as many frames.
func recordOf(t *testing.T, leaves, frames int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "fabric.record")
	w, err := framefile.Create(name, framefile.Options{Size: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	for i := range frames {
		if err := w.Add(framestest.Fabric(i, leaves, 4, false)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestBrowserShowsWhatShowPrints: the cells of the page are the values of show, and a hold comes to
// the page in 1.5 s.
func TestBrowserShowsWhatShowPrints(t *testing.T) {
	p := browser.Open(t)
	dbs := databasesOf(t, leafRows()...)
	p.Go(viewOf(t))
	p.Wait("document.querySelector('.of-queues tbody tr')")
	queues := p.Text(".of-queues")
	for _, q := range shownBy(t, "queues") {
		want := fmt.Sprintf("%v %v", q["port"], q["queue"])
		values := fmt.Sprintf("%s %s %s", grouped(q["queued_bytes"]), grouped(q["watermark_bytes"]), grouped(q["dropped"]))
		if !strings.Contains(queues, want) || !strings.Contains(queues, values) {
			t.Errorf("no %s with %s in %s", want, values, queues)
		}
	}
	flows := p.Text(".of-flows")
	for _, f := range shownBy(t, "flows") {
		if want := fmt.Sprintf("%v → %v 0x%06x %v Mbit/s", f["src"], f["dst"], int(f["dest_qp"].(float64)), tenth(f["rate_mbps"].(float64))); !strings.Contains(flows, want) {
			t.Errorf("no %q in %s", want, flows)
		}
	}

	const samples = 100
	var took []time.Duration
	for i := range samples {
		src := fmt.Sprintf("fd00:ffff::%x", i+1)
		began := time.Now()
		h := rows.Row{Table: "SLUICE_HOLD", Key: "h", Fields: map[string]string{"src": src, "dst": "fd00::2", "dest_qp": "7", "from": "fe80::9", "port": "Ethernet4", "queue": "3", "state": "held", "message": "pfcm"}}
		if err := dbs["STATE_DB"].Write(t.Context(), sonicdb.Change{Row: h}); err != nil {
			t.Fatal(err)
		}
		p.Wait(fmt.Sprintf("document.querySelector('.of-holds').innerText.includes('%s ')", src))
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	ms := func(part float64) float64 { return float64(took[int(part*(samples-1)+0.5)].Milliseconds()) }
	t.Logf("from the row to the page: half within %v ms", ms(0.50)) // from the switch: TestBrowserShowsTheLab
	if ms(0.99) > 1500 {
		t.Errorf("one hold in a hundred took %v", ms(0.99))
	}
	for _, w := range p.Wrong() {
		t.Error(w)
	}
}

// grouped is a whole number as the page has it.
func grouped(v any) string {
	return regexp.MustCompile(`(\d)(\d{3})\b`).ReplaceAllString(strings.ReplaceAll(fmt.Sprintf("%.0f", v), " ", ""), "$1 $2")
}

// tenth is a rate as the page has it.
func tenth(v float64) string {
	return strconv.FormatFloat(v, 'f', map[bool]int{true: 0, false: 1}[v >= 100], 64)
}

// TestViewOfThePastIsThatOfTheRecord records how many values of a Prometheus differ from those that
// were recorded live, for the report of sluice view.
func TestViewOfThePastIsThatOfTheRecord(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("tests/pasttest tests it: make soak CHECKS=view, or SLUICE_SOAK=1")
	}
	r, _ := pasttest.Measure(t, "../..", 20)
	browser.Record(t, "past", r)
	if r.Points < 1000 || r.Differ > 0 {
		t.Errorf("%+v", r)
	}
}

// TestManySwitchesAreReplayedByOneCore: the program, on one CPU, has each picture of 128 recorded
// switches within the second that it is of, and takes 300 MB at most.
func TestManySwitchesAreReplayedByOneCore(t *testing.T) {
	if os.Getenv("SLUICE_SOAK") == "" {
		t.Skip("it takes long: make soak CHECKS=view, or SLUICE_SOAK=1")
	}
	const leaves, frames = 124, 120 // and 4 spines
	record := recordOf(t, leaves, frames)
	program := filepath.Join(t.TempDir(), "sluice")
	if out, err := exec.Command("go", "build", "-o", program, "../cmd/sluice").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, "view", "--from", record, "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	line := make([]byte, 256)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(string(line[:n]), "/ has")
	dropped, slowest := 0, time.Duration(0)
	for i := range frames {
		began := time.Now()
		answer, err := http.Get(address + "/api/picture?at=" + framestest.Noon.Add(time.Duration(i)*time.Second).Format(time.RFC3339))
		if err != nil {
			t.Fatal(err)
		}
		p := &picture.Picture{}
		if err := json.NewDecoder(answer.Body).Decode(p); err != nil || len(p.Switches) != leaves+4 || answer.Body.Close() != nil {
			t.Fatalf("%v: %d switches", err, len(p.Switches))
		}
		if p.At != framestest.Noon.Add(time.Duration(i)*time.Second) || time.Since(began) > time.Second {
			dropped++
		}
		slowest = max(slowest, time.Since(began))
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	kB, _ := strconv.ParseFloat(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(status))[1], 64)
	t.Logf("the slowest picture took %v", slowest)
	browser.Record(t, "replay", map[string]any{"switches": leaves + 4, "dropped_frames": dropped, "rss_mb": float64(int(kB/100)) / 10})
	if dropped > 0 || kB > 300e3 {
		t.Errorf("%d of %d pictures came late; %v kB", dropped, frames, kB)
	}
}
