// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/orchagent-ext/testbed/lab"
	"sluice/tests/fabrictest"
	"sluice/yang/rows"
)

// runEither runs a command line of sluice, or, by its first word, of sluice-lab: tests read with
// the one program the packets that they make with the other.
func runEither(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	first := args
	if len(args) > 1 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		first = args[1:]
	}
	if len(first) > 0 && slices.Contains([]string{"gen", "send", "verify", "demo"}, first[0]) {
		return lab.Run(ctx, version, args, stdin, stdout, stderr)
	}
	return Run(ctx, version, args, stdin, stdout, stderr)
}

// TestMain runs the tests, or the tool, for tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv(fabrictest.AsTool) != "" {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		context.AfterFunc(ctx, stop)
		os.Exit(runEither(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

const topPatience = 60 * time.Second

// fakeSluiced is a Redis with the rows that a real sluiced wrote.
type fakeSluiced struct {
	*privateredis.Server
	config, state, counters *sonicdb.DB
}

func newFakeSluiced(t *testing.T) *fakeSluiced {
	t.Helper()
	dir, err := os.MkdirTemp("", "sluice") // t.TempDir is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &fakeSluiced{}
	s.Server, err = privateredis.Start(dir)
	if errors.Is(err, privateredis.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	all, err := sonicdb.Load(s.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &s.config, "STATE_DB": &s.state, "COUNTERS_DB": &s.counters} {
		if *db, err = sonicdb.Open(all, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*db).Close() })
	}
	return s
}

// writes writes the recorded rows, the counters read just now.
func (s *fakeSluiced) writes(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("top/testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var all []rows.Row
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	changes := map[*sonicdb.DB][]sonicdb.Change{}
	for _, r := range all {
		if r.Table == "SLUICE_STATS" {
			r.Fields["read_time"] = time.Now().UTC().Format(time.RFC3339Nano)
		}
		for database, db := range map[string]*sonicdb.DB{"CONFIG_DB": s.config, "STATE_DB": s.state, "COUNTERS_DB": s.counters} {
			for _, table := range rows.Tables(database) {
				if table == r.Table {
					changes[db] = append(changes[db], sonicdb.Change{Row: r})
				}
			}
		}
	}
	for db, c := range changes {
		if err := db.Write(t.Context(), c...); err != nil {
			t.Fatal(err)
		}
	}
}

// keepsWriting writes counters that go up, twice a second, until the test ends.
func (s *fakeSluiced) keepsWriting(t *testing.T) {
	t.Helper()
	s.writes(t, "before.json")
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		const each = 500 * time.Millisecond
		tick, began := time.NewTicker(each), time.Now()
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			n := time.Since(began) / each // however late it is, 1000 an interval
			// Fails while a test has Redis down.
			_ = s.counters.Write(ctx,
				sonicdb.Change{Row: rows.Row{Table: "SLUICE_STATS", Key: "global", Fields: map[string]string{
					"read_time": began.Add(n * each).UTC().Format(time.RFC3339Nano), "cpu_copied": fmt.Sprint(1000 * int(n))}}},
				sonicdb.Change{Row: rows.Row{Table: "SLUICE_PORT_STATS", Key: "Ethernet4", Fields: map[string]string{
					"tx_bytes": fmt.Sprint(1e6 * int(n)), "tx_packets": fmt.Sprint(1000 * int(n)), "rx_bytes": "0", "rx_packets": "0"}}})
		}
	}()
}
