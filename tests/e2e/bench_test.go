// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/saidriver"
	sai "sluice/sai-shim"
	"sluice/tests/fabrictest"
	"sluice/yang/rows"
)

// BenchmarkIngress is what the ingress program costs a packet over an empty one,
// by BPF_PROG_TEST_RUN.
func BenchmarkIngress(b *testing.B) {
	for _, what := range []string{"compute", "flow", "not_roce"} {
		b.Run(what, func(b *testing.B) {
			pair := fabrictest.Pair(b)
			for b.Loop() {
				var out bytes.Buffer
				cmd := exec.Command(bin+"softsai-bench", bin+"libsoftsai.so")
				cmd.Stdout = &out
				p, err := pair.A.Node.Start(cmd)
				if err == nil {
					err = p.Wait()
				}
				if err != nil {
					b.Fatalf("softsai-bench: %v", err)
				}
				var ns map[string]float64
				if err := json.Unmarshal(out.Bytes(), &ns); err != nil {
					b.Fatalf("%s: %v", &out, err)
				}
				b.ReportMetric(ns[what+"_ns"]-ns["empty_ns"], "ns/packet")
			}
		})
	}
}

// BenchmarkForwarding sends packets through the leaf by turns without and with
// the program, which labels them. The sender's part, the same in both, is in the
// times.
func BenchmarkForwarding(b *testing.B) {
	l := newLeaf(b)
	l.start()
	l.enable()
	frames := l.sessions(300)
	var without, with time.Duration
	for b.Loop() {
		l.set("SLUICE", "global", "admin_state", "disabled")
		l.awaitFields("SLUICE_STATE", "global", "state", "disabled")
		without += l.flood(frames)
		l.set("SLUICE", "global", "admin_state", "enabled")
		l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active")
		with += l.flood(frames)
	}
	b.ReportMetric(float64(without)/float64(with), "ratio")
	b.ReportMetric(float64(len(frames)*b.N)/with.Seconds(), "packets/s")
}

// flood sends frames as fast as one thread can, and returns how long it took
// until all had left the spine.
func (l *leaf) flood(frames [][]byte) time.Duration {
	l.t.Helper()
	sender, err := l.A.Sender()
	if err != nil {
		l.t.Fatal(err)
	}
	defer sender.Close()
	arrived := func() uint64 {
		c, err := l.SpineB.Counters()
		if err != nil {
			l.t.Fatal(err)
		}
		return c.TxPackets
	}
	before, start := arrived(), time.Now()
	for i, f := range frames {
		if err := sender.Send(f); err != nil {
			l.t.Fatal(err)
		}
		if i%1024 == 1023 { // no more than the kernel queues
			for arrived()-before < uint64(i-512) {
			}
		}
	}
	for deadline := start.Add(patience); arrived()-before < uint64(len(frames)); {
		if time.Now().After(deadline) {
			l.t.Fatalf("%d of %d packets arrived", arrived()-before, len(frames))
		}
	}
	return time.Since(start)
}

// BenchmarkPacketsToCPU is the CPU time of sluiced for 8,000 packets a second to the CPU, which come one
// after the other.
func BenchmarkPacketsToCPU(b *testing.B) {
	const rate, lasts = 8000, 3 * time.Second
	l := newLeaf(b)
	l.set("SLUICE_IPFIX_COLLECTOR", "c", "address", "127.0.0.1", "port", l.collector())
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "health", "enabled")
	l.start()
	l.enable()
	frames := l.sessions(64)
	sender, err := l.A.Sender()
	if err != nil {
		b.Fatal(err)
	}
	defer sender.Close()
	var busy, took time.Duration
	sent := 0
	for b.Loop() {
		before, began := usageOf(b, l.sluiced.Pid).cpu, time.Now()
		for n := 0; time.Since(began) < lasts; {
			for ; n < int(time.Since(began).Seconds()*rate); n++ {
				if err := sender.Send(frames[n%len(frames)]); err != nil {
					b.Fatal(err)
				}
				sent++
			}
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e5}, nil)
		}
		busy, took = busy+usageOf(b, l.sluiced.Pid).cpu-before, took+time.Since(began)
	}
	l.awaitCounters("SLUICE_STATS", "global", "cpu_roce", fmt.Sprint(sent))
	b.ReportMetric(100*busy.Seconds()/took.Seconds(), "cpu-percent")
}

// BenchmarkRowToSwitch is the time from a row being written to STATE_DB saying
// that it is on the switch.
func BenchmarkRowToSwitch(b *testing.B) {
	l := newLeaf(b)
	l.start()
	l.enable()
	var took []float64
	for b.Loop() {
		for range 50 {
			for _, state := range []string{"disabled", "enabled"} {
				start := time.Now()
				l.set("SLUICE_PORT", l.LeafA.Name, "role", "edge", "flow_label", state)
				for (l.objects()["port/"+l.LeafA.Name] != "") != (state == "enabled") {
					if time.Since(start) > patience {
						b.Fatal("the row is not on the switch")
					}
				}
				took = append(took, float64(time.Since(start).Microseconds())/1000)
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2], "ms-p50")
	b.ReportMetric(took[len(took)*99/100], "ms-p99")
}

// memory is a ledger that outlives nothing.
type memory struct{}

func (memory) Load() ([]*engine.Record, error)          { return nil, nil }
func (memory) Save([]*engine.Record, []engine.ID) error { return nil }

// BenchmarkProgram gives flows an entry on the software switch.
func BenchmarkProgram(b *testing.B) {
	for _, n := range []uint32{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { program(b, n) })
	}
}

