// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/cpu/packetio"
	sai "sluice/sai-shim"
)

// The trace of a test has each input of flow control and each output, as text: what the switch, the
// neighbors and the configuration gave it and when; messages, holds, counters and the time of its next
// turn. testdata/traces.txt has a digest of each, so that the same inputs keep giving the same outputs.
// To see a difference, write the traces of both versions:
//
//	go test -count=1 -traces=DIR ./orchagent-ext/hold/flowcontrol
var (
	recordTraces = flag.Bool("record", false, "write testdata/traces.txt again")
	tracesDir    = flag.String("traces", "", "a `folder` to write the traces to, each a file")
)

const tracesFile = "testdata/traces.txt"

// chunkLines is after how many lines of a long trace there is a digest: it shows where a trace differs.
const chunkLines = 1000

// mostLines bounds a trace: storms go on without one.
const mostLines = 10_000

// recorder has the traces of all tests of a run, and those of the file.
type recorder struct {
	mu       sync.Mutex
	recorded map[string]string // by test
	tests    map[testing.TB]*testTrace
}

var traces = recorder{recorded: map[string]string{}, tests: map[testing.TB]*testTrace{}}

func TestMain(m *testing.M) {
	flag.Parse()
	if err := traces.load(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if *recordTraces && code == 0 {
		if err := traces.save(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// load reads the digests of the file.
func (r *recorder) load() error {
	text, err := os.ReadFile(tracesFile)
	for line := range strings.Lines(string(text)) {
		name, digest, _ := strings.Cut(strings.TrimSpace(line), " ")
		r.recorded[name] = digest
	}
	if *recordTraces && os.IsNotExist(err) {
		return nil
	}
	return err
}

func (r *recorder) save() error {
	var b strings.Builder
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range r.recorded {
			if !yield(name) {
				return
			}
		}
	}) {
		fmt.Fprintf(&b, "%s %s\n", name, r.recorded[name])
	}
	return os.WriteFile(tracesFile, []byte(b.String()), 0o644)
}

// testTrace has the traces of a test: one for each switch that it makes.
type testTrace struct{ all []*trace }

// of returns a new trace of a test.
func (r *recorder) of(t testing.TB) *trace {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.tests[t]
	if of == nil {
		of = &testTrace{}
		r.tests[t] = of
		t.Cleanup(func() { r.check(t, of) })
	}
	one := newTrace(t, len(of.all))
	of.all = append(of.all, one)
	return one
}

// mutant is set by tests/mutants, for which each test has to judge by values of its own: a trace differs with
// each change.
var mutant = os.Getenv("SLUICE_MUTANT") != ""

// check compares the traces of a test with the recorded ones. A test may make its switches in any
// order, as that of a map.
func (r *recorder) check(t testing.TB, of *testTrace) {
	if t.Failed() || t.Skipped() || mutant {
		return
	}
	var sums []string
	lines := 0
	for _, one := range of.all {
		sums = append(sums, one.close())
		lines += one.lines
	}
	slices.Sort(sums)
	got := strings.Join(sums, " ")
	if len(of.all) > 1 {
		sum := sha256.Sum256([]byte(got))
		got = hex.EncodeToString(sum[:8])
	}
	got = fmt.Sprint(lines, " ", got)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.tests, t)
	if runtime.GOARCH != "amd64" {
		return // others round rates otherwise: they fuse multiplications and additions
	}
	if want := r.recorded[t.Name()]; *recordTraces {
		r.recorded[t.Name()] = got
	} else if got != want {
		t.Errorf("the trace differs from the recorded one (see trace_test.go):\n got %s\nwant %s", got, want)
	}
}

// trace is what came into one flow control, and what came out of it.
type trace struct {
	lines int
	sum   hash.Hash
	parts []string // digests of chunkLines lines each
	file  io.Closer
	zip   *gzip.Writer
	out   io.Writer

	core     *core
	counters Counters
	next     int64
}

func newTrace(t testing.TB, n int) *trace {
	tr := &trace{sum: sha256.New()}
	tr.out = tr.sum
	if *tracesDir != "" {
		name := filepath.Join(*tracesDir, strings.ReplaceAll(t.Name(), "/", ".")+fmt.Sprintf(".%03d.gz", n))
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		tr.file, tr.zip = file, gzip.NewWriter(file)
		tr.out = io.MultiWriter(tr.sum, tr.zip)
	}
	return tr
}

// on reports whether lines are written: to nil and to a full trace they are not.
func (tr *trace) on() bool { return tr != nil && tr.lines < mostLines }

// line writes a line.
func (tr *trace) line(format string, args ...any) {
	if !tr.on() {
		return
	}
	fmt.Fprintf(tr.out, format+"\n", args...)
	if tr.lines++; tr.lines%chunkLines == 0 {
		tr.cut()
	}
}

func (tr *trace) cut() {
	tr.parts = append(tr.parts, hex.EncodeToString(tr.sum.Sum(nil)[:4]))
	tr.sum.Reset()
}

// hold writes a hold that the switch was asked for.
func (tr *trace) hold(t target, d time.Duration, rate uint64, err error) {
	if tr.on() {
		m := &t.Match
		tr.line("  hold port %v %d/%d %#x %v %v for %v at %d: %v", t.Port, m.Kind, m.Protocol, m.Value, m.Src, m.Dst, d, rate, err)
	}
}

// after writes what an input has changed: counters, and when the next turn is.
func (tr *trace) after() {
	if !tr.on() {
		return
	}
	if c := tr.core.kernel.Counters; c != tr.counters {
		was, is := reflect.ValueOf(tr.counters), reflect.ValueOf(c)
		for i := range is.NumField() {
			if !is.Field(i).Equal(was.Field(i)) {
				tr.line("  %s %v", is.Type().Field(i).Name, is.Field(i))
			}
		}
		tr.counters = c
	}
	if next := tr.core.next(); next != tr.next {
		tr.next = next
		tr.line("  next %d", next)
	}
}

// report writes the report, in an order of its own.
func (tr *trace) report(now int64) {
	if !tr.on() {
		return
	}
	r := newReport()
	tr.core.fill(now, r)
	tr.line("%d report: %q", now, r.LastError)
	for _, h := range []*struct{ Count, Sum, Min, Max uint64 }{
		{r.Reaction.Count, r.Reaction.Sum, r.Reaction.Min, r.Reaction.Max}, {r.Enforce.Count, r.Enforce.Sum, r.Enforce.Min, r.Enforce.Max},
		{r.Release.Count, r.Release.Sum, r.Release.Min, r.Release.Max}, {r.PPFCReaction.Count, r.PPFCReaction.Sum, r.PPFCReaction.Min, r.PPFCReaction.Max},
		{r.PPFCEnforce.Count, r.PPFCEnforce.Sum, r.PPFCEnforce.Min, r.PPFCEnforce.Max},
	} {
		tr.line("  time %v", *h)
	}
	sorted(tr, "flow", r.Flows)
	sorted(tr, "hold", r.Holds)
	sorted(tr, "host", r.Hosts)
	sorted(tr, "ignoring", r.Ignoring)
}

// sorted writes rows by their text, values alone, where there was room for all of them.
func sorted[T any](tr *trace, name string, rows []T) {
	if len(rows) == cap(rows) {
		tr.line("  %d rows of %s", len(rows), name)
		return
	}
	var all []string
	for i := range rows {
		all = append(all, fmt.Sprintf("%v", rows[i]))
	}
	slices.Sort(all)
	for _, one := range all {
		tr.line("  %s %s", name, one)
	}
}

func (tr *trace) close() string {
	if tr.core != nil {
		tr.report(tr.core.kernel.Clock())
	}
	tr.cut()
	if tr.file != nil {
		_, _ = tr.zip.Close(), tr.file.Close()
	}
	return strings.Join(tr.parts, ".")
}

// traced is a flow control whose inputs and outputs are written to a trace; nil: they are not.
type traced struct {
	*core
	trace *trace
}

func (c *traced) event(now int64, e *sai.FlowEvent) {
	if c.trace.on() {
		c.trace.line("%d event %v in %v flow %d octets %d at %d mark %d %+v %+v head %x", now, e.Queue, e.InPort, e.Flow, e.Octets, e.At, e.Mark, e.Arrival, e.Session, e.Head[:min(int(e.Length), len(e.Head))])
	}
	c.core.event(now, e)
	c.trace.after()
}

func (c *traced) receiveMessage(now int64, m *packetio.Message) {
	if c.trace.on() {
		p := &m.Packet
		c.trace.line("%d message port %d at %d %v %v %+v AH %v %+v %+v", now, m.Port, m.At, m.Err, p.Kind, p.Envelope, p.AH, p.PFCM, p.PPFC)
	}
	c.core.receiveMessage(now, m)
	c.trace.after()
}

func (c *traced) step(now int64) {
	if c.trace.on() {
		c.trace.line("%d step", now)
	}
	c.core.step(now)
	c.trace.after()
}

func (c *traced) configure(now int64, s *settings) {
	if c.trace.on() {
		bare := s.Config
		bare.PPFC, bare.Advice, bare.Ingress, bare.Source = nil, nil, nil, nil
		c.trace.line("%d configure %+v %s %s %s %s", now, bare, show(s.PPFC), show(s.Advice), show(s.Ingress), show(s.Source))
	}
	c.core.configure(now, s)
	c.trace.after()
}

func show[T any](v *T) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%+v", *v)
}

func (c *traced) end(now int64) {
	if c.trace.on() {
		c.trace.line("%d end", now)
	}
	c.core.end(now)
	c.trace.after()
}

// learn takes a packet as the thread does.
func (c *traced) learn(now int64, l Learned) {
	if c.trace.on() {
		c.trace.line("%d learn %+v", now, l)
	}
	c.core.learn(now, &l)
	c.trace.after()
}
