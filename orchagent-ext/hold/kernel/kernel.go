// SPDX-License-Identifier: Apache-2.0

package kernel

import "time"

// Kernel has the parts that all machines use.
type Kernel struct {
	Clock    func() int64 // ns of CLOCK_MONOTONIC, as all times of flow control
	Counters Counters
	Ports    *Ports // of the configuration in force; not nil
	Out      Outbox

	refusal   error // why the switch refused the last hold; nil: it did not
	refusedAt int64
}

// New returns a kernel without ports. Its messages go out by out.
func New(out Sender, clock func() int64) *Kernel {
	k := &Kernel{Clock: clock, Ports: NewPorts(nil)}
	k.Out = Outbox{Sender: out, counters: &k.Counters, packet: make([]byte, 0, maxMessage)}
	return k
}

// refusalTime is how long [Kernel.Refusal] names a hold that the switch refused, unless another one
// succeeds before.
const refusalTime = time.Minute

// HoldResult takes the answer of the switch to a hold, and counts an error.
func (k *Kernel) HoldResult(now int64, err error) {
	if err != nil {
		k.Counters.HoldFailed++
	}
	k.refusal, k.refusedAt = err, now
}

// Refusal returns why the switch refused the last hold; nil after one that succeeded, and after a
// minute.
func (k *Kernel) Refusal(now int64) error {
	if now-k.refusedAt >= int64(refusalTime) {
		return nil
	}
	return k.refusal
}

// Elapsed returns the ns between two times; 0 where the second is before the first, as those of two
// clocks may be.
func Elapsed(from, to int64) uint64 { return uint64(max(to-from, 0)) }

// CountOnce counts an event of a flow that has once as its mark.
func CountOnce(once *bool, counter *uint64) {
	if !*once {
		*once = true
		*counter++
	}
}
