// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/orchagent-ext/export/ipfix"
	"sluice/orchagent-ext/testbed/ipfixtest"
)

// exported runs the command to a collector and returns the records it heard.
func exported(t *testing.T, n int, args ...string) []ipfixtest.Record {
	t.Helper()
	c := ipfixtest.Listen(t, "tcp", "127.0.0.1:0", nil)
	good(t, append([]string{"export", "--collector", c.Addr, "--transport", "tcp"}, args...)...)
	got := c.WaitRecords(t, n)
	if len(got) != n {
		t.Errorf("%d records, want %d", len(got), n)
	}
	return got
}

func TestExportPackets(t *testing.T) {
	file := captures + "rc-send-ipv4.pcap"
	packets := records(t, file)
	got := exported(t, len(packets), file, "--mode", "packet")
	for i, p := range packets {
		for name, theirs := range map[string]string{"opcode": "rdmaOpCode", "psn": "rdmaPacketSequenceNumber", "dst_qp": "rdmaDestinationQP", "sport": "sourceTransportPort"} {
			if want := uint64(p[name].(float64)); got[i][theirs] != want {
				t.Errorf("packet %d: %s %v, want %d", i, theirs, got[i][theirs], want)
			}
		}
		qp, known := got[i]["rdmaSourceQP"]
		if want, is := p["src_qp"].(float64); is != known || known && qp != uint64(want) {
			t.Errorf("packet %d: source QP %v, want %v", i, qp, p["src_qp"])
		}
	}
	sampled := exported(t, 11, file, "--mode", "packet", "--sampling", "10")
	for i, r := range sampled {
		if want := uint64(packets[10*i]["psn"].(float64)); r["rdmaPacketSequenceNumber"] != want || r["selectorId"] != uint64(1) {
			t.Errorf("sample %d is %v, want PSN %d", i, r, want)
		}
	}
}

func TestExportBiflows(t *testing.T) {
	for _, r := range exported(t, 2, captures+"cm-rc-write-read-ipv4.pcap", "--biflow") {
		if r["sourceTransportPort"] == uint64(62017) && (r["packetDeltaCount"] != uint64(2) || r["reverse packetDeltaCount"] != uint64(5) || r["reverse sourceTransportPort"] != uint64(57236)) {
			t.Errorf("%v", r)
		}
	}
}

func TestExportTimeouts(t *testing.T) {
	file := captures + "rc-send-ipv4.pcap" // two flows; their last packets come after 5 seconds
	sum := func(args ...string) (reasons map[uint64]int) {
		c := ipfixtest.Listen(t, "tcp", "127.0.0.1:0", nil)
		_, errs := good(t, append([]string{"export", file, "--collector", c.Addr, "--transport", "tcp"}, args...)...)
		reasons = map[uint64]int{}
		c.Wait(t, "the end", func(s []*ipfixtest.Decoder) bool { return len(s) == 1 && s[0].Withdrawn > 0 })
		packets := uint64(0)
		c.Look(func(s []*ipfixtest.Decoder) {
			for _, r := range s[0].Records {
				reasons[r["flowEndReason"].(uint64)]++
				packets += r["packetDeltaCount"].(uint64)
			}
		})
		if packets != 105 {
			t.Errorf("%v: %d packets, want 105: %s", args, packets, errs)
		}
		return reasons
	}
	if got := sum(); got[uint64(ipfix.ForcedEnd)] != 2 || len(got) != 1 {
		t.Errorf("end reasons %v", got)
	}
	if got := sum("--active", "1s", "--idle", "1h"); got[uint64(ipfix.ActiveTimeout)] != 2 || len(got) != 1 {
		t.Errorf("--active 1s: end reasons %v", got)
	}
	if got := sum("--idle", "300ms"); got[uint64(ipfix.IdleTimeout)] < 2 {
		t.Errorf("--idle 300ms: end reasons %v", got)
	}
}

//conformance:draft-lin/iana
func TestExportRegistry(t *testing.T) {
	out := filepath.Join(t.TempDir(), "flows.ipfix")
	_, errs := good(t, "export", captures+"rc-send-ipv4.pcap", "--file", out)
	if want := "warning: enterprise number 32473 is for documentation (RFC 5612)"; !strings.Contains(errs, want) {
		t.Errorf("%q, want %q", errs, want)
	}
	_, errs = good(t, "export", captures+"rc-send-ipv4.pcap", "--file", out, "--force", "--pen", "4242", "--first-element", "77")
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	field := "\x80\x4d\x00\x01\x00\x00\x10\x92" // 77, one octet, of 4242
	if strings.Contains(errs, "warning") || !strings.Contains(string(b), field) {
		t.Errorf("%q; the element in the file: %v", errs, strings.Contains(string(b), field))
	}
	_, errs = good(t, "export", captures+"rc-send-ipv4.pcap", "--file", out, "--force", "--pen", "0", "--element-ids", "600,601,602,603,604,605,606,800")
	b, err = os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	field = "\x02\x58\x00\x01\x02\x59\x00\x02\x02\x5a\x00\x04" // 600 to 602, of IANA
	last := "\x02\x5e\x00\x01\x03\x20\x00\x01"                 // 606 and 800
	if strings.Contains(errs, "warning") || !strings.Contains(string(b), field) || !strings.Contains(string(b), last) {
		t.Errorf("%q; the elements in the file: %v, %v", errs, strings.Contains(string(b), field), strings.Contains(string(b), last))
	}
}

