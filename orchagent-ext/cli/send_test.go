// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const golden = "../wire/notify/testdata/"

// goldenFlags are the command lines that make the golden packets.
var goldenFlags = map[string]string{
	"pfcm-icmpv6-pause":        "pfcm --stream-id 0x1234 --action pause --time 500",
	"pfcm-icmpv6-reduce":       "pfcm --stream-id 0x1234 --action reduce --reduction 50 --time 1000",
	"pfcm-icmpv6-cancel":       "pfcm --stream-id 0x1234 --action cancel --time 0",
	"pfcm-hop-by-hop":          "pfcm --stream-id 0x1234 --encapsulation hop-by-hop --time 65535",
	"pfcm-destination-options": "pfcm --stream-id 0x1234 --encapsulation destination-options --action reduce --reduction 99 --time 250",
	"rate-advice-v6":           "rate-advice --src 2001:db8::1 --dst 2001:db8:a::11 --dest-qp 0x111 --source-qp 0x222 --rate 25000",
	"rate-advice-v4":           "rate-advice --src 203.0.113.1 --dst 192.0.2.11 --dest-qp 0x111 --source-qp 0x222 --rate 25000",
	"cnp-v6":                   "cnp --src 2001:db8:b::22 --dst 2001:db8:a::11 --dest-qp 0x111",
	"cnp-v4":                   "cnp --src 198.51.100.22 --dst 192.0.2.11 --dest-qp 0x111",
	"pfc-pause":                "pfc --priority 3 --time 10 --speed 100000",
	"pfc-resume":               "pfc --priority 3,4 --quanta 0",
}

func goldenFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(golden + "*.pcap")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d golden packets: %v", len(files), err)
	}
	return files
}

// goldenFrame is the frame as hexadecimal digits, from the file of fields.
func goldenFrame(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(golden + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, frame, ok := strings.Cut(string(text), "frame: ")
	if !ok {
		t.Fatalf("%s has no frame", name)
	}
	return strings.Trim(strings.SplitN(frame, "\n", 2)[0], `"`)
}

func TestSendMakesTheGoldenPackets(t *testing.T) {
	for _, pt := range []string{"ppfc-icmpv6", "ppfc-icmpv4", "ppfc-udp6", "ppfc-udp4"} {
		for _, form := range []string{"all", "ports", "qps"} {
			name := pt + "-" + form
			fields := decodeOne(t, golden+name+".pcap")
			args := []string{"ppfc"}
			for _, f := range []struct{ flag, field string }{
				{"src", "src"}, {"dst", "dst"}, {"transport", "transport"}, {"pt", "pt"}, {"priority", "priority"},
				{"congestion-port", "congestion_port"}, {"congestion-qid", "congestion_qid"}, {"duration", "pause_duration_us"},
				{"source", "source"}, {"destination", "destination"}, {"flow", "flow"}, {"flow-protocol", "flow_protocol"},
				{"flow-sport", "flow_sport"}, {"flow-dport", "flow_dport"}, {"flow-src-qp", "flow_src_qp"}, {"flow-dst-qp", "flow_dst_qp"},
			} {
				if v, ok := fields[f.field]; ok {
					args = append(args, "--"+f.flag, v)
				}
			}
			goldenFlags[name] = strings.Join(args, " ")
		}
	}
	for _, file := range goldenFiles(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".pcap")
		args, ok := goldenFlags[name]
		if !ok {
			t.Errorf("%s: no command line makes it", name)
			continue
		}
		out, _ := good(t, append([]string{"send"}, strings.Fields(args+" --hex")...)...)
		if got, want := strings.TrimSpace(out), goldenFrame(t, name); got != want {
			t.Errorf("send %s:\n%s, want\n%s", args, got, want)
		}
	}
}

// decodeOne is the notification in a capture of one packet, its fields as text.
func decodeOne(t *testing.T, file string) map[string]string {
	t.Helper()
	all := records(t, file)
	if len(all) != 1 {
		t.Fatalf("%s: %d records", file, len(all))
	}
	n, ok := all[0]["notification"].(map[string]any)
	if !ok || n["verdict"] != "accepted" {
		t.Fatalf("%s: %v", file, all[0])
	}
	fields := map[string]string{}
	for name, v := range n["fields"].(map[string]any) {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		fields[name] = strings.Trim(string(text), `"`)
	}
	return fields
}

func TestDecodeKnowsTheGoldenPackets(t *testing.T) {
	for _, file := range goldenFiles(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".pcap")
		fields := decodeOne(t, file)
		if !strings.HasPrefix(name, fields["message"]) {
			t.Errorf("%s: read as %s", name, fields["message"])
		}
		out, stderr := good(t, "decode", file)
		if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 2 || !strings.Contains(lines[1], "  accepted  ") {
			t.Errorf("%s: %s", name, out)
		}
		if !strings.Contains(stderr, "1 notification: 1 accepted, 0 refused") {
			t.Errorf("%s: %s", name, stderr)
		}
	}
}

func TestDecodeSaysWhyANotificationIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "refused.pcap")
	good(t, "send", "pfcm", "--hop-limit", "254", "--write", file, "--count", "2", "--interval", "1s")
	all := records(t, file)
	if len(all) != 2 {
		t.Fatalf("%d records, want 2", len(all))
	}
	n := all[0]["notification"].(map[string]any)
	if got := []any{n["verdict"], n["reason"], n["fields"].(map[string]any)["hop_limit"]}; !cmp.Equal(got, []any{"refused", "hop-limit", 254.0}) {
		t.Errorf("%v", got)
	}
	out, stderr := good(t, "decode", file)
	if !strings.Contains(out, "refused: hop limit is not 255") || !strings.Contains(stderr, "2 notifications: 0 accepted, 2 refused (hop-limit: 2)") {
		t.Errorf("%s\n%s", out, stderr)
	}
	if !strings.Contains(out, "1.000000") {
		t.Errorf("the second is not a second later:\n%s", out)
	}
}

// TestDecodeWithOtherCodePoints: a peer's numbers are flags.
func TestDecodeWithOtherCodePoints(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.pcap")
	good(t, "send", "pfcm", "--pfcm-type", "210", "--write", file)
	if out, stderr, code := sluice(nil, "decode", "--json", file); code != 0 || out != "" || !strings.Contains(stderr, "0 RoCEv2, 1 other") {
		t.Errorf("with the defaults: %d %s%s", code, out, stderr)
	}
	if all := records(t, file, "--pfcm-type", "210"); len(all) != 1 {
		t.Errorf("with the peer's: %d records", len(all))
	}
}

func TestFirstHourSendTakesUnits(t *testing.T) {
	for with, plain := range map[string]string{
		"send pfcm --hex --time 5ms":                "send pfcm --hex --time 5000",
		"send ppfc --hex --duration 0.5ms":          "send ppfc --hex --duration 500",
		"send rate-advice --hex --rate 25Gbps":      "send rate-advice --hex --rate 25000",
		"send pfc --hex --time 50us --speed 10Gbit": "send pfc --hex --time 50 --speed 10000",
	} {
		got, _ := good(t, strings.Fields(with)...)
		if want, _ := good(t, strings.Fields(plain)...); got != want {
			t.Errorf("%s:\n%swant:\n%s", with, got, want)
		}
	}
}

func TestSendBadInput(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"send pfcm", "sending needs --dst, or --write FILE or --hex"},
		{"send pfcm --dst fe80::1", "sending needs --src, or --dev whose address to take"},
		{"send pfcm --dev nosuch0 --dst fe80::1", "device nosuch0"},
		{"send pfcm --hex --write x.pcap", "[hex write]"},
		{"send pfcm --hex --src 192.0.2.1 --dst 192.0.2.2", "pfcm: addresses are not all of the packet's family"},
		{"send pfcm --hex --dst fe80::1%eth0", "without a zone"},
		{"send pfcm --hex --action explode", `"explode" is not one of pause, reduce, cancel`},
		{"send pfcm --hex --encapsulation gre", "icmpv6"},
		{"send pfcm --hex --pfcm-type 201", "ICMPv6 type 201 is given to both PFCM and PPFC"},
		{"send pfcm --hex --time 65536", `"65536" is more than 65535 microseconds`},
		{"send pfcm --hex --time 66ms", `"66ms" is more than 65535 microseconds`},
		{"send rate-advice --hex --rate 25GBps", `"25GBps" is not a rate, such as 25G`},
		{"send pfcm --hex --count 0", "--count must be 1 or more"},
		{"send ppfc --hex --source 192.0.2.1", "not of the family of 2001:db8::1"},
		{"send ppfc --hex --src 2001:db8::1 --dst 192.0.2.1", "not of one family"},
		{"send rate-advice --hex --rate 0", "rate-advice: rate is 0"},
		{"send rate-advice --hex --version 2", "rate-advice: version is not 1"},
		{"send rate-advice --hex --rate-advice-opcode 0x04", "opcode 0x04 cannot be Rate Advice's"},
		{"send pfc", "sending a frame needs --dev, or --write FILE or --hex"},
		{"send pfc --hex --priority 8", "priorities are 0 to 7"},
		{"send pfc --hex --time 10", "--time takes --speed"},
		{"send pfc --hex --eth-src 1:2", "not a MAC address"},
		{"send", "send what? One of pfcm"},
		{"send nothing", `"nothing"`},
		{"listen --count -1", "must be 0 or more"},
		{"listen --dev nosuch0", "device nosuch0"},
	} {
		_, stderr, code := sluice(nil, strings.Fields(tt.args)...)
		if code != 1 || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s, want 1 and %q", tt.args, code, stderr, tt.want)
		}
	}
}
