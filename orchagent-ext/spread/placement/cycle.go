// SPDX-License-Identifier: Apache-2.0

package placement

// A cycle is the time of a flow that sends in bursts, from the begin of one to the begin of
// another, a window later or more. Its rate is that of whole cycles: in a window that is shorter
// than its period it sends nothing, or all.
type cycle struct {
	at     int64  // when this one began
	octets uint64 // the counter then
	pause  int64  // before it, in ns
	begun  bool   // at and octets hold
	length int64  // of the last one, or 0
	ended  int    // cycles in the mean that is the flow's rate
}

const (
	// mostCycle is the longest known period of a flow, in ns.
	mostCycle = int64(10e9)
	// leastPart is the least weight of a cycle in the average of a flow's rate. Bursts differ by
	// chance, so that all cycles count alike until there are 1 ÷ leastPart of them.
	leastPart = 0.2
	// likePause is the largest quotient of two pauses between bursts of one kind.
	likePause = 2
)

// burst ends a cycle of a flow that paused until now, when its counter was at octets, and reports
// whether it changed the rate. A pause that is much shorter than the one before the cycle is
// within a burst: the flow's packets are far apart, or the machine was busy. After one that is
// much longer the cycle is another one.
func (m *meter) burst(octets uint64, now, pause int64, cfg *Config) (changed bool) {
	c := &m.cycle
	length := now - c.at
	switch {
	case c.begun && length <= mostCycle && pause < c.pause/likePause:
		return false
	case c.begun && pause > c.pause*likePause:
		c.length = 0
	case c.begun && length < cfg.WindowNS:
		return false // of several bursts
	case c.begun && length <= mostCycle:
		if c.length == 0 { // windows had parts of it: this is the first rate
			m.measured, c.ended = false, 0
		}
		m.from, m.begun = c.octets, c.at
		c.length, c.ended = length, c.ended+1
		changed = m.measureUntil(octets, now, cfg)
	default:
		c.length = 0
	}
	c.at, c.octets, c.pause, c.begun = now, octets, pause, true
	return changed
}

// inCycle reports whether the rate is known only when the next burst begins: while that is to be
// expected.
func (m *meter) inCycle(now int64) bool {
	c := &m.cycle
	if c.length == 0 || now-c.at > 2*c.length {
		c.length = 0
		return false
	}
	return true
}
