// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"testing"

	"sluice/orchagent-ext/testbed/fabric"
	"sluice/yang/rows"
)

// TestPortGoesWhileItsFlowsAreHeld: what waits for a port that goes is lost and counted,
// its holds end, and flows by other ports are held on.
func TestPortGoesWhileItsFlowsAreHeld(t *testing.T) {
	t.Parallel()
	l := holding(t, []string{"hold_limit_ms", "0"})
	release := l.hold(l.Uplinks[0])
	defer release()
	l.awaitNotified("pfcm", "held", 1)
	c, err := l.B.Capture()
	if err != nil {
		t.Fatal(err)
	}
	s, n := l.sender(l.A), 0
	l.until("packets wait", func() bool {
		l.put(s, l.frame(packet{qp: 0x77, psn: uint32(n), label: heldLabel}))
		n++
		return l.waiting() > 0
	})
	length := len(l.frame(packet{qp: 0x77, label: heldLabel}))
	l.until("each packet waits or has arrived", func() bool { return l.waiting()/length+c.Len() == n })
	l.in("ip", "link", "del", l.Uplinks[0].Name)
	release()
	defer func() {
		if t.Failed() {
			t.Logf("%d sent, %d arrived; %s", n, c.Len(), l.notifiedAll("pfcm"))
		}
	}()
	l.until("what waited is counted", func() bool { return int(l.notified("pfcm", "hold_queue_lost"))+c.Len() >= n })
	l.quiet()
	counted := map[string]uint64{"hold_queue_lost": 0, "received": 0}
	for name := range counted {
		counted[name] = l.notified("pfcm", name)
	}
	l.remove("SLUICE_PORT", l.Uplinks[0].Name)
	l.remove("PORT", l.Uplinks[0].Name)
	l.until("the port is gone", func() bool {
		row, err := l.countersDB.Get(t.Context(), rows.Row{Table: "SLUICE_PORT_STATS", Key: l.Uplinks[0].Name})
		return err == nil && len(row) == 0
	})
	l.Uplinks = l.Uplinks[1:]
	l.onePath()
	l.until("counters go on without the port", func() bool {
		for name, n := range counted {
			if l.notifiedText("pfcm", name) == "" || l.notified("pfcm", name) < n {
				return false
			}
		}
		return true
	})
	release = l.hold(l.Uplinks[0])
	defer release()
	before, sent, refused := c.Len(), 0, l.refused(l.Uplinks[0])
	l.until("packets wait for the other port", func() bool {
		l.put(s, l.frame(packet{qp: 0x77, psn: uint32(sent), label: heldLabel}))
		sent++
		return l.waiting() > 0
	})
	release()
	defer func() {
		if t.Failed() {
			t.Logf("%d sent, %d arrived; %s\n%s", sent, c.Len()-before, l.notifiedAll("pfcm"), l.in("ip", "-s", "link"))
		}
	}()
	l.until(fmt.Sprintf("%d arrive", sent), func() bool { return c.Len()-before+l.refused(l.Uplinks[0])-refused >= sent })
	if _, err := c.Stop(); err != nil {
		t.Fatal(err)
	}
}

// refused are the packets that the machine had no room for where the link's other end
// receives: its backlog is one for all namespaces.
func (l *leaf) refused(i *fabric.Interface) int {
	l.t.Helper()
	c, err := i.Counters()
	if err != nil {
		l.t.Fatal(err)
	}
	return int(c.TxDropped)
}
