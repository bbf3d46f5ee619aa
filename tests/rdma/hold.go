// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"sluice/orchagent-ext/testbed/fabric"
)

const (
	fastRate   = 100     // Mbit/s of ports
	queueBytes = 1000000 // of their queues

	// The adapter of guest A sends at a line rate, as one of hardware does. However fast the guest is,
	// nothing waits at the uplinks then, where a hold would not reach it. The port to guest B
	// overflows by what is outstanding, and has headroom for a hold that comes late on a busy
	// machine: heldPairs × heldAbove octets are in its queue when the last flow is reported, and the
	// rest of smallQueue fills by adapterRate - slowRate in 100 ms.
	adapterRate = 20     // Mbit/s
	slowRate    = 3      // Mbit/s of the port to guest B
	smallQueue  = 300000 // octets
	heldAbove   = 20000  // of a flow in a queue
	heldPairs   = 4
	holdLimit   = 2000                  // ms; a full queue drains in 800
	held        = "-n 64 -t 32 -s 4096" // 32 messages of each are outstanding: 524 kB
)

// queues is the profile of a switch with queues. exception is for one port: its rate in Mbit/s, and
// the octets of its queue.
func queues(mbps int, exception *fabric.Interface, itsMbps, itsOctets int) []string {
	rate, size := fmt.Sprint("SLUICE_QUEUE_RATE=", mbps), fmt.Sprint("SLUICE_QUEUE_BYTES=", queueBytes)
	if exception != nil {
		rate += fmt.Sprintf(",%s=%d", exception.Name, itsMbps)
		size += fmt.Sprintf(",%s=%d", exception.Name, itsOctets)
	}
	return []string{"SLUICE_QUEUES=8", rate, size}
}

// hold overflows the port to guest B, without holds and with them.
func hold(ctx context.Context, l *lab) error {
	l.report.Hold = map[string]*losses{}
	for _, by := range []string{"none", "pfcm"} {
		lost, flows, err := l.overflow(ctx, by == "pfcm")
		if err != nil {
			return fmt.Errorf("%s: %w", by, err)
		}
		l.report.Hold[by] = lost
		if by == "none" {
			l.report.holds("hold, none: packets that the queue dropped", lost.Drops > 0, "> 0", lost.Drops)
			continue
		}
		fmt.Printf("  pfcm: at most %s µs from a mark to the message, %s µs from the message to the hold\n", lost.ReactionMicros, lost.EnforceMicros)
		l.report.holds("hold, pfcm: flows that the leaf held", flows > 0, "> 0", flows)
		l.report.judge("hold, pfcm: packets that the queue dropped", 0, lost.Drops)
		l.report.judge("hold, pfcm: NAKs that the adapter received", 0, lost.NAKs)
		l.report.judge("hold, pfcm: retries of the adapter", 0, lost.Retries)
	}
	return nil
}

// overflow sends more than the port to guest B and its queue take.
func (l *lab) overflow(ctx context.Context, pfcm bool) (lost *losses, flows int, err error) {
	defer func() { err = errors.Join(err, l.stop()) }()
	if err := errors.Join(l.startLeaf(ctx, queues(fastRate, nil, 0, 0)...), l.startSpine(ctx, queues(fastRate, l.SpineB, slowRate, smallQueue)...)); err != nil {
		return nil, 0, err
	}
	if err := l.a.limit(adapterRate); err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, buffer(true, l.A)) }()
	if pfcm {
		var peers []*fabric.Interface
		for _, u := range l.Uplinks {
			peers = append(peers, u.Peer())
		}
		err := errors.Join(
			l.leaf.Watch(ctx, heldAbove, l.Uplinks, nil), l.spine.Watch(ctx, heldAbove, peers, []*fabric.Interface{l.SpineB}),
			l.leaf.Set(ctx, "SLUICE_PFCM", "global", "admin_state", "enabled", "hold_limit_ms", fmt.Sprint(holdLimit)))
		if err == nil {
			err = errors.Join(l.leaf.Ready(ctx), l.spine.Ready(ctx))
		}
		if err != nil {
			return nil, 0, err
		}
	}
	adapter, err := l.a.counters(ctx)
	if err != nil {
		return nil, 0, err
	}
	before, err := l.SpineB.Queue()
	if err != nil {
		return nil, 0, err
	}
	if _, err := l.play(ctx, transfer{name: "hold", program: "ib_write_bw", pairs: heldPairs, args: held}); err != nil {
		return nil, 0, err
	}
	after, err := l.SpineB.Queue()
	if err != nil {
		return nil, 0, err
	}
	if adapter, err = l.a.since(ctx, adapter); err != nil {
		return nil, 0, err
	}
	lost = &losses{Drops: int(after.Dropped - before.Dropped), NAKs: adapter["rcvd_seq_err"], Retries: adapter["completer_retry_err"]}
	if pfcm {
		err = l.until(ctx, func() (bool, error) {
			flows, err = l.leaf.Notified(ctx, "pfcm", "held")
			return flows > 0, err
		})
		var reactionErr, enforceErr error
		lost.ReactionMicros, reactionErr = l.spine.NotifiedText(ctx, "pfcm", "reaction_us_max")
		lost.EnforceMicros, enforceErr = l.leaf.NotifiedText(ctx, "pfcm", "enforce_us_max")
		err = errors.Join(err, reactionErr, enforceErr)
	}
	return lost, flows, err
}