// TestExportWithoutClientCertificate: what is encrypted needs the CA's file alone,
// where the collector asks for no certificate. The capture does not end before the collector
// has the records: a DTLS session that ends may take along what is not read yet.
func TestExportWithoutClientCertificate(t *testing.T) {
	a := ipfixtest.NewAuthority(t)
	_, _, pair := a.Sign(t, "collector")
	for _, transport := range []string{"tls", "dtls"} {
		t.Run(transport, func(t *testing.T) {
			c := ipfixtest.Listen(t, transport, "127.0.0.1:0", &ipfixtest.Security{Certificate: pair})
			capture, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
			if err != nil {
				t.Fatal(err)
			}
			in, feed := io.Pipe()
			var out, errs printed
			code := make(chan int)
			go func() {
				code <- run(t.Context(), []string{"export", "-", "--mode", "packet", "--collector", c.Addr, "--transport", transport, "--ca", a.File}, in, &out, &errs)
			}()
			if _, err := feed.Write(capture); err != nil {
				t.Fatal(err)
			}
			c.WaitRecords(t, 2)
			_ = feed.Close()
			if got := <-code; got != 0 {
				t.Errorf("exit code %d: %s", got, errs.String())
			}
		})
	}
}

func TestExportToNobody(t *testing.T) {
	file := captures + "rc-send-ipv4.pcap"
	stranger := ipfixtest.NewAuthority(t)
	a := ipfixtest.NewAuthority(t)
	_, _, pair := a.Sign(t, "collector")
	there := ipfixtest.Listen(t, "tls", "127.0.0.1:0", &ipfixtest.Security{Certificate: pair})
	for _, tt := range []struct{ args, want string }{
		{"--file a --collector b", "either --collector or --file"},
		{"", "either --collector or --file"},
		{"--file /none/x", "no such file or directory"},
		{"--collector 127.0.0.1 --transport sctp", "udp, tcp, tls, dtls are allowed"},
		{"--collector 127.0.0.1 --transport tls", "tls needs a CA file"},
		{"--collector 127.0.0.1 --path-mtu 100", "512 to 65535"},
		{"--collector 127.0.0.1 --first-element 0", "1 to 32758"},
		{"--collector 127.0.0.1 --pen 0", "--element-ids"},
		{"--collector 127.0.0.1 --pen 0 --first-element 503", "nothing is counted up from it; give the ids that IANA assigned one by one (element_ids, --element-ids)"},
		{"--collector 127.0.0.1 --pen 0 --element-ids 600,601", "8 are wanted"},
		{"--collector 127.0.0.1 --pen 0 --element-ids 600,601,602,603,604,605,606,65537", "element id 65535 of rdmaBTHFlags3"},
		{"--collector 127.0.0.1 --element-ids 600,601,602,603,604,605,606,607", "go with enterprise number 0"},
		// Whether the collector has closed before the last octet is sent, or after it, is the
		// scheduler's choice.
		{"--collector " + closes(t) + " --transport tcp", "not all may have arrived|broken pipe|connection reset"},
		{"--collector 127.0.0.1 --sampling 0", "must be more than 0"},
		{"--collector 127.0.0.1 --mode session", "flow, packet"},
		{"--collector 127.0.0.1:1 --transport tcp --timeout 1ms", "connection refused"},
		{"--collector 127.0.0.1:1", "port unreachable: no collector listens there"},
		{"--collector " + there.Addr + " --transport tls --timeout 1ms --ca " + stranger.File, "unknown authority"},
	} {
		out, errs, code := sluice(nil, append([]string{"export", file}, strings.Fields(tt.args)...)...)
		lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(errs), "\n"), func(l string) bool { return strings.HasPrefix(l, "warning") })
		said := func(want string) bool { return strings.Contains(lines[len(lines)-1], want) }
		if code != 1 || out != "" || !slices.ContainsFunc(strings.Split(tt.want, "|"), said) {
			t.Errorf("export %s: exit code %d, stdout %q, stderr %q; want %q", tt.args, code, out, errs, tt.want)
		}
	}
}

func TestCollectorWithoutPort(t *testing.T) {
	for address, want := range map[string]string{
		"h": "h:4739", "h:1": "h:1", "192.0.2.1": "192.0.2.1:4739",
		"::1": "[::1]:4739", "[::1]": "[::1]:4739", "[::1]:1": "[::1]:1", "fe80::1%eth0": "[fe80::1%eth0]:4739",
	} {
		if got := withPort(address, 4739); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

// closes is the address of one who closes every connection at once.
func closes(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() }) //nolint:errcheck // the test is over
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close() //nolint:errcheck // that is what it does
		}
	}()
	return l.Addr().String()
}

// TestExportStopped: how far it came, on one line.
func TestExportStopped(t *testing.T) {
	c := ipfixtest.Listen(t, "tcp", "127.0.0.1:0", nil)
	c.Pause()
	capture := filepath.Join(t.TempDir(), "many")
	good(t, "gen", capture, "--packets", "200000", "--payload", "0")
	ctx, stop := context.WithCancel(t.Context())
	var errs bytes.Buffer
	code := make(chan int)
	go func() {
		code <- run(ctx, []string{"export", capture, "--mode", "packet", "--pen", "4", "--collector", c.Addr, "--transport", "tcp", "--timeout", "1s"}, nil, io.Discard, &errs)
	}()
	c.Wait(t, "a connection", func(s []*ipfixtest.Decoder) bool { return len(s) > 0 })
	stop()
	if got := <-code; got != 1 || strings.Count(errs.String(), "\n") != 1 || !strings.Contains(errs.String(), "stopped after packet ") || !strings.Contains(errs.String(), c.Addr+" (tcp): ") {
		t.Errorf("exit code %d: %s", got, &errs)
	}
}
