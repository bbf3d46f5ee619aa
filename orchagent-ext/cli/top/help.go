// SPDX-License-Identifier: Apache-2.0

package top

import "strings"

// Footer is the last line of a frame on a terminal.
func Footer(by Order, paused bool) string {
	text := "q quit  ? help  s sort: " + string(by) + "  p pause  j k scroll  / search"
	if paused {
		text = strings.Replace(text, "p pause", "p go on", 1) + "  PAUSED"
	}
	return text
}

// help is the text of the key h.
const help = `sluice top: what a running Sluice does, out of STATE_DB and COUNTERS_DB

 s           sort flows by bit/s, packets/s, octets, queue pair, or port
 j k         scroll flows, as arrows do; space, b: by pages; g: to the first
 /           show flows with a text in addresses, ports, queue pair
 p q ?       pause, and go on; quit; this page

BIT/S       of whole frames at ports; of packets that the entry counts at flows,
            or, without one, that the CPU's samples tell of
CE RESENT   of flows that IPFIX samples: share of marks; bit/s sent again
SHARE       ports: of what all ports of role fabric send; flows: of what all
            flows here send
BY-HASH     what SHARE would be of flows whose labels are chosen, if none were
QUEUE       octets in a port's fullest queue now, and which queue it is
QUEUE-MAX   the most that SONiC's telemetry saw in its last interval; neither:
            the switch does not tell
path share  1.00: all fabric ports send the same; their number: one sends all
labels/s    packets that got a label, and that kept one of their own
dropped/s   on the way to the CPU: the receive ring was full, malformed, not
            RoCEv2; new flows: their queue was full, no room on the switch
-           not known: no two readings yet, or the counter was reset

Any key goes back.`

// FleetFooter is the last line of a frame of several switches.
func FleetFooter(paused bool) string {
	if paused {
		return "q quit  ? help  p go on  j k scroll  PAUSED"
	}
	return "q quit  ? help  p pause  j k scroll"
}

// fleetHelp is the text of the key h for several switches.
const fleetHelp = `sluice top --target: several switches, a line each, the worst first

 j k         scroll, as arrows do; space, b: by pages; g: to the first
 p q ?       pause, and go on; quit; this page

STATE       no answer and not running come first, then stale, then others
MAX÷MEAN    of what the ports of role fabric send; 1.00: all send the same
DROP/S      packets that egress queues dropped
HELD        flows that are held
QUEUE       octets in the fullest queue now, or the most of the last interval;
            its port and number
BIT/S       of all ports together, whole frames
FLOWS       that sluiced tracks
-           not known: no two readings yet, or the counter was reset

Any key goes back.`

// FleetHelp is the page about keys and columns of several switches.
func FleetHelp(l Layout) string {
	return l.text(strings.Split(fleetHelp, "\n"), nil)
}

// Help is the page about keys and columns.
func Help(l Layout) string {
	return l.text(strings.Split(help, "\n"), nil)
}
