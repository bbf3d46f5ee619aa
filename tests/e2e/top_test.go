// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"sluice/yang/rows"
)

// record writes rows of Redis at two moments of the run: the input
// of the tests of cli/top.
var record = flag.String("record", "", "folder to write before.json and now.json into")

// seen is what `sluice top --json` prints, as far as the test looks.
type seen struct {
	State  string `json:"state"`
	Method string `json:"method"`
	Ports  []struct {
		Name      string
		Role      string
		RxPackets *float64 `json:"rx_packets"`
		TxPackets *float64 `json:"tx_packets"`
		Share     *float64
	}
	Paths struct {
		Count       int
		WorstToMean *float64 `json:"worst_over_mean"`
	}
	CPU struct {
		Written *float64 `json:"label_written"`
	}
	Rows  int `json:"flow_rows"`
	Flows []struct {
		Src, Dst string
		QP       *float64 `json:"dest_qp"`
		Bits     *float64
		Packets  *float64
		Share    *float64
	}
}

// TestTopAgreesWithTheTraffic: what `sluice top` says of traffic agrees with itself. Queue pair
// 0x100 sends four times as many packets as each of the others.
func TestTopAgreesWithTheTraffic(t *testing.T) {
	l := newLeaf(t)
	l.start("--sai-profile", "SLUICE_HIDE=compute")
	l.enable()
	l.send(l.sessions(2)) // the CPU learns of the flows
	l.awaitFields("SLUICE_STATE", "global", "flows", "64")

	defer l.sending()()
	// The counters of a second are not read at the same instant, and less so on a
	// busy machine.
	for deadline := time.Now().Add(patience); ; {
		wrong := l.top().check()
		if wrong == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(wrong)
		}
	}
	if *record != "" {
		l.record("before.json")
		at := l.row("SLUICE_FLOW", l.heaviest())["packets"]
		l.await("SLUICE_FLOW", l.heaviest(), func(f map[string]string) bool { return f["packets"] != at })
		l.record("now.json")
	}
}

// check says what is not as the traffic is.
func (v seen) check() error {
	if v.State != "running" || v.Method != "rewrite" || v.Rows != 64 || len(v.Flows) != 64 || v.Paths.Count != 4 {
		return fmt.Errorf("state %s, method %s, %d flows, %d paths", v.State, v.Method, v.Rows, v.Paths.Count)
	}
	var flows, sent, received, shares float64
	for _, f := range v.Flows {
		if f.Packets == nil || f.Share == nil {
			return fmt.Errorf("a flow has no rate: %+v", f)
		}
		flows += *f.Packets
	}
	for _, p := range v.Ports {
		switch {
		case p.RxPackets == nil || p.TxPackets == nil:
			return fmt.Errorf("a port has no rate: %+v", p)
		case p.Role == "edge":
			received = *p.RxPackets
		case p.Share != nil:
			sent += *p.TxPackets
			shares += *p.Share
		}
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < 0.3*b }
	if received == 0 || !near(flows, received) || !near(sent, received) || v.CPU.Written == nil || !near(*v.CPU.Written, received) || !near(shares, 1) {
		return fmt.Errorf("packets/s: in %.0f, of flows %.0f, labelled %v, out %.0f; shares add up to %.2f", received, flows, v.CPU.Written, sent, shares)
	}
	if w := v.Paths.WorstToMean; w == nil || *w < 1 || *w > 4 {
		return fmt.Errorf("max ÷ mean %v over 4 paths", w)
	}
	if f := v.Flows[0]; *f.QP != 0x100 || *f.Share < 0.03 || *f.Share > 0.12 { // 4/67
		return fmt.Errorf("the heaviest flow is %#x with a share of %.3f", uint32(*f.QP), *f.Share)
	}
	return nil
}

// sending has packets sent until stop: 67 every 5 ms.
func (l *leaf) sending() (stop func()) {
	l.t.Helper()
	sender := l.sender(l.A)
	frames := l.sessions(1)
	frames = append(frames, frames[0], frames[0], frames[0])
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-end:
				return
			case <-ticker.C:
			}
			for _, f := range frames {
				if err := sender.Send(f); err != nil {
					l.t.Error(err)
					return
				}
			}
		}
	}()
	return func() { close(end); <-ended }
}

// top runs the tool for one frame.
func (l *leaf) top() seen {
	l.t.Helper()
	cmd := exec.Command(bin+"sluice", "top", "--once", "--json", "--db-config", l.redis.Config)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		l.t.Fatalf("sluice top: %v: %s", err, &stderr)
	}
	var v seen
	if err := json.Unmarshal(out, &v); err != nil {
		l.t.Fatalf("%s: %v", out, err)
	}
	return v
}

func (l *leaf) heaviest() string {
	var id string
	var most int
	for key, fields := range l.table("SLUICE_FLOW") {
		if n := len(fields["bytes"]); n > most || n == most && key < id {
			id, most = key, n
		}
	}
	return id
}

// record writes the rows that `sluice top` reads into a file.
func (l *leaf) record(name string) {
	l.t.Helper()
	var all []rows.Row
	some, err := l.config.Read(l.t.Context(), "SLUICE_PORT")
	all = append(all, some...)
	if err == nil {
		some, err = l.state.Read(l.t.Context(), rows.Tables("STATE_DB")...)
		all = append(all, some...)
	}
	if err == nil {
		some, err = l.countersDB.Read(l.t.Context(), rows.Tables("COUNTERS_DB")...)
		all = append(all, some...)
	}
	if err != nil {
		l.t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(r rows.Row) bool { return r.Table == "SLUICE_ASIC_OBJECT" })
	text, err := json.MarshalIndent(all, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(*record, name), append(text, '\n'), 0o644)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}
