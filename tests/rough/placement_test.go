// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/tests/fabrictest"
)

// A path without a delay is a veth, which counts the frames of its traffic without their Ethernet
// header; one with a delay is a TAP, which counts it: as much traffic is as many octets on both.
func TestPathsOfBothDevicesCountAlike(t *testing.T) {
	f := fabrictest.New(t)
	net, err := f.LeafSpineOf(0, slowPath)
	if err != nil {
		t.Fatal(err)
	}
	const frames = 400 // a TAP has room for 500
	n := &leafSpine{LeafSpine: net, fabric: f}
	before, err := n.carried()
	if err != nil {
		t.Fatal(err)
	}
	for _, u := range n.Uplinks {
		sender, err := u.Sender()
		if err != nil {
			t.Fatal(err)
		}
		one := newFlow(u.MAC, u.Peer().MAC, fabric.HostA.Addr(), fabric.HostB.Addr(), 1, sourcePort, flowPayload)
		for range frames {
			if err := sender.Send(one.frame); err != nil {
				t.Fatal(err)
			}
		}
		if err := sender.Close(); err != nil {
			t.Fatal(err)
		}
	}
	const sent = frames * frameLength
	// A path with a delay takes frames out of its TAP as it has time to.
	after := before
	arrived := func() bool {
		for i := range after {
			if after[i]-before[i] < sent {
				return false
			}
		}
		return true
	}
	for deadline := time.Now().Add(time.Minute); !arrived() && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if after, err = n.carried(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range after {
		// The kernel's own packets, of neighbor discovery, may come between.
		if got := after[i] - before[i]; got < sent || got > sent*102/100 {
			t.Errorf("path %d: %d octets, %d were sent", i, got, sent)
		}
	}
}
