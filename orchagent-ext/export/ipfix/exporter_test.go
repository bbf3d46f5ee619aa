// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/tests/loopback"
)

const patience = 2 * time.Minute

// start runs an exporter, with times that suit a test, until the test ends.
// stop closes it and waits until it has sent what it has.
func start(tb testing.TB, c ipfix.Config) (e *ipfix.Exporter, stop func()) {
	tb.Helper()
	c.Backoff = time.Millisecond
	if c.Drain == 0 {
		c.Drain = patience
	}
	if c.Linger == 0 {
		c.Linger = time.Millisecond
	}
	e, err := ipfix.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(tb.Context())
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	stop = func() {
		tb.Helper()
		e.Close()
		cancel()
		select {
		case err := <-ended:
			ended <- err
			if err != nil {
				tb.Error(err)
			}
		case <-time.After(patience):
			tb.Error("the exporter does not end")
		}
	}
	tb.Cleanup(stop)
	return e, stop
}

// wait waits until ok says so of the exporter's only collector.
func wait(tb testing.TB, e *ipfix.Exporter, what string, ok func(ipfix.Stats) bool) ipfix.Stats {
	tb.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s := e.Stats()[0]
		if ok(s) {
			return s
		}
		if time.Now().After(end) {
			tb.Fatalf("waited in vain for %s: %+v", what, s)
		}
	}
}

// numbered is n records that their PSN tells apart, of several templates.
func numbered(n int) []ipfix.Record {
	records := make([]ipfix.Record, n)
	for i := range records {
		records[i] = sample(i%3 == 0)
		records[i].Packet = i%5 == 0
		records[i].PSN = uint32(i)
	}
	return records
}

//conformance:draft-lin/security draft-lin/encryption
func TestEveryTransport(t *testing.T) {
	const n = 200 // what a socket buffer holds
	for _, transport := range []ipfix.Transport{ipfix.UDP, ipfix.TCP, ipfix.TLS, ipfix.DTLS} {
		for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
			t.Run(transport.String()+" "+address, func(t *testing.T) {
				to := ipfix.Collector{Transport: transport}
				security := secure(t, &to)
				collector := ipfixtest.Listen(t, transport.String(), address, security)
				to.Address = collector.Addr
				e, stop := start(t, ipfix.Config{Collectors: []ipfix.Collector{to}})
				for records := numbered(n); len(records) > 0; records = records[10:] {
					e.Export(records[:10])
				}
				got := collector.WaitRecords(t, n)
				stop()
				for i, r := range numbered(n) {
					if diff := cmp.Diff(want(r), got[i], comparer); diff != "" {
						t.Fatalf("record %d: %s", i, diff)
					}
				}
				collector.Wait(t, "the end", func(s []*ipfixtest.Decoder) bool {
					return transport == ipfix.UDP || transport == ipfix.DTLS || s[0].Withdrawn == 2
				})
				collector.Look(func(s []*ipfixtest.Decoder) {
					if len(s) != 1 || len(s[0].Gaps) > 0 || s[0].Unknown > 0 || (s[0].Withdrawn != 0) != (to.CAFile == "" && transport == ipfix.TCP || transport == ipfix.TLS) {
						t.Errorf("%d sessions, gaps %v, %d sets without template, %d withdrawals", len(s), s[0].Gaps, s[0].Unknown, s[0].Withdrawn)
					}
					if ignored, notSent := s[0].Options[1], s[0].Options[2]; ignored["ignoredPacketTotalCount"] != uint64(0) || notSent["notSentFlowTotalCount"] != uint64(0) {
						t.Errorf("statistics: %v, %v", ignored, notSent)
					}
				})
				stats := e.Stats()[0]
				if stats.Records != n || stats.Dropped != 0 || stats.Waiting != 0 || stats.Connects != 1 {
					t.Errorf("%+v", stats)
				}
			})
		}
	}
}

// secure makes certificates for both sides, where the transport wants them.
func secure(tb testing.TB, to *ipfix.Collector) *ipfixtest.Security {
	if to.Transport != ipfix.TLS && to.Transport != ipfix.DTLS {
		return nil
	}
	a := ipfixtest.NewAuthority(tb)
	_, _, pair := a.Sign(tb, "collector")
	to.CAFile = a.File
	to.CertFile, to.KeyFile, _ = a.Sign(tb, "exporter")
	return &ipfixtest.Security{Certificate: pair, Clients: a.Pool}
}

func TestRunEndsWhenAllRecordsAreSent(t *testing.T) {
	collector := ipfixtest.Listen(t, "tcp", "127.0.0.1:0", nil)
	e, err := ipfix.New(ipfix.Config{Collectors: []ipfix.Collector{{Address: collector.Addr, Transport: ipfix.TCP}}, Drain: patience})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	wait(t, e, "a connection", func(s ipfix.Stats) bool { return s.Connected })
	e.Export(numbered(100)) // as a flow table that is flushed at the end
	e.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	collector.WaitRecords(t, 100)
}

func TestRunEndsWithoutCollector(t *testing.T) {
	e, err := ipfix.New(ipfix.Config{Collectors: []ipfix.Collector{{Address: loopback.Free(t, "tcp", 1)[0], Transport: ipfix.TCP}}, Drain: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	e.Export(numbered(100))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Run(ctx); err != nil {
		t.Error(err)
	}
	if s := e.Stats()[0]; s.Dropped != 100 || s.Records != 0 || s.Waiting != 0 {
		t.Errorf("%+v", s)
	}
}

func TestConfigErrors(t *testing.T) {
	authority := ipfixtest.NewAuthority(t)
	cert, _, _ := authority.Sign(t, "exporter")
	for _, tt := range []struct {
		name, want string
		to         ipfix.Collector
		registry   ipfix.Registry
	}{
		{name: "no port", to: ipfix.Collector{Address: "10.0.0.1"}, want: `"10.0.0.1" is not HOST:PORT`},
		{name: "port 0", to: ipfix.Collector{Address: "10.0.0.1:0"}, want: "port of 1 to 65535"},
		{name: "no host", to: ipfix.Collector{Address: ":4739"}, want: "is not HOST:PORT"},
		{name: "path MTU", to: ipfix.Collector{Address: "h:1", PathMTU: 511}, want: "512 to 65535"},
		{name: "transport", to: ipfix.Collector{Address: "h:1", Transport: 4}, want: "udp, tcp, tls, dtls"},
		{name: "no CA", to: ipfix.Collector{Address: "h:1", Transport: ipfix.TLS}, want: "tls needs a CA file"},
		{name: "CA of udp", to: ipfix.Collector{Address: "h:1", CAFile: authority.File}, want: "certificates are for tls and dtls"},
		{name: "half an identity", to: ipfix.Collector{Address: "h:1", Transport: ipfix.TLS, CAFile: authority.File, CertFile: cert}, want: "go together"},
		{name: "element id", to: ipfix.Collector{Address: "h:1"}, registry: ipfix.Registry{PEN: 1, First: 32759}, want: "1 to 32758"},
		{name: "element id in use", to: ipfix.Collector{Address: "h:1"}, registry: ipfix.Registry{First: 502}, want: "with enterprise number 0 nothing is counted up"},
	} {
		_, err := ipfix.New(ipfix.Config{Process: ipfix.Process{Registry: tt.registry}, Collectors: []ipfix.Collector{tt.to}})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	if _, err := ipfix.New(ipfix.Config{}); err == nil {
		t.Error("an exporter without a collector")
	}
}
