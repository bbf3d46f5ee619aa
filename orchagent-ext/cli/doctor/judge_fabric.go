// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"fmt"
	"net"
	"strings"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/wire/roce"
)

// lossShare of the data packets lost or sent again asks for a step: a sender that goes back
// repeats all that it has under way.
const lossShare = 1e-4

// congestion judges the marks and pauses, and names who is behind most of them.
func congestion(c *Congestion) Verdict {
	marked := share(c.CE, c.ECT)
	v := say("congestion", OK, "no marks, CNPs or PFC frames", "")
	v.Numbers = map[string]float64{
		"ce_packets": float64(c.CE), "ect_packets": float64(c.ECT), "ce_share": marked, "cnps": float64(c.CNPs), "pfc_pauses": float64(c.Pauses), "pfc_resumes": float64(c.Resumes),
	}
	v.Who = map[string]string{}
	var found, steps []string
	if c.CE > 0 {
		of, n := most(c.marked, byAddress)
		v.Who["ce"] = of.String()
		found = append(found, fmt.Sprintf("CE on %d packets, %.1f %% of those that can be marked, most of %s: %d", c.CE, 100*marked, of, n))
	}
	if c.CNPs > 0 {
		of, n := most(c.told, byAddress)
		v.Who["cnp"] = of.String()
		found = append(found, fmt.Sprintf("%s, most from %s: %d", kit.Plural(int(c.CNPs), "CNP"), of, n))
	}
	if len(found) > 0 {
		v.Level = Note
		steps = append(steps, "a queue fills: hold or advise the flows in it (docs/notifications.md, docs/advice.md)")
	}
	if marked >= someShare {
		v.Level = Act
	}
	if c.Pauses > 0 {
		of, n := most(c.macs, func(a, b roce.MAC) int { return bytes.Compare(a[:], b[:]) })
		v.Who["pfc"] = net.HardwareAddr(of[:]).String()
		v.Level = Act
		found = append(found, fmt.Sprintf("%s of PFC of priority %s, most from %s: %d", kit.Plural(int(c.Pauses), "pause"), priorities(c.Priorities), v.Who["pfc"], n))
		steps = append(steps, "PFC stops all flows of a priority: hold the one that fills the queue (docs/notifications.md)")
	}
	if c.Packets > 0 && c.ECT == 0 && c.CE == 0 {
		found = append(found, "no packet can be marked: ECN is off at the senders")
		steps = append(steps, "switch ECN on at the adapters: DCQCN needs it (docs/adapters.md)")
		v.Level = max2(v.Level, Note)
	}
	if len(found) > 0 {
		v.Found, v.Do = strings.Join(found, "; "), strings.Join(steps, "; ")
	}
	if len(v.Who) == 0 {
		v.Who = nil
	}
	return v
}

// max2 returns the level that asks for more.
func max2(a, b Level) Level {
	if ranks[b] > ranks[a] {
		return b
	}
	return a
}

// priorities lists the bits of a vector, such as "3, 4".
func priorities(vector uint8) string {
	var all []string
	for i := range 8 {
		if vector>>i&1 != 0 {
			all = append(all, fmt.Sprint(i))
		}
	}
	return strings.Join(all, ", ")
}

// loss judges the losses of connections, as far as the place of the capture sees it.
func loss(t *Traffic) Verdict {
	l := &t.Loss
	bad := l.Lost + l.Resent
	v := say("loss", OK, "no PSN is missing, none was sent again", "")
	v.Numbers = map[string]float64{
		"gaps": float64(l.Gaps), "missing_packets": float64(l.Missing), "lost_packets": float64(l.Lost), "reordered_packets": float64(l.Reordered),
		"resent_packets": float64(l.Resent), "resent_octets": float64(l.Octets), "timeouts": float64(l.Timeouts),
		"naks": float64(l.refused()), "receiver_not_ready": float64(l.NAKs[roce.NAKRNR]), "share": share(bad, uint64(t.Packets)),
	}
	var found []string
	add := func(n uint64, format string) {
		if n > 0 {
			found = append(found, fmt.Sprintf(format, n))
		}
	}
	naks := func() {
		for why := roce.NotNAK + 1; why < roce.NumNAKs; why++ {
			add(l.NAKs[why], "NAKs ("+why.String()+"): %d")
		}
	}
	if t.Sampled() {
		naks()
		v.Level, v.Found = Unknown, "samples: PSNs are not judged"
		if len(found) > 0 {
			v.Level, v.Found = Note, v.Found+"; "+strings.Join(found, "; ")
		}
		v.Do = "capture a port whole for losses"
		return v
	}
	if l.Missing > 4*uint64(t.Packets) {
		rate := (l.Missing + uint64(t.Packets)) / uint64(t.Packets)
		v.Level, v.Found = Unknown, fmt.Sprintf("%d PSNs are missing between %d packets: this looks sampled, about one of %d", l.Missing, t.Packets, rate)
		v.Do = fmt.Sprintf("name the rate: --sampled %d", rate)
		return v
	}
	add(l.Lost, "PSNs that never came: %d")
	add(l.Reordered, "overtaken: %d")
	add(l.Resent, "packets sent again: %d")
	add(l.Timeouts, "time-outs of senders: %d")
	naks()
	if len(found) == 0 {
		return v
	}
	v.Found = strings.Join(found, "; ")
	if bad > 0 {
		of, n := most(l.worst, byAddress)
		v.Who = map[string]string{"loss": of.String()}
		v.Found += fmt.Sprintf("; most of %s: %d", of, n)
	}
	v.Level = Note
	sure := t.Dropped == 0
	switch {
	case !sure && bad > 0:
		v.Do = "the capture dropped packets itself: the gaps may be its own"
	case v.Numbers["share"] >= lossShare || l.Timeouts > 0 || l.refused() > 0:
		v.Level, v.Do = Act, "look for drops at the ports of this path (sluice observe --health, show sluice counters): PFC or ECN of its queue, its buffer, a link with errors; no choice of paths mends a loss"
	case l.NAKs[roce.NAKRNR] > 0:
		v.Do = "the application posts too few receive requests: no matter of the network"
	case l.Reordered > 0:
		v.Do = "packets overtook each other: look for spraying or flowlets on the path"
	}
	return v
}
