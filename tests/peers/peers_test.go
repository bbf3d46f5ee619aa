// SPDX-License-Identifier: Apache-2.0

package peers

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/testbed/fabric/child"
	"sluice/tests/loopback"
	"sluice/tests/programs"
)

const (
	root     = "../.."
	patience = time.Minute
)

// flowRecord is what a peer can read of a flow. What it cannot it leaves 0, and
// so does the test in what it wants.
type flowRecord struct {
	Src, Dst                  netip.Addr
	SrcPort, DstPort          uint64
	FlowLabel                 uint64
	OpCode, PKey, DestQP, PSN uint64
	SrcQP                     uint64 // unknown: noQP
	Flags1, Flags2, Flags3    uint64
	Packets, Octets           uint64
	Start, End                int64 // ms since 1970
}

// noQP is the source queue pair of a record without one.
const noQP = 1 << 32

// tool is bin/sluice, and the captures with what it says of their flows.
type tool struct {
	path     string
	captures []string
	flows    map[string][]flowRecord
}

// newTool builds it once for all tests.
func newTool(t *testing.T) *tool {
	t.Helper()
	if theTool == nil {
		theTool = buildTool(t, toolDir)
	}
	return theTool
}

var (
	theTool *tool
	toolDir string
)

func TestMain(m *testing.M) {
	var err error
	if toolDir, err = os.MkdirTemp("", "peers"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(toolDir) //nolint:errcheck // a temporary folder
	os.Exit(code)
}

func buildTool(t *testing.T, dir string) *tool {
	t.Helper()
	tools, err := programs.Build("./orchagent-ext/cmd/sluice", "./orchagent-ext/cmd/sluice-lab")
	if err != nil {
		t.Fatal(err)
	}
	s := &tool{path: filepath.Join(tools, "sluice"), flows: map[string][]flowRecord{}}
	if s.captures, err = filepath.Glob(root + "/tests/captures/*-ipv4.pcap"); err != nil || len(s.captures) < 3 {
		t.Fatalf("captures: %v %v", s.captures, err)
	}
	v6 := filepath.Join(dir, "ipv6.pcap")
	s.run(t, "capture", "lift6", root+"/tests/captures/rc-send-ipv4.pcap", v6)
	s.captures = append(s.captures, v6)
	for _, c := range s.captures {
		s.flows[c] = s.decode(t, c)
	}
	return s
}

func (s *tool) run(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.path, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.Bytes())
	}
	return out
}

// decode is the flows of a capture: its packets summed up here, and the source
// queue pair that is known in the end.
func (s *tool) decode(t *testing.T, capture string) []flowRecord {
	t.Helper()
	type packet struct {
		Time                time.Time
		Src, Dst            netip.Addr
		Sport, Opcode, Pkey uint64
		FlowLabel           uint64  `json:"flow_label"`
		DstQP               uint64  `json:"dst_qp"`
		SrcQP               *uint64 `json:"src_qp"`
		PSN, Pad, TVer      uint64
		SE, M, FECN, BECN   bool
		AckReq              bool `json:"ack_req"`
		Packets, Bytes      uint64
		First, Last         time.Time
	}
	read := func(args ...string) (all []packet) {
		lines := bufio.NewScanner(bytes.NewReader(s.run(t, append([]string{"decode", "--json", capture}, args...)...)))
		for lines.Scan() {
			var p packet
			if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
				t.Fatalf("%s: %v", lines.Bytes(), err)
			}
			if p.Src.IsValid() {
				all = append(all, p)
			}
		}
		return all
	}
	bit := func(b bool, n int) uint64 {
		if b {
			return 1 << n
		}
		return 0
	}
	packets := read()
	var flows []flowRecord
	for _, f := range read("--flows") {
		r := flowRecord{
			Src: f.Src, Dst: f.Dst, SrcPort: f.Sport, DstPort: 4791, FlowLabel: f.FlowLabel, PKey: f.Pkey, DestQP: f.DstQP, SrcQP: noQP,
			Octets: f.Bytes, Start: f.First.UnixMilli(), End: f.Last.UnixMilli(),
		}
		if f.SrcQP != nil {
			r.SrcQP = *f.SrcQP
		}
		for _, p := range packets {
			if p.Src != f.Src || p.Dst != f.Dst || p.Sport != f.Sport || p.FlowLabel != f.FlowLabel || p.Pkey != f.Pkey || p.DstQP != f.DstQP {
				continue
			}
			r.Packets++
			r.OpCode, r.PSN = p.Opcode, p.PSN
			r.Flags1 = bit(p.SE, 7) | bit(p.M, 6) | p.Pad<<4 | p.TVer
			r.Flags2, r.Flags3 = bit(p.FECN, 7)|bit(p.BECN, 6), bit(p.AckReq, 7)
		}
		if r.Packets != f.Packets {
			t.Fatalf("%s: %d packets of a flow of %d: its key is another", capture, r.Packets, f.Packets)
		}
		flows = append(flows, r)
	}
	return flows
}

// twice is the flows of all captures, as they are exported with health and without.
func (s *tool) twice() (all []flowRecord) {
	for _, c := range s.captures {
		all = slices.Concat(all, s.flows[c], s.flows[c])
	}
	return all
}

// same compares what a peer read with what is right, in any order.
func same(t *testing.T, want, got []flowRecord) {
	t.Helper()
	order := func(flows []flowRecord) []flowRecord {
		return slices.SortedFunc(slices.Values(flows), func(a, b flowRecord) int {
			return cmp.Or(a.Src.Compare(b.Src), a.Dst.Compare(b.Dst), cmp.Compare(a.SrcPort, b.SrcPort), cmp.Compare(a.DestQP, b.DestQP))
		})
	}
	if diff := gocmp.Diff(order(want), order(got), gocmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("- sluice decode, + the peer:\n%s", diff)
	}
}

// without blanks what a peer does not show.
func without(flows []flowRecord, blank func(*flowRecord)) []flowRecord {
	flows = slices.Clone(flows)
	for i := range flows {
		blank(&flows[i])
	}
	return flows
}

// need skips the test where a program is not installed.
func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed: make deps", program)
	}
}

// daemon starts a program that ends with the test, and returns a reader of what
// it has said so far.
func daemon(t *testing.T, name string, args ...string) func() string {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = f, f
	if err := child.Start(cmd); err != nil {
		t.Fatal(err)
	}
	said := func() string {
		b, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) //nolint:errcheck // it may have ended
		ended := make(chan struct{})
		go func() {
			cmd.Wait() //nolint:errcheck // it was told to end
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill() //nolint:errcheck // it may have ended
			<-ended
		}
		f.Close() //nolint:errcheck // the program wrote it
		if t.Failed() {
			t.Logf("%s said:\n%s", name, said())
		}
	})
	return said
}

func freePort(t *testing.T) string {
	t.Helper()
	_, port, _ := strings.Cut(loopback.Free(t, "udp", 1)[0], ":")
	return port
}

// wait polls until ok.
func wait(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain for %s", patience, what)
		}
	}
}
