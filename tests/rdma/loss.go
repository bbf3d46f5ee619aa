// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"sluice/orchagent-ext/testbed/fabric"
)

// lost is the count of dropped packets in the output of "tc -s qdisc".
var lost = regexp.MustCompile(`dropped (\d+)`)

// health loses packets of guest A, and compares how the flow fares with the adapters' counters.
func health(ctx context.Context, l *lab) (err error) {
	defer func() { err = errors.Join(err, l.stop()) }()
	if err := l.startLeaf(ctx); err != nil {
		return err
	}
	if err := l.watched(ctx); err != nil {
		return err
	}
	a, err := l.a.counters(ctx)
	if err != nil {
		return err
	}
	b, err := l.b.counters(ctx)
	if err != nil {
		return err
	}
	if _, err := l.a.Run(ctx, "/sbin/tc qdisc replace dev eth0 root netem loss 1%% limit 10000"); err != nil {
		return err
	}
	capture, err := l.A.Capture()
	if err != nil {
		return err
	}
	pairs, err := l.play(ctx, transfer{name: "loss", program: "ib_write_bw", args: "-n 400 -t 16 -s 4096"})
	frames, stopErr := capture.Stop()
	if err = errors.Join(err, stopErr); err != nil {
		return err
	}
	naks := 0
	for _, p := range roce(frames) {
		if p.nakSequence {
			naks++
		}
	}
	out, err := l.a.Run(ctx, "/sbin/tc -s qdisc show dev eth0; /sbin/tc qdisc del dev eth0 root")
	if err != nil {
		return err
	}
	m := lost.FindStringSubmatch(out)
	if m == nil {
		return fmt.Errorf("tc -s qdisc: %s", out)
	}
	dropped, err := strconv.Atoi(m[1])
	if err != nil {
		return err
	}
	a, err = l.a.since(ctx, a)
	if err != nil {
		return err
	}
	if b, err = l.b.since(ctx, b); err != nil {
		return err
	}
	// TCP's packets may be among those that netem dropped: the adapters agree on theirs.
	passed := b["rcvd_pkts"]
	l.report.holds("loss: packets that were lost", a["sent_pkts"]-passed > 0 && a["sent_pkts"]-passed <= dropped, fmt.Sprintf("1 to %d", dropped), a["sent_pkts"]-passed)
	forth, err := l.flowRow(ctx, fabric.HostA.Addr().String(), fabric.HostB.Addr().String(), pairs[0].b, "seen_packets", passed)
	if err != nil {
		return err
	}
	back, err := l.flowRow(ctx, fabric.HostB.Addr().String(), fabric.HostA.Addr().String(), pairs[0].a, "seen_packets", b["sent_pkts"])
	if err != nil {
		return err
	}
	l.report.judge("loss: packets of the flow, of those that came to the other adapter", passed, forth["seen_packets"])
	l.report.judge("loss: answers, of those that the other adapter sent", b["sent_pkts"], back["seen_packets"])
	l.report.judge("loss: NAKs for a gap, of those that came to the adapter", naks, back["naks_sequence"])
	l.report.judge("loss: PSNs that were missing to the end", 0, forth["psn_lost"])
	return nil
}

// flowRow waits until a counter of a flow's row has a value, as long as rows take, and returns the
// row.
func (l *lab) flowRow(ctx context.Context, src, dst string, destQP uint32, field string, want int) (row map[string]string, err error) {
	err = l.until(ctx, func() (done bool, err error) {
		row, err = l.leaf.Row(ctx, "SLUICE_FLOW", fmt.Sprintf("%s,%s,%06x", src, dst, destQP))
		return row[field] == fmt.Sprint(want), err
	})
	return row, err
}
