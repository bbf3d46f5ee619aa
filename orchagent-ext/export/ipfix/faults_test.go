// SPDX-License-Identifier: Apache-2.0

package ipfix_test

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/host/files"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/tests/loopback"
)

// TestFilesAreReadAsConfigured: what the caller refuses to read is not opened, whichever
// file it is, and the reason is said. The FIFO would hold the exporter up for good.
func TestFilesAreReadAsConfigured(t *testing.T) {
	folder := t.TempDir()
	fifo := filepath.Join(folder, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, transport := range []ipfix.Transport{ipfix.TLS, ipfix.DTLS} {
		for leaf, bend := range map[string]func(*ipfix.Collector){
			"ca_file":   func(c *ipfix.Collector) { c.CAFile = fifo },
			"cert_file": func(c *ipfix.Collector) { c.CertFile = fifo },
			"key_file":  func(c *ipfix.Collector) { c.KeyFile = fifo },
		} {
			to := ipfix.Collector{Transport: transport}
			security := secure(t, &to)
			collector := ipfixtest.Listen(t, transport.String(), "127.0.0.1:0", security)
			to.Address = collector.Addr
			folders := files.Reader{Folders: []string{folder, filepath.Dir(to.CAFile)}}
			bend(&to)
			e, err := ipfix.New(ipfix.Config{Collectors: []ipfix.Collector{to}, Backoff: time.Millisecond, GiveUp: time.Millisecond, Read: folders.Read})
			if err != nil {
				t.Fatal(err)
			}
			e.Export(numbered(1))
			if err = e.Run(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%s %q: not a regular file", leaf, fifo)) {
				t.Errorf("%v, %s: %v", transport, leaf, err)
			}
		}
	}
}

//conformance:draft-lin/security
func TestWrongCertificateIsRefusedAndSaid(t *testing.T) {
	for _, transport := range []ipfix.Transport{ipfix.TLS, ipfix.DTLS} {
		for _, wrong := range []string{"collector", "exporter"} {
			t.Run(transport.String()+" of the "+wrong, func(t *testing.T) {
				to := ipfix.Collector{Transport: transport}
				security := secure(t, &to)
				stranger := ipfixtest.NewAuthority(t)
				if wrong == "collector" {
					_, _, security.Certificate = stranger.Sign(t, "collector")
				} else {
					security.Clients = stranger.Pool
				}
				collector := ipfixtest.Listen(t, transport.String(), "127.0.0.1:0", security)
				to.Address = collector.Addr
				e, err := ipfix.New(ipfix.Config{Collectors: []ipfix.Collector{to}, Backoff: time.Millisecond, GiveUp: time.Millisecond})
				if err != nil {
					t.Fatal(err)
				}
				e.Export(numbered(10))
				if err = e.Run(t.Context()); err == nil || !strings.Contains(strings.ToLower(err.Error()), "certificate") {
					t.Errorf("%v", err)
				}
				if s := e.Stats()[0]; s.Connected || !strings.Contains(strings.ToLower(s.Error), "certificate") {
					t.Errorf("%+v", s)
				}
				var unknown x509.UnknownAuthorityError
				if wrong == "collector" && transport == ipfix.TLS && !errors.As(err, &unknown) {
					t.Errorf("%v is not of an unknown authority", err)
				}
				collector.Look(func(s []*ipfixtest.Decoder) {
					for _, d := range s {
						if d.Messages > 0 {
							t.Errorf("%d messages were heard", d.Messages)
						}
					}
				})
			})
		}
	}
}

// TestCollectorComesDiesAndComesBack: down at the start, then there, then gone,
// then there again.
func TestCollectorComesDiesAndComesBack(t *testing.T) {
	for _, transport := range []ipfix.Transport{ipfix.UDP, ipfix.TCP, ipfix.TLS, ipfix.DTLS} {
		t.Run(transport.String(), func(t *testing.T) {
			network := "tcp"
			if transport == ipfix.UDP || transport == ipfix.DTLS {
				network = "udp"
			}
			to := ipfix.Collector{Transport: transport, Address: loopback.Free(t, network, 1)[0]}
			security := secure(t, &to)
			e, _ := start(t, ipfix.Config{Drain: time.Millisecond, Collectors: []ipfix.Collector{to}})
			next := uint32(0)
			export := func() {
				r := sample(false)
				r.PSN = next
				next++
				e.Export([]ipfix.Record{r})
			}
			unreachable := func() {
				t.Helper()
				wait(t, e, "a report that no collector listens", func(s ipfix.Stats) bool {
					if s.Refused == 0 && next < 1000 {
						export() // UDP learns it by sending
					}
					return s.Refused > 0 || !s.Connected && s.Error != ""
				})
			}
			unreachable()
			for range 2 {
				collector := ipfixtest.Listen(t, transport.String(), to.Address, security)
				collector.Wait(t, "a record that can be read", func(s []*ipfixtest.Decoder) bool {
					export()
					last := len(s) - 1
					return last >= 0 && len(s[last].Records) > 0
				})
				collector.Look(func(s []*ipfixtest.Decoder) {
					for _, d := range s {
						if network == "tcp" && (len(d.Gaps) > 0 || d.Unknown > 0) {
							t.Errorf("gaps %v, %d sets without template", d.Gaps, d.Unknown)
						}
					}
				})
				before := e.Stats()[0].Refused
				collector.Close()
				wait(t, e, "word that it is gone", func(s ipfix.Stats) bool {
					export()
					return s.Refused > before || !s.Connected
				})
			}
		})
	}
}

// countOctets is the address of one who takes one connection, and how many octets
// came over it until it ended: faster than decoding them.
func countOctets(t *testing.T) (address string, heard <-chan uint64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) //nolint:errcheck // the test is over
	octets := make(chan uint64, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		n, err := io.Copy(io.Discard, c)
		if err != nil {
			n = 0
		}
		octets <- uint64(n)
	}()
	return l.Addr().String(), octets
}

