// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// shownFrames returns the numbers of the frames that a command shows, by its JSON.
func shownFrames(t *testing.T, args ...string) (numbers []float64) {
	t.Helper()
	for _, r := range jsonLines(t, append(args, "-o", "json")...) {
		numbers = append(numbers, r["frame"].(float64))
	}
	return numbers
}

// TestFirstHourObserveWritesTheFramesThatItShows: into a file of the same format.
func TestFirstHourObserveWritesTheFramesThatItShows(t *testing.T) {
	for _, name := range []string{"rc-send-ipv4.pcap", "hold-two-hops.pcapng"} {
		file := filepath.Join(t.TempDir(), name)
		shown, errs := good(t, "observe", captures+name, "--opcode", "send,write", "--write", file, "--fields", "src,dst,psn,in,out", "-o", "json")
		again, _ := good(t, "observe", file, "--fields", "src,dst,psn,in,out", "-o", "json")
		if shown != again || shown == "" || !strings.Contains(errs, "frames in "+file) {
			t.Errorf("%s: %d octets shown, %d in the file; %s", name, len(shown), len(again), errs)
		}
		if _, errs, code := sluice(nil, "observe", captures+name, "-w", file); code != 1 || !strings.Contains(errs, "--force") {
			t.Errorf("it exists: exit code %d, %q", code, errs)
		}
	}
}

// TestFirstHourNotTurnsFiltersRound: with a filter and with --not every packet is shown once.
func TestFirstHourNotTurnsFiltersRound(t *testing.T) {
	file := captures + "hold-two-hops.pcapng"
	all := shownFrames(t, "observe", file)
	for _, filter := range []string{"--opcode write", "--qp 0x11", "--src 2001:db8:0:1::/64 --cnp", "--ecn ce"} {
		some, others := shownFrames(t, append([]string{"observe", file}, strings.Fields(filter)...)...), shownFrames(t, append([]string{"observe", file, "--not"}, strings.Fields(filter)...)...)
		if len(some)+len(others) != len(all) {
			t.Errorf("%s: %d and %d of %d packets", filter, len(some), len(others), len(all))
		}
	}
	if _, errs, code := sluice(nil, "observe", file, "--not"); code != 1 || !strings.Contains(errs, "--not needs a filter") {
		t.Errorf("alone: exit code %d, %q", code, errs)
	}
}

