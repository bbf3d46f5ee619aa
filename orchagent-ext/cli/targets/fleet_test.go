// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"sluice/yang/rows"
)

// fakeSwitch is a gNMI server on loopback that answers each Subscribe and Set as functions do.
type fakeSwitch struct {
	gpb.UnimplementedGNMIServer
	answer func(stream grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error
	set    func(ctx context.Context, r *gpb.SetRequest) error
}

// Set implements gNMI's service.
func (f *fakeSwitch) Set(ctx context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
	return &gpb.SetResponse{}, f.set(ctx, r)
}

// Subscribe implements gNMI's service.
func (f *fakeSwitch) Subscribe(stream grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
	if _, err := stream.Recv(); err != nil {
		return err
	}
	return f.answer(stream)
}

// serve serves a switch until the test ends, and returns its address. identity is nil for plain
// text.
func serve(t testing.TB, f *fakeSwitch, identity credentials.TransportCredentials) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var options []grpc.ServerOption
	if identity != nil {
		options = append(options, grpc.Creds(identity))
	}
	s := grpc.NewServer(options...)
	gpb.RegisterGNMIServer(s, f)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
	return l.Addr().String()
}

// silent listens and never says a word, as a switch whose process is stopped.
func silent(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// row is an update of a row's field.
func row(path string, value *gpb.TypedValue) *gpb.Update {
	u := &gpb.Update{Path: &gpb.Path{}, Val: value}
	for name := range strings.SplitSeq(path, "/") {
		u.Path.Elem = append(u.Path.Elem, &gpb.PathElem{Name: name})
	}
	return u
}

// said is a value that is a text.
func said(s string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: s}}
}

// update is a message of updates at a time.
func update(at time.Time, all ...*gpb.Update) *gpb.SubscribeResponse {
	return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: &gpb.Notification{Timestamp: at.UnixNano(), Update: all}}}
}

// synced ends an answer.
var synced = &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}}

// sends answers with messages.
func sends(all ...*gpb.SubscribeResponse) *fakeSwitch {
	return &fakeSwitch{answer: func(stream grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
		for _, m := range all {
			if err := stream.Send(m); err != nil {
				return err
			}
		}
		return nil
	}}
}

// running is a switch that runs.
func running() *fakeSwitch {
	return sends(update(time.Unix(1000, 0), row("STATE_DB/localhost/SLUICE_STATE/global/state", said("running"))), synced)
}

// state is the question of these tests.
var state = map[string][]string{"STATE_DB": {"SLUICE_STATE"}}