//conformance:draft-lin/dos
func TestStalledCollectorHarmsNoOther(t *testing.T) {
	const n, queue = 200_000, 2048
	stalled := ipfixtest.Listen(t, "tcp", "127.0.0.1:0", nil)
	stalled.Pause()
	well, heard := countOctets(t)
	e, stop := start(t, ipfix.Config{Queue: queue, Collectors: []ipfix.Collector{
		{Address: stalled.Addr, Transport: ipfix.TCP}, {Address: well, Transport: ipfix.TCP},
	}})
	batch := numbered(500)
	sent := 0
	for ; sent < n && e.Stats()[0].Dropped == 0; sent += len(batch) {
		for deadline := time.Now().Add(patience); e.Stats()[1].Waiting > queue-len(batch); time.Sleep(time.Millisecond) { // it is only as fast as it is
			if time.Now().After(deadline) {
				t.Fatalf("the other takes nothing: %+v", e.Stats()[1])
			}
		}
		e.Export(batch)
	}
	s := e.Stats()
	if s[0].Dropped == 0 || s[0].Waiting > queue {
		t.Fatalf("the stalled one, after %d records: %+v", sent, s[0])
	}
	if s[1].Dropped > 0 {
		t.Errorf("the other lost records: %+v", s[1])
	}
	stalled.Resume()
	stop()
	s = e.Stats()
	if s[0].Records+s[0].Dropped != uint64(sent) || s[1].Records != uint64(sent) {
		t.Errorf("of %d records: %+v", sent, s)
	}
	select {
	case got := <-heard:
		if got != s[1].Octets {
			t.Errorf("the other heard %d octets of %d", got, s[1].Octets)
		}
	case <-time.After(patience):
		t.Error("the other's connection does not end")
	}
	stalled.WaitRecords(t, int(s[0].Records))
	stalled.Look(func(d []*ipfixtest.Decoder) {
		if len(d) != 1 || len(d[0].Gaps) > 0 {
			t.Errorf("%d sessions, gaps %v", len(d), d[0].Gaps)
		}
	})
}

