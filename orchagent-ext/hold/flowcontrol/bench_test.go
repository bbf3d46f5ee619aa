// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"testing"

	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// benched returns a flow control whose switch and network remember nothing.
func benched(b *testing.B, c *Config) *fake {
	f := newRandom(b, c)
	f.silence()
	b.ReportAllocs()
	return f
}

// BenchmarkEvent: a flow passes its mark and drains; a PFCM and a cancel are sent.
func BenchmarkEvent(b *testing.B) {
	f := benched(b, config())
	high := arrived(sai.FlowEvent{Queue: queue, InPort: up, Flow: 1, Mark: sai.MarkHigh, Octets: 150_000, Length: sai.FlowHead, Head: head(sender, sink, 5)})
	low := *high
	low.Octets, low.Mark = 0, sai.MarkLow
	for b.Loop() {
		f.now += ms
		f.core.event(f.now, high)
		f.core.event(f.now, &low)
	}
}

// BenchmarkMessage: a PFCM is received and holds a flow, and its cancel releases it.
func BenchmarkMessage(b *testing.B) {
	f := benched(b, config())
	all := messagesOf(b, f)
	for b.Loop() {
		f.now += ms
		all[1].At, all[3].At = f.now, f.now
		f.core.receiveMessage(f.now, &all[1])
		f.core.receiveMessage(f.now, &all[3])
	}
}

// BenchmarkRefresh: 256 flows that fill queues have their requests refreshed, and 256 holds end.
func BenchmarkRefresh(b *testing.B) {
	f := benched(b, config())
	for i := range uint64(256) {
		f.event(i+1, up, uint32(i), 150_000, sai.MarkHigh)
	}
	for b.Loop() {
		for i := range uint16(256) {
			f.receive(down1, pause(i+1, 10_000))
		}
		f.now += 20 * ms
		f.core.step(f.now)
	}
}

// BenchmarkAdvice: 16 flows are measured and their senders advised.
func BenchmarkAdvice(b *testing.B) {
	f := benched(b, advising())
	for i := range uint32(16) {
		f.core.learn(f.now, Learned{Pair: pairOf(sender, sink, i+1), SrcQP: 0x42})
		f.fills(uint64(i+1), sender, sink, i+1, 150_000, sai.MarkHigh)
	}
	for b.Loop() {
		f.now += 10 * ms
		f.core.step(f.now)
	}
}

// BenchmarkSender: a flow is held at its sender by CNPs, and packets of it come.
func BenchmarkSender(b *testing.B) {
	f := benched(b, slowing())
	l := flowOf(sender, sink)
	f.sees(l)
	m := pause(streamOf(5), 40_000)
	for b.Loop() {
		f.now += ms
		f.receive(down1, m)
		f.core.learn(f.now, l)
		f.core.step(f.now)
	}
	f.receive(down1, notify.PFCM{StreamID: streamOf(5), QueueID: 3, Action: notify.Cancel})
}