// plainFleet returns a fleet that asks in plain text, with time enough.
func plainFleet(t testing.TB, all ...Target) *Fleet {
	t.Helper()
	f, err := NewFleet(all, Options{Plain: true, Timeout: 3 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// TestOneSwitchThatHangsCostsItsOwnAnswer: 8 of 128 switches never answer; the others do, each
// with its own rows, and the time of the 8 is over alone.
func TestOneSwitchThatHangsCostsItsOwnAnswer(t *testing.T) {
	const n, hanging = 128, 8
	var all []Target
	for i := range n {
		address := ""
		if i%(n/hanging) == 3 {
			address = silent(t)
		} else {
			address = serve(t, sends(update(time.Unix(int64(i), 1), row("STATE_DB/localhost/SLUICE_STATE/global/version", said(fmt.Sprint(i)))), synced), nil)
		}
		all = append(all, Target{Name: fmt.Sprint("leaf", i), Address: address})
	}
	f := plainFleet(t, all...)
	over, end := context.WithCancel(t.Context()) // the time of all, when the others have answered
	defer end()
	var answered atomic.Int32
	f.limit = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(over, func() { cancel(lateError(Timeout)) })
		return ctx, func() {
			if answered.Add(1) == n-hanging {
				end()
			}
			stop()
			cancel(nil)
		}
	}
	readings := f.Read(t.Context(), state)
	for i, r := range readings {
		if r.Target.Name != fmt.Sprint("leaf", i) {
			t.Errorf("answer %d is of %s", i, r.Target.Name)
		}
		if i%(n/hanging) == 3 {
			if r.Err == nil || r.Err.Error() != "deadline exceeded after 1.5 s" || r.Rows != nil {
				t.Errorf("%s hangs: %v, %v", r.Target.Name, r.Rows, r.Err)
			}
			continue
		}
		want := []rows.Row{{Table: "SLUICE_STATE", Key: "global", Fields: map[string]string{"version": fmt.Sprint(i)}}}
		if diff := cmp.Diff(want, r.Rows); diff != "" || r.Err != nil || !r.At.Equal(time.Unix(int64(i), 1)) {
			t.Errorf("%s: %v at %v (-want +got):\n%s", r.Target.Name, r.Err, r.At, diff)
		}
	}
}

// TestSwitchHasItsTime: the limits of a question and a change, in virtual time, and the error that names one.
func TestSwitchHasItsTime(t *testing.T) {
	for name, tt := range map[string]struct {
		o         Options
		read, set time.Duration
		says      string
	}{
		"by default":              {Options{}, 1500 * time.Millisecond, 10 * time.Second, "deadline exceeded after 1.5 s"},
		"a short one":             {Options{Timeout: 200 * time.Millisecond}, 200 * time.Millisecond, 10 * time.Second, "deadline exceeded after 0.2 s"},
		"one longer than a Set's": {Options{Timeout: time.Minute}, time.Minute, time.Minute, "deadline exceeded after 60 s"},
		"both":                    {Options{Timeout: time.Minute, SetTimeout: time.Second}, time.Minute, time.Second, "deadline exceeded after 60 s"},
	} {
		synctest.Test(t, func(t *testing.T) {
			f, err := NewFleet(nil, tt.o)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			reads, stop := f.limit(t.Context())
			defer stop()
			sets, stop := f.limitSet(t.Context())
			defer stop()
			late, _ := sets.Deadline()
			if set := late.Sub(began); set != tt.set {
				t.Errorf("%s: a change has %v", name, set)
			}
			<-reads.Done()
			if read := time.Since(began); read != tt.read {
				t.Errorf("%s: a question has %v", name, read)
			}
			if says := reason(reads, context.DeadlineExceeded); says == nil || says.Error() != tt.says {
				t.Errorf("%s: %v", name, says)
			}
		})
	}
}

// TestSwitchThatFailsIsNamedWithTheReason: a switch that refuses, closes, lies, sends too much or
// ends early is an error of its own, in one line, and the others answer.
func TestSwitchThatFailsIsNamedWithTheReason(t *testing.T) {
	closed := silent(t)
	l, err := net.Listen("tcp", closed[:strings.LastIndex(closed, ":")]+":0")
	if err != nil {
		t.Fatal(err)
	}
	gone := l.Addr().String()
	_ = l.Close()
	at := time.Unix(1000, 0)
	big := strings.Repeat("x", 3<<20)
	endless := &fakeSwitch{answer: func(stream grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
		for i := 0; ; i++ {
			if err := stream.Send(update(at, row(fmt.Sprint("STATE_DB/localhost/SLUICE_STATE/", i, "/version"), said(big)))); err != nil {
				return err
			}
		}
	}}
	for name, tt := range map[string]struct {
		address string
		f       *fakeSwitch
		want    string
	}{
		"is not there":         {gone, nil, "connect: connection refused"},
		"has no such address":  {"127.0.0.1:nothing", nil, "unknown port"},
		"has another protocol": {"", nil, ""},
		"refuses": {"", &fakeSwitch{answer: func(grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
			return status.Error(codes.PermissionDenied, "bob may not read\x1b[2J")
		}}, "bob may not read·[2J"},
		"refuses without a word": {"", &fakeSwitch{answer: func(grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
			return status.Error(codes.Unavailable, "")
		}}, "Unavailable"},
		"ends early":                {"", sends(update(at, row("STATE_DB/localhost/SLUICE_STATE/global/state", said("running")))), "ends before it is whole"},
		"says nothing":              {"", sends(), "ends before it is whole"},
		"sends another table":       {"", sends(update(at, row("STATE_DB/localhost/SLUICE_FLOW/global/state", said("running"))), synced), "what was not asked for: /STATE_DB/localhost/SLUICE_FLOW/global/state"},
		"sends another database":    {"", sends(update(at, row("CONFIG_DB/localhost/SLUICE_STATE/global/state", said("running"))), synced), "what was not asked for"},
		"sends a row alone":         {"", sends(update(at, row("STATE_DB/localhost/SLUICE_STATE/global", said("running"))), synced), "what was not asked for"},
		"sends no path":             {"", sends(update(at, &gpb.Update{Val: said("x")}), synced), "what was not asked for"},
		"sends a number":            {"", sends(update(at, row("STATE_DB/localhost/SLUICE_STATE/global/flows", &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 7}})), synced), "must be a text"},
		"sends no value":            {"", sends(update(at, row("STATE_DB/localhost/SLUICE_STATE/global/flows", nil)), synced), "must be a text"},
		"sends without an end":      {"", endless, "more than 16 MiB"},
		"sends more than a message": {"", sends(update(at, row("STATE_DB/localhost/SLUICE_STATE/global/version", said(strings.Repeat("x", mostMessage)))), synced), "larger than max"},
		"sends hostile names":       {"", sends(update(at, row("STATE_DB/localhost/\x1b[2J"+strings.Repeat("n", 10000)+"/global/state", said("running"))), synced), "/STATE_DB/localhost/·[2Jnnn"},
	} {
		t.Run(name, func(t *testing.T) {
			address := tt.address
			switch {
			case name == "has another protocol":
				address, tt.want = other(t), "http2"
			case tt.f != nil:
				address = serve(t, tt.f, nil)
			}
			good := serve(t, running(), nil)
			r := plainFleet(t, Target{Name: "bad", Address: address}, Target{Name: "good", Address: good}).Read(t.Context(), state)
			if r[0].Err == nil || !strings.Contains(r[0].Err.Error(), tt.want) || r[0].Rows != nil {
				t.Errorf("%v, %v; want %q", r[0].Rows, r[0].Err, tt.want)
			}
			if said := fmt.Sprint(r[0].Err); len(said) > 2*longestReason || strings.ContainsAny(said, "\x1b\n") {
				t.Errorf("%d octets: %q", len(said), said)
			}
			if r[1].Err != nil || len(r[1].Rows) != 1 {
				t.Errorf("the other switch: %v, %v", r[1].Rows, r[1].Err)
			}
		})
	}
}

