// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/flows/flow"
	"sluice/yang/text"
)

// TestCommandsWriteOverWhatTheyRead: the capture is read to its end before its
// name goes to something else.
func TestCommandsWriteOverWhatTheyRead(t *testing.T) {
	whole, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "x")
	for command, begins := range map[string]string{
		"export " + name + " --file " + name: "\x00\x0a",
		"balance " + name + " --svg " + name: "<svg",
		"relabel " + name + " " + name:       string(whole[:4]),
		"lift6 " + name + " " + name:         "\x4d\x3c\xb2\xa1",
	} {
		if err := os.WriteFile(name, whole, 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs := good(t, append(strings.Fields(command), "--force")...)
		got, err := os.ReadFile(name)
		if err != nil || !bytes.HasPrefix(got, []byte(begins)) {
			t.Errorf("%s: begins with %.8q, %v; want %q", command, got, err, begins)
		}
		if want := "123 packets: 105 RoCEv2"; !strings.Contains(errs, want) {
			t.Errorf("%s: %q, want %q", command, errs, want)
		}
	}
}

func TestFailedCommandLeavesTheOldFile(t *testing.T) {
	dir := t.TempDir()
	out, bad := filepath.Join(dir, "out"), filepath.Join(dir, "bad")
	whole, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	// A packet that claims more octets than any has: where the next one begins is unknown.
	damaged := append(bytes.Clone(whole), 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff)
	for name, content := range map[string][]byte{out: []byte("old"), bad: damaged} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range []string{"export " + bad + " --file " + out, "relabel " + bad + " " + out, "lift6 " + bad + " " + out, "balance " + bad + " --svg " + out} {
		_, errs, code := sluice(nil, append(strings.Fields(command), "--force")...)
		if got, err := os.ReadFile(out); code != 1 || string(got) != "old" {
			t.Errorf("%s: exit code %d, %v, file %.10q: %s", command, code, err, got, errs)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

func TestExportToStandardOutput(t *testing.T) {
	out, _ := good(t, "export", captures+"rc-send-ipv4.pcap", "--file", "-")
	if length := int(binary.BigEndian.Uint16([]byte(out)[2:])); !strings.HasPrefix(out, "\x00\x0a") || length != len(out) {
		t.Errorf("%d octets that begin with % x", len(out), out[:4])
	}
}

// TestCutFiles cuts a capture at every octet of its first packets: only between
// two packets is it a whole one, and --flows shows what came before, too.
func TestCutFiles(t *testing.T) {
	whole, err := os.ReadFile(captures + "cnp-uc-icrc-vectors-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	const fileHeader, packetHeader = 24, 16
	first := fileHeader + packetHeader + int(binary.LittleEndian.Uint32(whole[fileHeader+8:]))
	for n := fileHeader; n <= len(whole); n++ {
		complete, packets := n == fileHeader || n == first || n == len(whole), 0
		if n >= first {
			packets = 1
		}
		if n == len(whole) {
			packets = 2
		}
		for _, options := range []string{"--json", "--json --flows"} {
			out, errs, code := sluice(bytes.NewReader(whole[:n]), append([]string{"decode", "-"}, strings.Fields(options)...)...)
			if complete != (code == 0) || strings.Count(out, "\n") != packets || !complete && !strings.Contains(errs, "cut off after packet "+fmt.Sprint(packets)) {
				t.Errorf("%s, the first %d octets: exit code %d, %d lines, %s", options, n, code, strings.Count(out, "\n"), errs)
			}
		}
	}
}

// TestAnyTime decodes a packet of each time that pcapng can say.
func TestAnyTime(t *testing.T) {
	frame := frames(t, captures+"rc-send-ipv4.pcap")[14]
	for _, resolution := range []gopacket.TimestampResolution{{Base: 10}, {Base: 10, Exponent: -3}, {Base: 10, Exponent: -6}, {Base: 10, Exponent: -9}, {Base: 2, Exponent: -10}} {
		for _, ticks := range []uint64{0, 1 << 33, math.MaxInt64, math.MaxUint64} {
			var file bytes.Buffer
			w, err := pcapgo.NewNgWriterInterface(&file, pcapgo.NgInterface{LinkType: layers.LinkTypeEthernet, TimestampResolution: 9}, pcapgo.DefaultNgWriterOptions)
			if err != nil {
				t.Fatal(err)
			}
			info := gopacket.CaptureInfo{Timestamp: time.Unix(1, 0), CaptureLength: len(frame), Length: len(frame)}
			if err := w.WritePacket(info, frame); err != nil {
				t.Fatal(err)
			}
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
			b := setTime(t, file.Bytes(), resolution, ticks)
			for _, options := range []string{"", "--json", "--flows", "--flows --json"} {
				out, errs, code := sluice(bytes.NewReader(b), append([]string{"decode", "-"}, strings.Fields(options)...)...)
				if code != 0 || !strings.Contains(out, "192.168.70.") {
					t.Errorf("%v, %d, %s: exit code %d, %q, %s", resolution, ticks, options, code, out, errs)
				}
				if strings.Contains(options, "json") && !json.Valid([]byte(out)) {
					t.Errorf("%v, %d: no JSON: %s", resolution, ticks, out)
				}
			}
		}
	}
}

// setTime changes the resolution and the time of the only packet of a file.
func setTime(t *testing.T, b []byte, r gopacket.TimestampResolution, ticks uint64) []byte {
	t.Helper()
	option := []byte{9, 0, 1, 0} // if_tsresol, one octet
	at := bytes.Index(b, option)
	packet := bytes.LastIndex(b, []byte{6, 0, 0, 0}) // the block's type
	if at < 0 || packet < at {
		t.Fatalf("no time resolution or no packet in % x", b)
	}
	b[at+len(option)] = byte(-r.Exponent)
	if r.Base == 2 {
		b[at+len(option)] |= 0x80
	}
	binary.LittleEndian.PutUint32(b[packet+12:], uint32(ticks>>32))
	binary.LittleEndian.PutUint32(b[packet+16:], uint32(ticks))
	return b
}

// TestInterruptEndsWaiting: a command that waits for more of a pipe ends when the
// user says so, and shows what it read. What the pipe's other end still writes
// because of the same Ctrl-C is read. The second of grace is of virtual time.
func TestInterruptEndsWaiting(t *testing.T) {
	whole, err := os.ReadFile(captures + "cnp-uc-icrc-vectors-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name    string
		ends    bool // the other end, on the interrupt
		packets int
		code    int
	}{
		{"idle", false, 1, 130},
		{"ends, too", true, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				read, write := io.Pipe()
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				var out, errs bytes.Buffer
				code := make(chan int, 1)
				go func() { code <- run(ctx, []string{"decode", "--json", "-"}, read, &out, &errs) }()
				if _, err := write.Write(whole[:120]); err != nil { // the first packet, and some of the second
					t.Fatal(err)
				}
				interrupt()
				if tt.ends {
					if _, err := write.Write(whole[120:]); err != nil {
						t.Fatal(err)
					}
					_ = write.Close()
				}
				if got := <-code; got != tt.code || strings.Count(out.String(), "\n") != tt.packets {
					t.Errorf("exit code %d, want %d; %d packets, want %d: %s", got, tt.code, strings.Count(out.String(), "\n"), tt.packets, &errs)
				}
				if !strings.Contains(errs.String(), " RoCEv2, ") {
					t.Errorf("%s", &errs)
				}
				_ = write.Close() // for the Read that was left behind
			})
		})
	}
}

// TestFlowListIsBounded: flows that find no room are counted, so that the sums
// are right.
func TestFlowListIsBounded(t *testing.T) {
	list := flowList{room: 2}
	for n := range uint64(5) {
		list.add(&flow.Flow{Packets: n + 1}, 0, flow.None)
	}
	if want := "2 flows, and 3 more of 12 packets, which are not shown"; len(list.records) != 2 || list.String() != want {
		t.Errorf("%d records, %q, want %q", len(list.records), &list, want)
	}
}

// TestNamesInACaptureAreShownAsATerminalMayHaveThem: a capture file names its interfaces, and
// its author may have put text there that a terminal obeys or hides.
func TestNamesInACaptureAreShownAsATerminalMayHaveThem(t *testing.T) {
	const hostile = "eth\u009b31m\u202e\u200b\x1b[2J"
	from, err := capture.Open(t.Context(), captures+"rc-send-ipv4.pcap", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	f, err := from.Next()
	name := filepath.Join(t.TempDir(), "hostile.pcapng")
	file, createErr := os.Create(name)
	if err = errors.Join(err, createErr); err != nil {
		t.Fatal(err)
	}
	w, err := pcapgo.NewNgWriterInterface(file, pcapgo.NgInterface{Name: hostile, LinkType: layers.LinkType(f.Link)}, pcapgo.DefaultNgWriterOptions)
	for err == nil {
		if err = w.WritePacket(gopacket.CaptureInfo{Timestamp: f.Time, CaptureLength: len(f.Data), Length: f.Length}, f.Data); err == nil {
			f, err = from.Next()
		}
	}
	if err != io.EOF || errors.Join(w.Flush(), file.Close()) != nil {
		t.Fatal(err)
	}
	shown := false
	for _, args := range [][]string{
		{"decode"}, {"decode", "--json"}, {"decode", "--flows"}, {"decode", "--flows", "--json"}, {"decode", "--flows", "--health"}, {"decode", "--flows", "--health", "--json"},
		{"observe"}, {"observe", "--json"}, {"observe", "--health"}, {"observe", "--health", "--json"}, {"balance"}, {"balance", "--json"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append(args, name), nil, &out, &errs); code != 0 {
			t.Errorf("%v: %d: %s", args, code, errs.String())
		}
		all := out.String() + errs.String()
		shown = shown || strings.Contains(all, "eth·31m··") || strings.Contains(all, `eth\u009b31m\u202e\u200b`)
		if text.Lines(all) != all {
			t.Errorf("%v: %q", args, all)
		}
	}
	if !shown {
		t.Error("no command shows the name of the interface")
	}
}