func program(b *testing.B, n uint32) {
	library, err := filepath.Abs(bin + "libsoftsai.so")
	if err != nil {
		b.Fatal(err)
	}
	pair := fabrictest.Pair(b)
	var flows []engine.FlowEntry
	for i := range n {
		flows = append(flows, engine.FlowEntry{
			Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2"), DestQP: i, Label: i + 1,
		})
	}
	for b.Loop() {
		err := pair.A.Node.Do(func() error {
			lib, err := sai.Open(library, map[string]string{"SLUICE_HIDE": "compute"}, nil)
			if err != nil {
				return err
			}
			defer func() { _ = lib.Close() }()
			if err := lib.CreateSwitch(true); err != nil {
				return err
			}
			driver := saidriver.New(lib, saidriver.Options{})
			if err := driver.Ports.Set([]engine.Port{{Name: pair.A.Name, Lanes: []uint32{uint32(pair.A.Index)}}}); err != nil {
				return err
			}
			e, err := engine.NewEngine(driver, memory{}, nil)
			if err != nil {
				return err
			}
			policy := engine.Policy{Label: &engine.Label{Algorithm: flow.DraftLiteral, ZeroOnly: true}, Ports: []string{pair.A.Name}, FlowCapacity: 65536}
			if _, err := e.Reconcile(policy); err != nil {
				return err
			}
			start := time.Now()
			refused, err := e.AddFlows(flows)
			if err != nil || refused > 0 {
				return fmt.Errorf("%d refused: %w", refused, err)
			}
			b.ReportMetric(time.Since(start).Seconds(), "s")
			_, err = e.Reconcile(engine.Policy{})
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkKillSwitch/10000 is the time from admin_state=disabled until no packet is changed any more, at most,
// and until all objects have gone, of a switch with 10,000 entries of flows.
func BenchmarkKillSwitch(b *testing.B) {
	b.Run("10000", func(b *testing.B) {
		l := newLeaf(b)
		l.start("--sai-profile", "SLUICE_HIDE=compute")
		l.enable()
		l.learnMany(10000)
		var silent, gone time.Duration
		rounds := 0
		for b.Loop() {
			if rounds++; rounds > 1 {
				l.set("SLUICE", "global", "admin_state", "enabled")
				l.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
				l.learnMany(10000)
			}
			began := time.Now()
			l.set("SLUICE", "global", "admin_state", "disabled")
			silent = max(silent, l.untilUnlabeled(began))
			l.awaitFields("SLUICE_STATE", "global", "objects", "0", "flows", "0")
			gone = max(gone, time.Since(began))
		}
		b.ReportMetric(silent.Seconds(), "s-silent")
		b.ReportMetric(gone.Seconds(), "s-gone")
	})
}

// BenchmarkResync reads 10,000 rows of CONFIG_DB and judges them again.
func BenchmarkResync(b *testing.B) {
	l := newLeaf(b)
	var all []sonicdb.Change
	for i := range 10000 {
		all = append(all, sonicdb.Change{Row: rows.Row{Table: "SLUICE_RATE_ADVICE_HOST", Key: fmt.Sprintf("10.%d.%d.0/24", i/256, i%256)}})
	}
	l.write(all...)
	for b.Loop() {
		start := time.Now()
		found, err := l.config.Read(context.Background(), config.Tables()...)
		if err != nil {
			b.Fatal(err)
		}
		changes := make([]sonicdb.Change, len(found))
		for i, r := range found {
			changes[i] = sonicdb.Change{Row: r}
		}
		if s, rejected := config.New().Apply(changes); len(s.RateAdviceHosts) != 10000 || len(rejected) > 0 {
			b.Fatalf("%d rows in force, %v", len(s.RateAdviceHosts), rejected)
		}
		b.ReportMetric(time.Since(start).Seconds(), "s")
	}
}

// BenchmarkRestart is the time from kill -9 until the next process says that it
// is in step.
func BenchmarkRestart(b *testing.B) {
	l := newLeaf(b)
	l.start()
	l.enable()
	for b.Loop() {
		since := l.row("SLUICE_STATE", "global")["since"]
		for time.Now().UTC().Truncate(time.Second).Format(time.RFC3339) == since { // its resolution
			_ = unix.Nanosleep(&unix.Timespec{Nsec: 1e7}, nil)
		}
		start := time.Now()
		l.sluiced.Kill()
		l.launch()
		l.await("SLUICE_STATE", "global", func(f map[string]string) bool {
			return f["since"] != since && f["state"] == "running" && f["flow_label"] == "active"
		})
		b.ReportMetric(time.Since(start).Seconds(), "s")
	}
}