// other serves another protocol than gRPC.
func other(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.6\r\n"))
			_, _ = io.Copy(io.Discard, c) // until the client closes
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// TestRowsComeAsTheDatabasesHaveThem: leaf-lists, rows without fields, ports that are lent, and a
// key with a slash.
func TestRowsComeAsTheDatabasesHaveThem(t *testing.T) {
	list := &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: &gpb.ScalarArray{Element: []*gpb.TypedValue{said("3"), said("4")}}}}
	key := func(table, key, leaf string, v *gpb.TypedValue) *gpb.Update {
		u := row("CONFIG_DB/localhost/"+table, v)
		u.Path.Elem = append(u.Path.Elem, &gpb.PathElem{Name: key}, &gpb.PathElem{Name: leaf})
		return u
	}
	f := sends(update(time.Unix(1000, 0),
		key("SLUICE_THRESHOLD", "gold", "queues", list), key("SLUICE_THRESHOLD", "gold", "high_bytes", said("7")),
		key("SLUICE_PPFC_PEER", "10.0.0.0/8", "NULL", said("NULL")),
		key("SLUICE_PORT", "PortChannel1", "role", said("edge")), key("SLUICE_PORT", "Ethernet0", "role", said("edge")),
		row("COUNTERS_DB/localhost/SLUICE_PORT_STATS/Ethernet0/rx_packets", said("1")), row("COUNTERS_DB/localhost/SLUICE_PORT_STATS/Ethernet4/rx_packets", said("1")),
	), synced)
	r := plainFleet(t, Target{Name: "leaf1", Address: serve(t, f, nil)}).Read(t.Context(), map[string][]string{"CONFIG_DB": {"SLUICE_THRESHOLD", "SLUICE_PPFC_PEER", "PORT", "PORTCHANNEL"}})
	want := []rows.Row{
		{Table: "PORT", Key: "Ethernet0"}, {Table: "PORT", Key: "Ethernet4"}, {Table: "PORTCHANNEL", Key: "PortChannel1"},
		{Table: "SLUICE_PPFC_PEER", Key: "10.0.0.0/8", Fields: map[string]string{}},
		{Table: "SLUICE_THRESHOLD", Key: "gold", Fields: map[string]string{"queues@": "3,4", "high_bytes": "7"}},
	}
	if diff := cmp.Diff(want, r[0].Rows); diff != "" || r[0].Err != nil {
		t.Errorf("%v (-want +got):\n%s", r[0].Err, diff)
	}
}

