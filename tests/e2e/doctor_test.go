// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/capturegen"
)

// judged is one verdict of `sluice doctor --json`.
type judged struct {
	Check, Level, Found string
	Numbers             map[string]float64
	Commands            []string
}

// verdicts reads the output of doctor, by check.
func verdicts(t *testing.T, out string) map[string]judged {
	t.Helper()
	all := map[string]judged{}
	for line := range strings.Lines(out) {
		var v judged
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		all[v.Check] = v
	}
	return all
}

// capturedBy has doctor judge packets that arrived.
func capturedBy(t *testing.T, arrived []fabric.Frame) map[string]judged {
	t.Helper()
	p := capturegen.Pcap{}
	for _, f := range arrived {
		p.Packets = append(p.Packets, capturegen.Packet{Seconds: uint32(f.Time.Unix()), Fraction: uint32(f.Time.Nanosecond() / 1000), Data: f.Data})
	}
	file := filepath.Join(t.TempDir(), "arrived.pcap")
	if err := os.WriteFile(file, p.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return verdicts(t, tool(t, bin+"sluice", "doctor", file, "--json", "--paths", "4", "--switch", "linux"))
}

// TestDoctorSaysDoneAfterLabels: of the packets that pass a leaf doctor asks for labels before they
// are switched on, and is done with them after; on the leaf itself, too, where it asks sluiced.
func TestDoctorSaysDoneAfterLabels(t *testing.T) {
	t.Parallel()
	l := newLeaf(t)
	l.start()
	before := capturedBy(t, l.send(l.sessions(20)))
	if v := before["ports"]; v.Level != "act" || v.Numbers["most_source_ports"] != 1 {
		t.Errorf("before labels: %+v", v)
	}
	if v := before["paths"]; v.Level != "act" || v.Numbers["now"] != 4 || v.Numbers["placed"] != 1 {
		t.Errorf("before labels: %+v", v)
	}
	if v := before["answer"]; v.Level != "act" || !strings.HasPrefix(v.Found, "switch on flow labels") || len(v.Commands) == 0 {
		t.Errorf("before labels: %+v", v)
	}
	l.enable()
	after := capturedBy(t, l.send(l.sessions(20)))
	if v := after["label"]; v.Level != "ok" || !strings.HasPrefix(v.Found, "done: labels on this port, as Sluice computes them") || v.Numbers["labeled_share"] != 1 || v.Numbers["most_labels"] != 64 {
		t.Errorf("after labels: %+v", v)
	}
	if v := after["paths"]; v.Numbers["now"] >= before["paths"].Numbers["now"]/2 || v.Numbers["five_tuple"] != 4 {
		t.Errorf("after labels: %+v", v)
	}
	if v := after["ports"]; v.Level != "ok" {
		t.Errorf("after labels: %+v", v)
	}
	if v := l.watched(); v["label"].Level != "ok" || !strings.HasPrefix(v["label"].Found, "done: ") || v["sluiced"].Level != "ok" || len(v["answer"].Commands) != 1 || v["answer"].Commands[0] != "sluice config placement set --admin-state enabled" {
		t.Errorf("on the leaf: %+v", v)
	} else if got := v["traffic"].Numbers["data_packets"]; got < 64*20 {
		t.Errorf("on the leaf: %v data packets", got)
	}
}

// watched has doctor judge what leaves by the uplinks, and sluiced.
func (l *leaf) watched() map[string]judged {
	t := l.t.(*testing.T)
	args := []string{"doctor", "--json", "--paths", "4", "--for", "10m", "--db-config", l.redis.Config}
	for _, u := range l.Uplinks {
		args = append(args, "--dev", u.Name)
	}
	var out strings.Builder
	cmd := exec.Command(bin+"sluice", args...)
	cmd.Stdout = &out
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := l.Leaf.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(errs).ReadString('\n'); err != nil || !strings.HasPrefix(line, "watching ") {
		t.Fatalf("%q, %v", line, err)
	}
	for range 2 { // the first ones are judged when others are read
		l.send(l.sessions(20))
		l.until("no packet waits for doctor", l.packetsAreRead)
	}
	if err := errors.Join(cmd.Process.Signal(os.Interrupt), p.Wait()); err != nil {
		t.Fatal(err)
	}
	return verdicts(t, out.String())
}

// packetsAreRead reports whether no packet waits in a packet socket of the leaf.
func (l *leaf) packetsAreRead() bool {
	const rmem = 6 // column of /proc/net/packet
	waiting := false
	for line := range strings.Lines(l.in("tail", "-n", "+2", "/proc/net/packet")) {
		waiting = waiting || strings.Fields(line)[rmem] != "0"
	}
	return !waiting
}
