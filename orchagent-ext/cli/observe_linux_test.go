// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"sluice/orchagent-ext/cli/capture"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

// observing is sluice observe on a host.
type observing struct {
	t       *testing.T
	process *fabric.Process
	lines   *bufio.Scanner // of standard output
	said    *bufio.Scanner // of standard error
}

// observe starts sluice observe on a host, and returns when it sees packets.
func (w *world) observe(host *fabric.Interface, args ...string) *observing {
	w.t.Helper()
	cmd := exec.Command(w.Program, append([]string{"observe"}, args...)...)
	o := &observing{t: w.t}
	var ends []*os.File
	for _, scanner := range []**bufio.Scanner{&o.lines, &o.said} {
		r, end, err := os.Pipe()
		if err != nil {
			w.t.Fatal(err)
		}
		w.t.Cleanup(func() { _ = r.Close() })
		*scanner = bufio.NewScanner(r)
		ends = append(ends, end)
	}
	cmd.Stdout, cmd.Stderr = ends[0], ends[1]
	var err error
	if o.process, err = host.Node.Start(cmd); err != nil {
		w.t.Fatal(err)
	}
	for _, end := range ends {
		_ = end.Close()
	}
	if !o.said.Scan() || !strings.HasPrefix(o.said.Text(), "observing ") {
		o.process.Kill()
		w.t.Fatalf("observe: %s: %v", o.said.Text(), o.process.Wait())
	}
	return o
}

// next waits for the next record.
func (o *observing) next() (r record) {
	o.t.Helper()
	if !o.lines.Scan() {
		o.t.Fatalf("observe ended: %v", o.process.Wait())
	}
	if err := json.Unmarshal(o.lines.Bytes(), &r); err != nil {
		o.t.Fatal(err)
	}
	return r
}

// interrupt ends it as Ctrl-C does, and returns what it says.
func (o *observing) interrupt() string {
	o.t.Helper()
	o.process.Signal(syscall.SIGINT)
	var said []string
	for o.said.Scan() {
		said = append(said, o.said.Text())
	}
	if err := o.process.Wait(); err != nil {
		o.t.Errorf("it ended with %v: %q", err, said)
	}
	return strings.Join(said, "\n")
}

// TestObserveADevice: packets are shown with the port that they came in or left by, with
// the VLAN tags that the kernel takes out, while the command runs; Ctrl-C ends it well.
func TestObserveADevice(t *testing.T) {
	p := fabrictest.Pair(t)
	w := newWorld(t, p.A, p.B)
	r, err := capture.Open(t.Context(), captures+"rc-send-ipv4.pcap", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var frames [][]byte
	for len(frames) < 4 {
		f, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Data[23] == 17 && f.Data[36] == 4791>>8 {
			frames = append(frames, slices.Clone(f.Data))
		}
	}
	frames[1] = slices.Insert(frames[1], 12, 0x81, 0, 0x60, 7)
	frames[2] = slices.Insert(frames[2], 12, 0x88, 0xa8, 0, 5, 0x81, 0, 0, 9)
	vlans := [][]uint16{nil, {7}, {5, 9}, nil}

	file := filepath.Join(t.TempDir(), "live.pcapng")
	a, b := w.observe(p.A, "--dev", "any", "--json", "--src", "192.168.70.0/24", "--write", file), w.observe(p.B, "--dev", "eth0", "--json", "--src", "192.168.70.0/24")
	sender, err := p.A.Sender()
	if err != nil {
		t.Fatal(err)
	}
	defer sender.Close()
	for i, frame := range frames {
		if err := sender.Send(frame); err != nil {
			t.Fatal(err)
		}
		left, came := a.next(), b.next() // before the next one is sent
		if left.In != "" || left.Out != "eth0" || came.In != "eth0" || came.Out != "" {
			t.Errorf("packet %d left (in %q, out %q), and came (in %q, out %q)", i, left.In, left.Out, came.In, came.Out)
		}
		for _, r := range []record{left, came} {
			if !slices.Equal(r.VLAN, vlans[i]) || r.ICRCOK == nil || !*r.ICRCOK || !r.Src.Is4() {
				t.Errorf("packet %d: VLAN %v, want %v; ICRC %v", i, r.VLAN, vlans[i], r.ICRCOK)
			}
		}
	}
	for _, o := range []*observing{a, b} {
		if said := o.interrupt(); !strings.Contains(said, ": 4 RoCEv2, ") || !strings.Contains(said, "; 4 shown") {
			t.Errorf("it said %q", said)
		}
	}
	written := jsonLines(t, "observe", file, "-o", "json", "--fields", "in,out,icrc_ok")
	if len(written) != 4 || written[3]["out"] != "eth0" || written[3]["in"] != nil || written[3]["icrc_ok"] != true {
		t.Errorf("the file of --write has %v", written)
	}
}
