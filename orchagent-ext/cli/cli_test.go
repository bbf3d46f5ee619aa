// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/testbed/lab"
	"sluice/orchagent-ext/wire/roce"
)

const captures = "../../tests/captures/"

// sluice runs a command line and returns what it printed and its exit code.
func sluice(stdin io.Reader, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	code = runEither(context.Background(), args, stdin, &out, &errs)
	return out.String(), errs.String(), code
}

// good runs a command line that must succeed.
func good(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	stdout, stderr, code := sluice(nil, args...)
	if code != 0 {
		t.Fatalf("sluice %s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return stdout, stderr
}

// records runs decode --json and returns its lines.
func records(t *testing.T, file string, options ...string) []map[string]any {
	t.Helper()
	return jsonLines(t, append([]string{"decode", "--json", file}, options...)...)
}

// jsonLines runs a command line and returns the objects that it prints.
func jsonLines(t *testing.T, args ...string) []map[string]any {
	t.Helper()
	out, _ := good(t, args...)
	var all []map[string]any
	for line := range strings.Lines(out) {
		var r map[string]any
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

func TestLabelPrintsTheLabelOfEachAlgorithm(t *testing.T) {
	args := []string{"label", "--src-qp", "0x123456", "--dst-qp", "0xABCDEF", "--src", "2001:db8::1", "--dst", "2001:db8::2"}
	for algorithm, want := range map[string]string{"": "0x6cb3e\n", "draft-literal": "0x6cb3e\n", "crc32": "0x783d7\n"} {
		a := args
		if algorithm != "" {
			a = append(a[:len(a):len(a)], "--algorithm", algorithm)
		}
		if out, _ := good(t, a...); out != want {
			t.Errorf("%s: %q, want %q", algorithm, out, want)
		}
	}
}

func TestBadInputIsOneClearLine(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("this is no capture file at all"), 0o600); err != nil {
		t.Fatal(err)
	}
	pcap := captures + "rc-send-ipv4.pcap"
	for _, tt := range []struct{ args, want string }{
		{"label --dst-qp 1 --src 10.0.0.1 --dst 2001:db8::1", "10.0.0.1 is not an IPv6 address"},
		{"label --dst-qp 0x1000000 --src ::1 --dst ::2", "not a number of 24 bits"},
		{"label --dst-qp 1 --src ::1 --dst ::2 --algorithm md5", "draft-literal"},
		{"label --dst-qp 1 --src ::1", "required flag(s) \"dst\" not set"},
		{"decode " + filepath.Join(dir, "none"), "no such file"},
		{"decode " + text, "not a pcap or pcapng file"},
		{"decode", "FILE is missing"},
		{"observe", "--dev DEVICE"},
		{"observe --dev lo " + pcap, "either --dev or a FILE"},
		{"observe --dev nosuchdevice", "device nosuchdevice"},
		{"observe --opcode frobnicate " + pcap, "RC_RDMA_WRITE_FIRST"},
		{"observe --ecn congested " + pcap, "not-ect, ect1, ect0, ce"},
		{"observe --qp 0x1000000 " + pcap, "not a number of 24 bits"},
		{"observe --src here " + pcap, "not an address or a prefix"},
		{"observe --count -1 " + pcap, "0 or more"},
		{"decode --nonsense x", "unknown flag: --nonsense"},
		{"relabel " + pcap + " " + dir + "/none/out.pcap", "no such file or directory"},
		{"relabel " + pcap + " " + dir + "/o --rewrite never", "zero-only, always"},
		{"lift6 " + pcap + " " + dir + "/o --prefix 2001:db8::/64", "96 bits"},
		{"balance " + pcap + " --paths 0", "1 to 1024"},
		{"balance " + pcap + " --hash toeplitz", "linux"},
		{"balance " + pcap + " --weights flows", "bytes, packets"},
		{"gen " + dir + "/o --qps 0", "queue pairs"},
		{"gen " + dir + "/o --service ud --cm", "RDMA-CM connects RC"},
		{"gen " + dir, "is a directory"},
		{"explode", "unknown command"},
	} {
		out, errs, code := sluice(nil, strings.Fields(tt.args)...)
		if code != 1 || out != "" || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, tt.want) {
			t.Errorf("sluice %s: exit code %d, stdout %q, stderr %q; want one line with %q", tt.args, code, out, errs, tt.want)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDecodeCounts(t *testing.T) {
	for file, want := range map[string]string{
		"rc-send-ipv4.pcap":             "123 packets: 105 RoCEv2, 18 other (TCP: 10; ARP: 4; ICMPv6: 4)\n",
		"cm-rc-write-read-ipv4.pcap":    "16 packets: 12 RoCEv2, 4 other (ARP: 4)\n",
		"cnp-uc-icrc-vectors-ipv4.pcap": "2 packets: 2 RoCEv2, 0 other\n1 notification: 1 accepted, 0 refused\n",
	} {
		if _, errs := good(t, "decode", captures+file); errs != want {
			t.Errorf("%s: %q, want %q", file, errs, want)
		}
		for _, r := range records(t, captures+file) {
			if r["icrc_ok"] != true {
				t.Errorf("%s: frame %v: icrc_ok %v", file, r["frame"], r["icrc_ok"])
			}
		}
	}
}

// TestDecodeFields compares one record whole, so that no field is lost or
// renamed: scripts depend on them.
func TestDecodeFields(t *testing.T) {
	out, _ := good(t, "decode", "--json", captures+"cm-rc-write-read-ipv4.pcap")
	want := `{"frame":6,"time":"2025-12-21T17:29:05.518778Z","src":"192.168.2.25","dst":"192.168.2.24","sport":62017,"flow_label":0,"dscp":0,"ecn":"not-ect",` +
		`"opcode":12,"opcode_name":"RC_RDMA_READ_REQUEST","pkey":65535,"dst_qp":17,"src_qp":23,"src_qp_from":"cm","psn":12726937,` +
		`"se":false,"m":false,"pad":0,"tver":0,"fecn":false,"becn":false,"ack_req":true,"icrc_ok":true,` +
		`"reth":{"va":187652065558528,"rkey":544,"length":4096},"payload_len":0}`
	if got := strings.Split(out, "\n")[5]; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestDecodeReadsStandardInput(t *testing.T) {
	content, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := sluice(bytes.NewReader(content), "decode", "-")
	want, _ := good(t, "decode", captures+"rc-send-ipv4.pcap")
	if code != 0 || out != want {
		t.Errorf("exit code %d, %s", code, errs)
	}
}

func TestDecodeOfACutFileShowsWhatWasRead(t *testing.T) {
	content, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code := sluice(bytes.NewReader(content[:len(content)-3]), "decode", "--json", "-")
	if n := strings.Count(out, "\n"); code != 1 || n < 100 || !strings.Contains(errs, "cut off after packet 122") {
		t.Errorf("exit code %d, %d records, %q", code, n, errs)
	}
}

// frames reads a capture file.
func frames(t *testing.T, name string) [][]byte {
	t.Helper()
	r, err := capture.Open(t.Context(), name, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all [][]byte
	for {
		f, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Clone(f.Data))
	}
}

//conformance:draft-hu/only-label
func TestRelabelChangesNothingButTheLabel(t *testing.T) {
	dir := t.TempDir()
	in, out, again := filepath.Join(dir, "in.pcap"), filepath.Join(dir, "out.pcap"), filepath.Join(dir, "again.pcap")
	good(t, "lift6", captures+"rc-send-ipv4.pcap", in)
	_, errs := good(t, "relabel", in, out)
	if want := "labels written: 105; left alone: 0 labelled already"; !strings.Contains(errs, want) {
		t.Errorf("%q does not say %q", errs, want)
	}
	before, after, labelled := frames(t, in), frames(t, out), frames(t, out)
	if len(before) != 105 || len(after) != len(before) {
		t.Fatalf("%d frames became %d", len(before), len(after))
	}
	labels := map[uint32]map[uint32]bool{} // by destination QP
	for i := range before {
		var p roce.Packet
		if err := p.Parse(after[i], len(after[i])); err != nil {
			t.Fatal(err)
		}
		if labels[p.DestQP()] == nil {
			labels[p.DestQP()] = map[uint32]bool{}
		}
		labels[p.DestQP()][p.FlowLabel()] = true
		p.SetFlowLabel(0)
		if !bytes.Equal(before[i], after[i]) {
			t.Errorf("frame %d: more than the label changed", i+1)
		}
	}
	for qp, l := range labels {
		if len(l) != 1 || l[0] {
			t.Errorf("QP %#x has labels %v, want one that is not 0", qp, l)
		}
	}
	// What has a label keeps it, unless told otherwise.
	_, errs = good(t, "relabel", out, again, "--force", "--algorithm", "crc32")
	if !strings.Contains(errs, "labels written: 0; left alone: 105 labelled already") || !strings.Contains(errs, "100.0 %") {
		t.Errorf("a second pass: %q", errs)
	}
	if !slices.EqualFunc(labelled, frames(t, again), bytes.Equal) {
		t.Error("zero-only changed a label that was there")
	}
	_, errs = good(t, "relabel", out, again, "--force", "--algorithm", "crc32", "--rewrite", "always")
	if !strings.Contains(errs, "labels written: 105") || slices.EqualFunc(labelled, frames(t, again), bytes.Equal) {
		t.Errorf("always: %q", errs)
	}
}

func TestRelabelLeavesOthersAlone(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.pcap")
	_, errs := good(t, "relabel", captures+"rc-send-ipv4.pcap", out)
	if !strings.Contains(errs, "105 IPv4") {
		t.Errorf("%q", errs)
	}
	want, err := os.ReadFile(captures + "rc-send-ipv4.pcap")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(out); err != nil || !bytes.Equal(got, want) {
		t.Errorf("an IPv4 capture changed (%v)", err)
	}
}

// TestMalformedPacketsAreCounted breaks a length field and cuts a packet.
func TestMalformedPacketsAreCounted(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pcap"), filepath.Join(dir, "out.pcap")
	good(t, "gen", in, "--packets", "3", "--qps", "1")
	content, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	const fileHeader, recordHeader, ethernet, ipv6 = 24, 16, 14, 40
	udpLength := fileHeader + recordHeader + ethernet + ipv6 + 4
	binary.BigEndian.PutUint16(content[udpLength:], 0xffff)
	if err := os.WriteFile(in, content, 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs := good(t, "decode", in)
	if want := "4 packets: 3 RoCEv2, 0 other, 1 malformed (UDP header length contradicts the packet: 1)\n"; errs != want {
		t.Errorf("%q, want %q", errs, want)
	}
	good(t, "relabel", in, out)
	if got, want := frames(t, out)[0], frames(t, in)[0]; !bytes.Equal(got, want) {
		t.Error("relabel changed a malformed packet")
	}
}

func TestHelpOfEveryCommandHasAnExample(t *testing.T) {
	for _, cmd := range append(NewRootCommand(true).Commands(), lab.NewRootCommand(version).Commands()...) {
		if !cmd.Hidden && (cmd.Example == "" || cmd.Short == "" || cmd.Long == "") {
			t.Errorf("%s: example, short or long help is missing", cmd.Name())
		}
	}
}

// spreadOf runs balance --json and returns max ÷ mean by kind of hash input.
func spreadOf(t *testing.T, args ...string) map[string]float64 {
	t.Helper()
	out, _ := good(t, append([]string{"balance", "--json"}, args...)...)
	var b balance
	if err := json.Unmarshal([]byte(out), &b); err != nil {
		t.Fatal(err)
	}
	worst := map[string]float64{}
	for _, s := range b.Spreads {
		worst[s.By] = s.WorstToMean
		if len(s.PerPath) != b.Paths {
			t.Errorf("%s: %d paths, want %d", s.By, len(s.PerPath), b.Paths)
		}
	}
	return worst
}

// TestBalanceFallsWithTheLabel reproduces what the label is for: 64 queue pairs
// of one host pair with one UDP source port take one of 8 paths, and spread once
// they have labels. Over 20 draws, random placement of 64 flows on 8 paths has
// max ÷ mean 1.5 on average, and no hash can be asked to be better.
func TestBalanceFallsWithTheLabel(t *testing.T) {
	const draws = 20
	file := filepath.Join(t.TempDir(), "sessions.pcap")
	for hash, bar := range map[string]float64{"linux": 1.7, "crc32": 1.7, "crc16": 1.7} {
		sum := map[string]float64{}
		for seed := range draws {
			good(t, "gen", file, "--force", "--pairs", "1", "--qps", "64", "--packets", "256", "--payload", "4", "--seed", strconv.Itoa(seed))
			worst := spreadOf(t, file, "--paths", "8", "--hash", hash)
			for by, w := range worst {
				sum[by] += w / draws
			}
			if worst["5-tuple"] != 8 || worst["5-tuple + label in the packet"] != 8 {
				t.Errorf("%s, seed %d: without our label %v, want 8", hash, seed, worst)
			}
		}
		t.Logf("%s: max ÷ mean, average of %d draws: %v", hash, draws, sum)
		for _, by := range []string{"5-tuple + draft-literal label", "5-tuple + crc32 label"} {
			if sum[by] >= bar {
				t.Errorf("%s, %s: %.2f on average, want less than %.1f", hash, by, sum[by], bar)
			}
		}
	}
}

func TestBalanceSeesLabelsInThePacket(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in.pcap"), filepath.Join(dir, "out.pcap")
	good(t, "gen", in, "--packets", "640", "--payload", "64")
	good(t, "relabel", in, out)
	for _, hash := range []string{"linux", "crc32", "crc16"} {
		worst := spreadOf(t, out, "--hash", hash)
		if worst["5-tuple"] != 8 || worst["5-tuple + label in the packet"] >= 2.5 {
			t.Errorf("%s: %v", hash, worst)
		}
	}
	svg := filepath.Join(dir, "b.svg")
	good(t, "balance", out, "--svg", svg)
	if content, err := os.ReadFile(svg); err != nil || !bytes.HasPrefix(content, []byte("<svg")) && !bytes.HasPrefix(content, []byte("<?xml")) ||
		!bytes.Contains(content, []byte("<desc id=\"chart-desc\">3 bar charts")) || !bytes.Contains(content, []byte(">as sent<")) || !bytes.Contains(content, []byte(">placed: ")) {
		t.Errorf("%.400s %v", content, err)
	}
	good(t, "gen", in, "--force", "--sport", "per-qp", "--packets", "640", "--payload", "64")
	if worst := spreadOf(t, in); worst["5-tuple"] >= 2.5 {
		t.Errorf("source ports of the queue pairs: %v", worst)
	}
}

func TestBalanceOfNothingIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cnp.pcap")
	good(t, "lift6", captures+"cnp-uc-icrc-vectors-ipv4.pcap", file)
	if _, errs, code := sluice(nil, "balance", file, "--traffic", "data"); code != 0 {
		t.Errorf("a UC send is data: %s", errs)
	}
	empty := filepath.Join(t.TempDir(), "empty.pcap")
	good(t, "lift6", file, empty) // IPv6 already: nothing is lifted
	if _, errs, code := sluice(nil, "balance", empty); code != 1 || !strings.Contains(errs, "no packet to spread") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// TestLearnedPairsOfGeneratedTraffic checks from what decode says to have
// learned; that it is never wrong is tested in package flow, which has the truth.
func TestLearnedPairsOfGeneratedTraffic(t *testing.T) {
	file := filepath.Join(t.TempDir(), "g.pcap")
	for _, tt := range []struct {
		name    string
		options []string
		from    string // provenance that every data flow must have; "": unknown
	}{
		{"64 QPs from PSN 0", []string{"--qps", "64", "--start-psn", "zero"}, ""},
		{"8 QPs from random PSNs", []string{"--qps", "8", "--start-psn", "random", "--seed", "4"}, "ack"},
		{"CM", []string{"--qps", "64", "--cm"}, "cm"},
		{"UD", []string{"--qps", "64", "--service", "ud"}, "deth"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			good(t, append([]string{"gen", file, "--force", "--packets", "6400", "--payload", "4"}, tt.options...)...)
			out, _ := good(t, "decode", "--flows", "--json", file)
			data := 0
			for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
				var r flowRecord
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					t.Fatal(err)
				}
				if r.DstQP == 1 || !strings.Contains(r.Src.String(), "db8:0:1::") {
					continue
				}
				data++
				from := ""
				if r.SrcQPFrom != nil {
					from = *r.SrcQPFrom
				}
				if from != tt.from {
					t.Errorf("QP %#x: learned from %q, want %q", r.DstQP, from, tt.from)
				}
			}
			if data < 8 {
				t.Errorf("%d flows", data)
			}
		})
	}
}