// TestFirstHourBPFSelectsFrames: a program as tcpdump -ddd prints it runs on each frame.
func TestFirstHourBPFSelectsFrames(t *testing.T) {
	file := captures + "rc-send-ipv4.pcap"
	ipv4, ipv6 := "4,40 0 0 12,21 0 1 2048,6 0 0 262144,6 0 0 0", "4\n40 0 0 12\n21 0 1 34525\n6 0 0 262144\n6 0 0 0\n"
	if got, all := shownFrames(t, "decode", file, "--bpf", ipv4), shownFrames(t, "decode", file); len(got) != len(all) || len(all) == 0 {
		t.Errorf("IPv4: %d of %d packets", len(got), len(all))
	}
	if got := shownFrames(t, "decode", file, "--bpf", ipv6); len(got) != 0 {
		t.Errorf("IPv6: %d packets", len(got))
	}
	for _, wrong := range []string{"2,40 0 0 12,21 0 1", "1,6 0 0 4294967296", "1,21 0 9 0", "3 4"} {
		if _, errs, code := sluice(nil, "decode", file, "--bpf", wrong); code != 1 || !strings.Contains(errs, "--bpf") {
			t.Errorf("%q: exit code %d, %q", wrong, code, errs)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if _, errs, code := sluice(nil, "decode", file, "--bpf", "udp port 4791"); code != 1 || !strings.Contains(errs, "tcpdump compiles expressions, and is not installed") {
		t.Errorf("without tcpdump: exit code %d, %q", code, errs)
	}
}

// TestFirstHourBPFTakesExpressions: Debian's tcpdump compiles them.
func TestFirstHourBPFTakesExpressions(t *testing.T) {
	if _, err := exec.LookPath("tcpdump"); err != nil {
		t.Skipf("%v: make deps installs it", err)
	}
	file := captures + "rc-send-ipv4.pcap"
	all := len(shownFrames(t, "decode", file))
	for expression, want := range map[string]int{
		"udp port 4791":             all,
		"ip6":                       0,
		"udp[8] = 0":                33, // SEND First, as tshark counts them
		"udp port 4791 and not ip6": all,
	} {
		if got := shownFrames(t, "decode", file, "--bpf", expression); len(got) != want {
			t.Errorf("%s: %d of %d packets, want %d", expression, len(got), all, want)
		}
	}
	if _, errs, code := sluice(nil, "decode", file, "--bpf", "port 4791 nonsense"); code != 1 || !strings.Contains(errs, "syntax error") {
		t.Errorf("wrong expression: exit code %d, %q", code, errs)
	}
}

// TestFirstHourSinceLeavesEarlierPacketsOut: they are learned from all the same.
func TestFirstHourSinceLeavesEarlierPacketsOut(t *testing.T) {
	file := captures + "cm-rc-write-read-ipv4.pcap"
	all := jsonLines(t, "decode", file, "-o", "json")
	later := jsonLines(t, "decode", file, "-o", "json", "--since", "5ms")
	at := jsonLines(t, "decode", file, "-o", "json", "--since", later[0]["time"].(string))
	if len(later) == 0 || len(later) >= len(all) || len(at) != len(later) {
		t.Errorf("%d packets, %d later, %d from their time on", len(all), len(later), len(at))
	}
	if later[0]["src_qp_from"] != "cm" {
		t.Errorf("the connection was set up before: %v", later[0])
	}
}

// TestFirstHourFieldsAreChosen: of tables and of JSON, in the order that is asked for.
func TestFirstHourFieldsAreChosen(t *testing.T) {
	file := captures + "cm-rc-write-read-ipv4.pcap"
	out, _ := good(t, "decode", file, "--fields", "psn,DST-QP,opcode_name", "--opcode", "read_request")
	if want := "PSN       DST-QP    OPCODE\n12726937  0x000011  RC_RDMA_READ_REQUEST\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	out, _ = good(t, "decode", file, "--fields", "psn,DST-QP,opcode_name,event", "--opcode", "read_request", "-o", "json")
	if want := `{"psn":12726937,"dst_qp":17,"opcode_name":"RC_RDMA_READ_REQUEST","event":null}` + "\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if _, errs, code := sluice(nil, "decode", file, "--fields", "psnn"); code != 1 || !strings.Contains(errs, `"psnn" is not one of frame, time, src`) {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// TestFirstHourZstandardIsRead: as gzip is.
func TestFirstHourZstandardIsRead(t *testing.T) {
	name := captures + "rc-send-ipv4.pcap"
	plain, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	packer, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "capture.pcap.zst")
	packed := packer.EncodeAll(plain, nil)
	for _, content := range [][]byte{packed, packed[:len(packed)/2]} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		want, _ := good(t, "decode", name, "--flows")
		got, errs, code := sluice(nil, "decode", file, "--flows")
		if whole := len(content) == len(packed); whole != (code == 0) || whole && got != want {
			t.Errorf("%d of %d octets: exit code %d, %s%s", len(content), len(packed), code, got, errs)
		}
	}
}

// TestFirstHourExportReadsADevice: without Redis and sluiced, for a while.
func TestFirstHourExportReadsADevice(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs CAP_NET_RAW: run as root")
	}
	conn, err := net.Dial("udp", "127.0.0.1:4791")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	packet := make([]byte, 12+16+4) // BTH, payload, ICRC
	packet[0], packet[7] = 4, 0x11  // RC_SEND_ONLY to queue pair 0x11
	ended, over := t.Context(), make(chan struct{})
	go func() {
		defer close(over)
		for tick := time.NewTicker(10 * time.Millisecond); ended.Err() == nil; <-tick.C {
			_, _ = conn.Write(packet) // no listener: an error comes back at times
		}
	}()
	t.Cleanup(func() { <-over })
	some := regexp.MustCompile(`[1-9][0-9]* RoCEv2`)
	for tries := 1; ; tries++ {
		file := filepath.Join(t.TempDir(), "flows.ipfix")
		_, errs, code := sluice(nil, "export", "--dev", "lo", "--for", "1s", "--file", file)
		if code == 0 && !some.MatchString(errs) && tries < 60 {
			continue // a busy machine gave it no time within its second
		}
		if code != 0 || !some.MatchString(errs) || strings.Contains(errs, " 0 records") {
			t.Errorf("%d %s", code, errs)
		}
		if content, err := os.ReadFile(file); err != nil || len(content) < 100 {
			t.Errorf("%d octets, %v", len(content), err)
		}
		return
	}
}

// TestFirstHourDecodeTakesTheFiltersOfObserve: with the same result.
func TestFirstHourDecodeTakesTheFiltersOfObserve(t *testing.T) {
	file := captures + "hold-two-hops.pcapng"
	for _, filter := range []string{"--qp 0x11", "--dst 2001:db8::/32 --opcode write", "--cnp --nak", "--retransmit", "--ecn ce", "--since 1ms"} {
		words := strings.Fields(filter)
		if a, b := shownFrames(t, append([]string{"decode", file}, words...)...), shownFrames(t, append([]string{"observe", file}, words...)...); len(a) != len(b) {
			t.Errorf("%s: %d and %d packets", filter, len(a), len(b))
		}
	}
	if _, errs, code := sluice(nil, "decode", "--flows", "--ecn", "ce", file); code != 1 || !strings.Contains(errs, "--flows takes no filter but") {
		t.Errorf("a part of each flow: exit code %d, %q", code, errs)
	}
}
