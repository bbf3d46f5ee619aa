// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/orchagent-ext/wire/roce"
	"sluice/tests/fabrictest"
)

const captures = root + "/tests/captures"

// leafSpine is one that is only named, not built.
func leafSpine() *fabric.LeafSpine {
	s := &fabric.LeafSpine{LeafA: &fabric.Interface{Name: "Ethernet0"}}
	for i := range uplinks {
		s.Uplinks = append(s.Uplinks, &fabric.Interface{Name: fmt.Sprint("Ethernet", 4*(i+1))})
	}
	return s
}

func realBench(t *testing.T) *bench {
	t.Helper()
	b, err := newBench(fabrictest.New(t), captures)
	fabrictest.Check(t, err)
	return b
}

// Without labels a host pair's sessions share one uplink.
func TestRoundWithoutLabels(t *testing.T) {
	b := realBench(t)
	load, got, err := b.round(t.Context(), (*roce.Packet).FlowLabel)
	if err != nil {
		t.Fatal(err)
	}
	if load.WorstToMean != uplinks {
		t.Errorf("loads %d: max ÷ mean %v, want %d", load.PerPath, load.WorstToMean, uplinks)
	}
	all := len(b.captured) + len(b.generated)
	if diff := cmp.Diff(verdict{Checked: all, Right: all}, got); diff != "" {
		t.Error(diff)
	}
	if len(b.captured) != 119 || b.files != 3 || len(b.generated) != sessions.Packets {
		t.Errorf("%d packets of %d captures, %d generated", len(b.captured), b.files, len(b.generated))
	}
}

// With the labels in the packets as they leave host A, and a leaf that hashes
// them, the sessions spread. That the leaf writes them is not tested here.
func TestRoundWithLabels(t *testing.T) {
	b := realBench(t)
	for name, value := range map[string]string{"policy": "3", "fields": "63"} {
		if err := b.Leaf.Sysctl("net.ipv6.fib_multipath_hash_"+name, value); err != nil {
			t.Fatal(err)
		}
	}
	label := labelsAt(methodCompute, flow.DraftLiteral)
	for _, frames := range [][][]byte{b.captured, b.generated} {
		for _, f := range frames {
			var p roce.Packet
			if err := p.Parse(f, len(f)); err != nil {
				t.Fatal(err)
			}
			p.SetFlowLabel(label(&p))
		}
	}
	load, v, err := b.round(t.Context(), (*roce.Packet).FlowLabel)
	if err != nil {
		t.Fatal(err)
	}
	if load.WorstToMean > mostAfter || v.Right != len(b.captured)+len(b.generated) {
		t.Errorf("loads %d: max ÷ mean %.2f; %+v", load.PerPath, load.WorstToMean, v)
	}
}

// Packets that get lost are counted, and the others do not wait for them.
func TestRoundCountsLost(t *testing.T) {
	b := realBench(t)
	b.generated = b.generated[:200]
	for i := range 3 {
		b.generated[50*i][14+7] = 1 // hop limit: the leaf drops it
	}
	load, v, err := b.round(t.Context(), (*roce.Packet).FlowLabel)
	if err != nil {
		t.Fatal(err)
	}
	if v.Lost != 3 || v.Foreign != 0 || load.PerPath == nil {
		t.Errorf("%+v", v)
	}
}

// run runs the demo with a shell script for sluiced and returns its error, after
// it has checked that nothing is left.
func run(t *testing.T, ctx context.Context, script string) error {
	t.Helper()
	fabrictest.New(t) // skips
	folder := t.TempDir()
	sluiced := filepath.Join(folder, "sluiced")
	if err := os.WriteFile(sluiced, []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(folder, "temp")
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", temp)
	var out bytes.Buffer
	err := Run(ctx, Config{
		Sluiced: sluiced, Library: sluiced, Captures: captures, Out: filepath.Join(folder, "out"), Scenarios: []string{"spread"},
		Stdout: &out, Stderr: t.Output(),
	})
	if errors.Is(err, privateredis.ErrNotInstalled) || errors.Is(err, fabric.ErrNotSupported) {
		t.Skip(err)
	}
	if left, _ := filepath.Glob(temp + "/*"); left != nil {
		t.Errorf("left behind: %q", left)
	}
	if left, _ := filepath.Glob(fmt.Sprintf("/run/netns/sluice-%d-*-leaf", os.Getpid())); left != nil {
		t.Errorf("left behind: %q", left)
	}
	return err
}

// The end of sluiced ends the demo, which shows what it said last.
func TestSluicedDies(t *testing.T) {
	err := run(t, t.Context(), "echo level=ERROR msg=\"no such library\" >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "no such library") {
		t.Errorf("got %v", err)
	}
}

func TestInterruptedDemoReturnsTheReason(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("interrupted")
	timer := time.AfterFunc(300*time.Millisecond, func() { cancel(reason) })
	defer timer.Stop()
	if err := run(t, ctx, "exec sleep 1000"); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}

func TestMissingFiles(t *testing.T) {
	fabrictest.New(t) // skips
	for _, c := range []Config{
		{Sluiced: "no/sluiced", Library: captures, Captures: captures},
		{Sluiced: captures, Library: "no/library.so", Captures: captures},
		{Sluiced: captures, Library: captures, Captures: "no/captures"},
	} {
		c.Stdout, c.Stderr, c.Out, c.Scenarios = t.Output(), t.Output(), t.TempDir(), []string{"spread"}
		if err := Run(t.Context(), c); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "no/") {
			t.Errorf("got %v", err)
		}
	}
}

func TestClosingLinesNameWhatThereIs(t *testing.T) {
	some, err := chosen([]string{"spread", "placement", "hold"}, "")
	if err != nil {
		t.Fatal(err)
	}
	want := `
shown     spread, placement, hold: each figure met its bar
pictures  out/balance.svg out/hold.svg
figures   out/report.json
next      bin/sluice doctor CAPTURE judges your fabric; make lab starts one to try (docs/lab.md)
`
	if got := closing(some, "out"); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := closing(some[1:2], "out"); !strings.Contains(got, "\npictures  none of these\n") {
		t.Error(got)
	}
	for _, s := range scenarios {
		if s.shows == "" || len(s.shows) > 60 {
			t.Errorf("%s shows %q", s.name, s.shows)
		}
	}
}
