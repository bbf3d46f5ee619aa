// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"testing"
	"time"

	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
	"sluice/yang/model"
)

// The load that the defaults are for: each of so many neighbors asks for as many holds as the
// software switch has, and the queues stay full.
const (
	promisedHolds     = 256
	promisedNeighbors = 4
)

// defaults are the rows of the model that nothing is written in.
func defaults() (m model.SonicSluice_SonicSluice_SLUICE_PFCM_Global, t model.SonicSluice_SonicSluice_SLUICE_THRESHOLD_SLUICE_THRESHOLD_LIST) {
	m.PopulateDefaults()
	t.PopulateDefaults()
	return m, t
}

func perTenth(rate uint32) Rate { return Rate{PerSecond: rate, Burst: rate / 10} }

// A switch whose flows all fill their queue for a second asks for every hold, and refreshes it in
// time, with the default rates.
func TestDefaultSendRateRefreshesEveryHold(t *testing.T) {
	m, threshold := defaults()
	c := config()
	c.Send, c.HoldLimit = perTenth(*m.TxRate), 0
	q := c.Queues[queue]
	q.Threshold.Duration = time.Duration(*threshold.DurationUs) * time.Microsecond
	c.Queues[queue] = q
	f := newFake(t, c)
	start := f.now
	for i := range uint64(promisedHolds) {
		f.event(i+1, up, uint32(i+1), 150_000, sai.MarkHigh)
	}
	f.until(start + int64(time.Second) - 1)
	refreshes := int(2 * time.Second / q.Threshold.Duration)
	if got := len(f.sent); got != promisedHolds*refreshes || f.core.kernel.Counters.TxPoliced != 0 {
		t.Errorf("%d messages sent, %d policed, want %d and 0", got, f.core.kernel.Counters.TxPoliced, promisedHolds*refreshes)
	}
}

// The switch upstream of such neighbors takes all that they send: their refreshes, which come
// together, and the end of all holds between them.
func TestDefaultReceiveRatesTakeWhatNeighborsSend(t *testing.T) {
	m, threshold := defaults()
	c := config()
	c.Receive, c.ReceiveBySource, c.HoldLimit = Rate{PerSecond: *m.RxRate, Burst: *m.RxBurst}, perTenth(*m.RxRatePerSource), 0
	f := newFake(t, c)
	messages := uint64(0)
	for range 2 * time.Second / (time.Duration(*threshold.DurationUs) * time.Microsecond) {
		for _, port := range [promisedNeighbors]sai.ObjectID{up, other, host, down1} {
			for i := range uint16(promisedHolds) {
				f.receive(port, pause(i+1, *threshold.DurationUs))
				messages++
			}
		}
		f.until(f.now + int64(*threshold.DurationUs)*int64(time.Microsecond)/2)
	}
	for _, port := range [promisedNeighbors]sai.ObjectID{up, other, host, down1} {
		for i := range uint16(promisedHolds) {
			f.receive(port, notify.PFCM{StreamID: i + 1, QueueID: 3, Action: notify.Cancel})
			messages++
		}
	}
	if got := f.core.kernel.Counters; got.Policed != 0 || got.Held+got.Refreshed+got.Obeyed != messages {
		t.Errorf("%d of %d messages taken, %d policed", got.Held+got.Refreshed+got.Obeyed, messages, got.Policed)
	}
}
