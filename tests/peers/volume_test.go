// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/tests/capturegen"
)

// many is how many records each collector takes: 100,000 in make soak, and fewer in make test,
// since collectors that the race detector slows down take a minute for so many.
var many = func() int {
	if os.Getenv("SLUICE_SOAK") != "" {
		return 100_000
	}
	return 20_000
}()

// manyPackets writes a capture of so many RoCEv2 packets, each of which is a flow of its own.
func manyPackets(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(root + "/tests/captures/16-clock-back.pcap")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "many.pcap")
	if err := os.WriteFile(name, capturegen.Flows(capturegen.First(b), many), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// paced exports packets over UDP or DTLS to collectors that begin starts, at the default pace
// and, where the collector had no CPU for so long that its socket dropped datagrams, as the
// command reports, at half of it to the next one.
func (s *tool) paced(t *testing.T, capture string, begin func() (address string), args ...string) {
	t.Helper()
	for pace := 10_000; pace >= 300; pace /= 2 {
		more := []string{"--pace", strconv.Itoa(pace) + "kbps"}
		if pace == 10_000 {
			more = nil
		}
		cmd := exec.CommandContext(t.Context(), s.path, append(append([]string{"export", capture, "--mode", "packet", "--collector", begin()}, args...), more...)...)
		out, err := cmd.CombinedOutput()
		t.Logf("%s\n%s", strings.Join(cmd.Args[1:], " "), out)
		if err == nil {
			return
		}
		if !strings.Contains(string(out), "the collector's socket dropped") {
			t.Fatalf("%v", err)
		}
	}
	t.Fatal("datagrams were lost at every pace")
}

// counted returns how many records a collector has, once that no longer grows: it may read slowly.
func counted(c *ipfixtest.Collector) (n int) {
	for end := time.Now().Add(patience); n < many && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		before := n
		n = 0
		c.Look(func(d []*ipfixtest.Decoder) {
			for _, s := range d {
				n += len(s.Records)
			}
		})
		if n > before {
			end = time.Now().Add(patience)
		}
	}
	return n
}

// TestCollectorsTakeManyRecords: each collector counts all of them, over UDP at a pace, and over
// TCP and DTLS where it has them.
//
//conformance:draft-lin/dos
func TestCollectorsTakeManyRecords(t *testing.T) {
	s, capture := newTool(t), manyPackets(t)
	for _, transport := range []string{"udp", "tcp", "dtls"} {
		t.Run("goflow2 "+transport, func(t *testing.T) {
			var c *ipfixtest.Collector
			var security *ipfixtest.Security
			args := []string{"--transport", transport}
			if transport == "dtls" {
				a := ipfixtest.NewAuthority(t)
				_, _, pair := a.Sign(t, "collector")
				security, args = &ipfixtest.Security{Certificate: pair}, append(args, "--ca", a.File)
			}
			s.paced(t, capture, func() string {
				c = ipfixtest.Listen(t, transport, "127.0.0.1:0", security)
				return c.Addr
			}, args...)
			if got := counted(c); got != many {
				t.Errorf("%d records, want %d", got, many)
			}
			c.Look(func(d []*ipfixtest.Decoder) {
				for _, s := range d {
					if len(s.Gaps) > 0 || s.Unknown > 0 {
						t.Errorf("gaps %v, %d sets without template", s.Gaps, s.Unknown)
					}
				}
			})
		})
	}
	t.Run("nfcapd udp", func(t *testing.T) {
		need(t, "nfcapd")
		var said func() string
		s.paced(t, capture, func() string {
			port := freePort(t)
			said = daemon(t, "nfcapd", "-w", t.TempDir(), "-p", port, "-b", "127.0.0.1", "-t", "2")
			wait(t, "nfcapd to listen", func() bool { return strings.Contains(said(), "Startup nfcapd") })
			return "127.0.0.1:" + port
		})
		flows := regexp.MustCompile(`Flows: (\d+)`)
		wait(t, "nfcapd to count all", func() bool {
			n := 0
			for _, m := range flows.FindAllStringSubmatch(said(), -1) {
				of, _ := strconv.Atoi(m[1])
				n += of
			}
			return n == many
		})
		if log := said(); strings.Count(log, "Sequence Errors: ") != strings.Count(log, "Sequence Errors: 0, Bad Packets: 0") {
			t.Errorf("nfcapd counts errors:\n%s", log)
		}
	})
	t.Run("nfacctd udp", func(t *testing.T) {
		need(t, "nfacctd")
		var out string
		s.paced(t, capture, func() string {
			port, dir := freePort(t), t.TempDir()
			out = filepath.Join(dir, "out.json")
			config := filepath.Join(dir, "nfacctd.conf")
			if err := os.WriteFile(config, []byte(strings.Join([]string{
				"daemonize: false", "nfacctd_ip: 127.0.0.1", "nfacctd_port: " + port, "plugins: print", "aggregate: dst_port",
				"print_output: json", "print_output_file: " + out, "print_output_file_append: true", "print_refresh_time: 1", "",
			}, "\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			said := daemon(t, "nfacctd", "-f", config)
			wait(t, "nfacctd to listen", func() bool { return strings.Contains(said(), "waiting for NetFlow/IPFIX data") })
			return "127.0.0.1:" + port
		}, "--mode", "flow", "--path-mtu", "9000") // it counts no packets of packet records
		wait(t, "nfacctd to count all", func() bool {
			f, err := os.Open(out)
			if err != nil {
				return false
			}
			defer f.Close()
			n := 0
			for lines := bufio.NewScanner(f); lines.Scan(); {
				var sum struct{ Packets int }
				_ = json.Unmarshal(lines.Bytes(), &sum) // a line that is being written counts later
				n += sum.Packets
			}
			return n == many
		})
	})
	t.Run("ipfixDump file", func(t *testing.T) {
		need(t, "ipfixDump")
		file := filepath.Join(t.TempDir(), "many.ipfix")
		s.run(t, "export", capture, "--mode", "packet", "--file", file)
		const firstOptions = 512 // template ID
		n := 0
		for _, m := range regexp.MustCompile(`(?m)^ +(\d+) \(0x\w+\)\| *(\d+)`).FindAllStringSubmatch(output(t, "ipfixDump", "--stats", "--in", file), -1) {
			if id, _ := strconv.Atoi(m[1]); id < firstOptions {
				of, _ := strconv.Atoi(m[2])
				n += of
			}
		}
		if n != many {
			t.Errorf("%d records, want %d", n, many)
		}
	})
}
