// SPDX-License-Identifier: Apache-2.0

package rtt

// Window is the time for which a sample counts, in ns, and up to half of it longer: that of BBR
// (draft-ietf-ccwg-bbr, MinRTTFilterLen).
const Window = int64(10e9)

// A minimum is the second least sample of a window, or the only one.
type minimum struct {
	// ns: the two least ones of this half of the window, and of the one before; 0: none
	low   [2][2]int64
	begun int64 // of this half, ns
	last  int64 // the value as of the last sample
}

// add takes a sample in ns, which is not 0.
func (m *minimum) add(sample, now int64) {
	switch passed := now - m.begun; {
	case passed < 0 || passed >= Window: // the clock stepped, or samples paused for long
		m.low, m.begun = [2][2]int64{}, now
	case passed >= Window/2:
		m.low, m.begun = [2][2]int64{1: m.low[0]}, now
	}
	if l := &m.low[0]; l[0] == 0 || sample < l[0] {
		l[0], l[1] = sample, l[0]
	} else if l[1] == 0 || sample < l[1] {
		l[1] = sample
	}
	m.last = m.second()
}

// second is the second least sample, or the only one.
func (m *minimum) second() int64 {
	least, second := int64(0), int64(0)
	for _, half := range m.low {
		for _, v := range half {
			switch {
			case v == 0:
			case least == 0 || v < least:
				least, second = v, least
			case second == 0 || v < second:
				second = v
			}
		}
	}
	if second == 0 {
		return least
	}
	return second
}
