// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric/child"
	"sluice/tests/fabrictest"
)

// Parts of the capture that is played, a file of classic pcap.
const (
	played       = "../../captures/rc-send-ipv4.pcap"
	fileHeader   = 24
	recordHeader = 16
)

// rocev2 returns the first RoCEv2 packet of a capture, and the header of a file
// that begins with it.
func rocev2(b *testing.B) (header, record []byte) {
	b.Helper()
	file, err := os.ReadFile(played)
	if err != nil {
		b.Fatal(err)
	}
	for at := fileHeader; at+recordHeader < len(file); {
		end := at + recordHeader + int(file[at+8]) + int(file[at+9])<<8 // little-endian, as the file is
		if r := file[at:end]; r[recordHeader+23] == syscall.IPPROTO_UDP && r[recordHeader+36] == 4791>>8 {
			return file[:fileHeader], r
		}
		at = end
	}
	b.Fatal("no RoCEv2 packet")
	return nil, nil
}

// delays reports how long after a packet came its line was there: one packet at a time, each
// after a pause, as on an idle link.
func delays(b *testing.B, come func() error, lines *bufio.Scanner) {
	b.Helper()
	var took []float64
	for b.Loop() {
		for range 100 {
			time.Sleep(2 * time.Millisecond)
			start := time.Now()
			if err := come(); err != nil {
				b.Fatal(err)
			}
			if !lines.Scan() {
				b.Fatalf("observe has ended: %v", lines.Err())
			}
			took = append(took, float64(time.Since(start).Microseconds())/1000)
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "ms-p50")
	b.ReportMetric(took[len(took)*99/100], "ms-p99")
}

// BenchmarkObserve is how long after a packet came `sluice observe` shows it.
func BenchmarkObserve(b *testing.B) {
	program, err := filepath.Abs(sluice)
	if err != nil {
		b.Fatal(err)
	}
	header, record := rocev2(b)
	b.Run("pipe", func(b *testing.B) {
		cmd := exec.CommandContext(b.Context(), program, "observe", "--json", "-")
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := child.Start(cmd); err != nil {
			b.Fatal(err)
		}
		defer func() {
			_ = in.Close()
			_ = cmd.Wait()
		}()
		lines := bufio.NewScanner(out)
		if _, err := in.Write(header); err != nil {
			b.Fatal(err)
		}
		delays(b, func() error { _, err := in.Write(record); return err }, lines)
	})
	b.Run("device", func(b *testing.B) {
		p := fabrictest.Pair(b)
		out, outEnd := io.Pipe()
		said, saidEnd := io.Pipe()
		cmd := exec.Command(program, "observe", "--json", "--dev", "eth0", "--src", "192.168.70.0/24")
		cmd.Stdout, cmd.Stderr = outEnd, saidEnd
		process, err := p.B.Node.Start(cmd)
		if err != nil {
			b.Fatal(err)
		}
		defer func() {
			process.Signal(syscall.SIGINT)
			_ = process.Wait()
		}()
		words := bufio.NewReader(said)
		if line, err := words.ReadString('\n'); err != nil || !strings.HasPrefix(line, "observing ") {
			b.Fatal(line, err)
		}
		go func() { _, _ = io.Copy(io.Discard, words) }() // its summary
		sender, err := p.A.Sender()
		if err != nil {
			b.Fatal(err)
		}
		defer sender.Close()
		delays(b, func() error { return sender.Send(record[recordHeader:]) }, bufio.NewScanner(out))
	})
}