// TestSkewIsThatOfTheSwitch: the clock of a switch is compared in the middle of its answer.
func TestSkewIsThatOfTheSwitch(t *testing.T) {
	ahead := time.Now().Add(time.Hour)
	r := plainFleet(t, Target{Name: "leaf1", Address: serve(t, sends(update(ahead, row("STATE_DB/localhost/SLUICE_STATE/global/state", said("running"))), synced), nil)}).Read(t.Context(), state)[0]
	if off := r.Skew - time.Hour; r.Err != nil || off > 0 || off < -3*time.Minute || r.Uncertain <= 0 {
		t.Errorf("%v ahead, ±%v: %v", r.Skew, r.Uncertain, r.Err)
	}
	silent := plainFleet(t, Target{Name: "leaf1", Address: serve(t, sends(synced), nil)}).Read(t.Context(), state)[0]
	if silent.Err != nil || !silent.At.IsZero() || silent.Skew != 0 {
		t.Errorf("without a row: %v ahead at %v: %v", silent.Skew, silent.At, silent.Err)
	}
}

// TestReadEndsWithItsContext: Ctrl-C ends a question to switches that hang.
func TestReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := plainFleet(t, Target{Name: "a", Address: silent(t)}, Target{Name: "b", Address: silent(t)})
	first := f.limit
	f.limit = func(ctx context.Context) (context.Context, context.CancelFunc) {
		defer cancel()
		return first(ctx)
	}
	for _, r := range f.Read(ctx, state) {
		if !errors.Is(r.Err, context.Canceled) {
			t.Errorf("%s: %v", r.Target.Name, r.Err)
		}
	}
}

// far is a connection to an address, which may be elsewhere.
type far struct {
	net.Conn
	to     net.Addr
	closed bool
}

func (f *far) RemoteAddr() net.Addr { return f.to }

func (f *far) Close() error { f.closed = true; return nil }

// TestPlainTextStaysOnThisMachine: a name that leads elsewhere gets nothing in plain text.
func TestPlainTextStaysOnThisMachine(t *testing.T) {
	tcp := func(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: Port} }
	for _, tt := range []struct {
		to   net.Addr
		stay bool
	}{
		{tcp("127.0.0.1"), true}, {tcp("::1"), true}, {&net.UnixAddr{Name: "gnmi.sock"}, true},
		{tcp("192.0.2.1"), false}, {tcp("fe80::1"), false}, {tcp("::ffff:192.0.2.1"), false}, {tcp("0.0.0.0"), false},
	} {
		f := &far{to: tt.to}
		if c, err := onLoopback(f); (err == nil) != tt.stay || (c != nil) != tt.stay || f.closed == tt.stay {
			t.Errorf("%v: %v, closed %v, %v", tt.to, c, f.closed, err)
		}
	}
	fleet, err := NewFleet([]Target{{Name: "leaf1", Address: "leaf1", Plain: true}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer fleet.Close()
	elsewhere := &far{to: tcp("192.0.2.1")}
	fleet.dial = func(context.Context, string, string) (net.Conn, error) { return elsewhere, nil }
	if r := fleet.Read(t.Context(), nil)[0]; r.Err == nil || !strings.Contains(r.Err.Error(), "plain text is for loopback alone") || !elsewhere.closed {
		t.Errorf("closed %v, %v", elsewhere.closed, r.Err)
	}
}
