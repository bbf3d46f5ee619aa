// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
)

// settling is for rows that sluiced writes each second.
const settling = time.Minute

// A scenario is checks that share a configuration.
type scenario struct {
	name  string
	about string // for who watches
	run   func(context.Context, *lab) error
}

// scenarios are all, in the order in which they run.
var scenarios = []scenario{
	{"labels", "every kind of transfer; labels, ICRCs and source queue pairs", labels},
	{"spread", "32 queue pairs on 4 uplinks: by hash, by labels, placed, redirected", spreads},
	{"health", "1 % of a flow's packets are lost", health},
	{"hold", "a port that overflows, without holds and with PFCM", hold},
	{"advice", "Rate Advice to connections set up by TCP and by RDMA-CM", advises},
}

// transfers of the scenario labels. A message of 4096 octets has 4 packets. Less than 100 are
// outstanding (-t): answers teach a source queue pair, and those to one burst of requests count as one.
var transfers = []transfer{
	{name: "RC write", program: "ib_write_bw", args: "-n 100 -t 16 -s 4096"},
	{name: "RC send", program: "ib_send_bw", args: "-n 100 -t 16 -s 4096"},
	{name: "RC read", program: "ib_read_bw", args: "-n 100 -t 8 -s 4096"},
	{name: "RC atomic", program: "ib_atomic_bw", args: "-n 100 -t 8"},
	{name: "UD send", program: "ib_send_bw", args: "-c UD -n 100 -s 1024"},
	{name: "UC write", program: "ib_write_bw", args: "-c UC -n 100 -s 4096", silent: true},
	{name: "UC send", program: "ib_send_bw", args: "-c UC -n 100 -s 4096", silent: true},
	{name: "rping", program: "rping", args: "-C 20", cm: true},
	{name: "RC write, IPv4", program: "ib_write_bw", args: "-n 100 -t 16 -s 4096", four: true},
	{name: "RC write by RDMA-CM, IPv4", program: "ib_write_bw", args: "-n 100 -t 16 -s 4096", cm: true, four: true},
	{name: "RC write, 16 queue pairs", program: "ib_write_bw", pairs: 16, args: "-n 40 -t 8 -s 4096"},
}

// labels runs every kind of transfer through a leaf that labels, and sees all packets.
func labels(ctx context.Context, l *lab) (err error) {
	defer func() { err = errors.Join(err, l.stop()) }()
	if err := l.startLeaf(ctx); err != nil {
		return err
	}
	if err := l.watched(ctx); err != nil {
		return err
	}
	for _, t := range transfers {
		if err := l.labelled(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return nil
}

// labelled judges one transfer: packets that left the adapter, labels that the switch wrote, and
// the packets that arrived at the other end.
func (l *lab) labelled(ctx context.Context, t transfer) error {
	adapter, err := l.a.counters(ctx)
	if err != nil {
		return err
	}
	wrote, err := l.labelsWritten(ctx)
	if err != nil {
		return err
	}
	capture, err := l.B.Capture()
	if err != nil {
		return err
	}
	pairs, err := l.play(ctx, t)
	var after map[string]int
	if err == nil {
		after, err = l.a.counters(ctx)
	}
	sent := after["sent_pkts"] - adapter["sent_pkts"]
	if err == nil { // packets that the adapter sent twice may be on its way after the transfer has ended
		err = l.until(ctx, func() (bool, error) { return capture.Len() >= sent && len(roce(capture.Frames())) >= sent, nil })
	}
	frames, stopErr := capture.Stop()
	if err = errors.Join(err, stopErr); err != nil {
		return err
	}
	packets := roce(frames)
	l.report.judge(t.name+": packets that arrive, of those that the adapter sent", sent, len(packets))
	right, wrongCRC := 0, 0
	for _, p := range packets {
		if p.label == literalLabel(p.srcQP, p.destQP, p.src, p.dst) {
			right++
		}
		if !p.icrc {
			wrongCRC++
		}
	}
	l.report.judge(t.name+": packets with a wrong ICRC", 0, wrongCRC)
	want := sent
	if t.four {
		want = 0
	}
	written, err := l.awaitLabels(ctx, wrote+want)
	if err != nil {
		return err
	}
	l.report.judge(t.name+": labels that the switch wrote", want, written-wrote)
	if !t.four {
		l.report.judge(t.name+": packets whose label is the draft's", sent, right)
	}
	return l.sources(ctx, t, pairs)
}

// sources judges the source queue pairs of the rows of a transfer's flows.
func (l *lab) sources(ctx context.Context, t transfer, pairs []queuePair) error {
	if len(pairs) == 0 {
		return nil
	}
	src, dst := fabric.HostA.Addr(), fabric.HostB.Addr()
	if t.four {
		src, dst = fabric.HostA4.Addr(), fabric.HostB4.Addr()
	}
	// All rows are awaited together: while one is awaited alone, those of flows that have ended go.
	right := map[queuePair]bool{}
	err := l.until(ctx, func() (bool, error) {
		for _, q := range pairs {
			want := fmt.Sprint(q.a)
			if t.silent {
				want = "" // absent in packets
			}
			row, err := l.leaf.Row(ctx, "SLUICE_FLOW", fmt.Sprintf("%s,%s,%06x", src, dst, q.b))
			if err != nil {
				return false, err
			}
			if row != nil && row["src_qp"] == want {
				right[q] = true
			}
		}
		return len(right) == len(pairs), nil
	})
	if err != nil {
		return err
	}
	l.report.judge(t.name+": source queue pairs that are right", len(pairs), len(right))
	return nil
}

// labelsWritten is the counter of the leaf.
func (l *lab) labelsWritten(ctx context.Context) (int, error) {
	all, err := l.leaf.Counters.Read(ctx, "SLUICE_STATS")
	if err != nil {
		return 0, err
	}
	for _, r := range all {
		if text := r.Fields["label_written"]; text != "" {
			return strconv.Atoi(text)
		}
	}
	return 0, nil
}

// awaitLabels waits until the counter has a value, and returns the one that it has in the end.
func (l *lab) awaitLabels(ctx context.Context, want int) (n int, err error) {
	err = l.until(ctx, func() (bool, error) {
		n, err = l.labelsWritten(ctx)
		return n >= want, err
	})
	return n, err
}

// until waits until something is so, for as long as sluiced takes to read the switch and to write
// rows a few times. A value that is missing in the end is left to the checks.
func (l *lab) until(ctx context.Context, is func() (bool, error)) error {
	for deadline := time.Now().Add(settling); ; time.Sleep(poll) {
		if done, err := is(); done || err != nil || time.Now().After(deadline) {
			return errors.Join(err, ctx.Err())
		}
	}
}
