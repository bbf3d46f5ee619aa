// SPDX-License-Identifier: Apache-2.0

package goipfix

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vmware/go-ipfix/pkg/collector"
	"github.com/vmware/go-ipfix/pkg/entities"

	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/tests/capturegen"
)

const (
	root     = "../../.."
	many     = 100_000
	patience = time.Minute // without a record
)

// TestCollectorTakesManyRecords: go-ipfix's collector decodes all records, over UDP and DTLS at a
// pace, and over TCP. It reads the first set of a message, and lacks options templates.
func TestCollectorTakesManyRecords(t *testing.T) {
	dir := t.TempDir()
	tool, capture := filepath.Join(dir, "sluice"), filepath.Join(dir, "many.pcap")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", tool, "./orchagent-ext/cmd/sluice")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	b, err := os.ReadFile(root + "/tests/captures/16-clock-back.pcap")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(capture, capturegen.Flows(capturegen.First(b), many), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, transport := range []string{"udp", "tcp", "dtls"} {
		t.Run(transport, func(t *testing.T) {
			// the default pace, and where the collector had no CPU for so long that its socket
			// dropped datagrams, as the command reports, half of it
			for pace := 10_000; ; pace /= 2 {
				args := []string{"export", capture, "--mode", "packet", "--single-set", "--transport", transport, "--pace", strconv.Itoa(pace) + "kbps"}
				got, out, err := collect(t, tool, transport, args)
				t.Logf("%d records\n%s", got, out)
				if err == nil {
					if got != many {
						t.Errorf("%d records, want %d", got, many)
					}
					return
				}
				if !strings.Contains(out, "the collector's socket dropped") || pace < 300 {
					t.Fatal(err)
				}
			}
		})
	}
}

// collect runs the exporter with args, and returns how many records a collector decoded by the
// time that nothing came for a while.
func collect(t *testing.T, tool, transport string, args []string) (got int, out string, err error) {
	t.Helper()
	input := collector.CollectorInput{
		Address: "127.0.0.1:0", Protocol: "udp", MaxBufferSize: 65535, DecodingMode: collector.DecodingModeLenientKeepUnknown,
	}
	switch transport {
	case "tcp":
		input.Protocol = transport
	case "dtls":
		a := ipfixtest.NewAuthority(t)
		certificate, key, _ := a.Sign(t, "collector")
		input.IsEncrypted = true
		for file, to := range map[string]*[]byte{certificate: &input.ServerCert, key: &input.ServerKey} {
			if *to, err = os.ReadFile(file); err != nil {
				t.Fatal(err)
			}
		}
		args = append(args, "--ca", a.File)
	}
	c, err := collector.InitCollectingProcess(input)
	if err != nil {
		t.Fatal(err)
	}
	go c.Start()
	defer c.Stop()
	records := make(chan int)
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		for m := range c.GetMsgChan() {
			if set := m.GetSet(); set.GetSetType() != entities.Template {
				select {
				case records <- int(set.GetNumberOfRecords()):
				case <-ended:
				}
			}
		}
	}()
	for end := time.Now().Add(patience); c.GetAddress() == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the collector does not listen")
		}
	}
	exported := make(chan error, 1)
	go func() {
		b, err := exec.CommandContext(t.Context(), tool, append(args, "--collector", c.GetAddress().String())...).CombinedOutput()
		out = string(b)
		exported <- err
	}()
	for running := true; running || got < many; {
		select {
		case n := <-records:
			got += n
		case err = <-exported:
			if err != nil {
				return got, out, err
			}
			running = false
		case <-time.After(patience):
			return got, out, err
		}
	}
	return got, out, nil
}
