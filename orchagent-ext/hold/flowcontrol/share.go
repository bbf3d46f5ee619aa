// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import "time"

const (
	cpuShare = 30                          // percent of a CPU that the thread may use
	cpuBurst = int64(3 * time.Millisecond) // CPU time that it may use at once, after silence
	cpuRest  = int64(time.Millisecond)     // it rests for so long at least: to wake up costs, too
)

// share keeps a thread that goes before all others below [cpuShare]: a flood of messages would
// leave the rest of a machine with one CPU nothing. It is a token bucket of CPU time.
type share struct {
	at, cpu int64 // of the last call
	left    int64 // ns of CPU time that may be used
}

// rest returns for how many ns the thread rests now; 0: it goes on. now is a monotonic time, and
// cpu the CPU time that the thread has used, both in ns.
func (s *share) rest(now, cpu int64) int64 {
	s.left = min(s.left+(now-s.at)*cpuShare/100, cpuBurst) - (cpu - s.cpu)
	s.at, s.cpu = now, cpu
	if s.left > 0 {
		return 0
	}
	return max(-s.left*100/cpuShare, cpuRest)
}