// TestCertificateThatComesLater: files that cannot be read are said, harm no
// other collector, and are looked at again.
func TestCertificateThatComesLater(t *testing.T) {
	authority := ipfixtest.NewAuthority(t)
	cert, key, _ := authority.Sign(t, "exporter")
	_, _, pair := authority.Sign(t, "collector")
	secret := ipfixtest.Listen(t, "tls", "127.0.0.1:0", &ipfixtest.Security{Certificate: pair, Clients: authority.Pool})
	well := ipfixtest.Listen(t, "tcp", "127.0.0.1:0", nil)
	for _, tt := range []struct {
		name, ca, cert, key, want string
	}{
		{"CA not there", "/none", cert, key, "read CA file: open /none"},
		{"CA is a key", key, cert, key, "no PEM certificate in it"},
		{"swapped", authority.File, key, cert, "load certificate"},
	} {
		to := ipfix.Collector{Address: secret.Addr, Transport: ipfix.TLS, CAFile: tt.ca, CertFile: tt.cert, KeyFile: tt.key}
		e, _ := start(t, ipfix.Config{Drain: time.Millisecond, Collectors: []ipfix.Collector{to, {Address: well.Addr, Transport: ipfix.TCP}}})
		e.Export(numbered(10))
		wait(t, e, tt.name, func(s ipfix.Stats) bool { return !s.Connected && strings.Contains(s.Error, tt.want) })
	}
	well.WaitRecords(t, 30)

	file := filepath.Join(t.TempDir(), "ca.pem")
	to := ipfix.Collector{Address: secret.Addr, Transport: ipfix.TLS, CAFile: file, CertFile: cert, KeyFile: key}
	e, _ := start(t, ipfix.Config{Collectors: []ipfix.Collector{to}})
	e.Export(numbered(10))
	wait(t, e, "no such file", func(s ipfix.Stats) bool { return strings.Contains(s.Error, "no such file") })
	pem, err := os.ReadFile(authority.File)
	if err == nil {
		err = os.WriteFile(file, pem, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	secret.WaitRecords(t, 10)
}

// TestTakesConnectionsOnly: who closes every connection at once is no collector,
// and one that waits for GiveUp learns it.
func TestTakesConnectionsOnly(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close() //nolint:errcheck // that is what it does
		}
	}()
	to := ipfix.Collector{Address: l.Addr().String(), Transport: ipfix.TCP}
	e, err := ipfix.New(ipfix.Config{Collectors: []ipfix.Collector{to}, Backoff: time.Millisecond, GiveUp: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- e.Run(t.Context()) }() // nothing to send, and the input does not end
	select {
	case err := <-ended:
		if err == nil {
			t.Error("it ended well")
		}
	case <-time.After(patience):
		t.Error("it goes on")
	}
}

// TestClosedBeforeTheEnd: it is unknown what a collector that closed has read.
func TestClosedBeforeTheEnd(t *testing.T) {
	for _, transport := range []ipfix.Transport{ipfix.TCP, ipfix.TLS, ipfix.DTLS} {
		to := ipfix.Collector{Transport: transport}
		security := secure(t, &to)
		collector := ipfixtest.Listen(t, transport.String(), "127.0.0.1:0", security)
		to.Address = collector.Addr
		e, stop := start(t, ipfix.Config{Collectors: []ipfix.Collector{to}, Linger: time.Second})
		e.Export(numbered(1))
		collector.WaitRecords(t, 1)
		collector.Close()
		stop()
		if s := e.Stats()[0]; s.Connected || s.Error == "" {
			t.Errorf("%s: %+v", transport, s)
		}
	}
}

// TestAddressWithZone: a certificate is for an address, not for the device that
// leads there.
func TestAddressWithZone(t *testing.T) {
	to := ipfix.Collector{Transport: ipfix.TLS}
	security := secure(t, &to)
	collector := ipfixtest.Listen(t, "tls", "[::1]:0", security)
	to.Address = strings.Replace(collector.Addr, "::1", "::1%lo", 1)
	e, _ := start(t, ipfix.Config{Collectors: []ipfix.Collector{to}})
	e.Export(numbered(1))
	collector.WaitRecords(t, 1)
}
