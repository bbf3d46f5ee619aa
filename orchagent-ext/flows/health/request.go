// SPDX-License-Identifier: Apache-2.0

package health

import (
	"iter"
	"math/bits"

	"sluice/orchagent-ext/flows/flow"
	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/wire/roce"
)

// operationMask takes the service off an opcode: the operations of UC and XRC are RC's.
const operationMask = 0x1f

// mtus are the path MTUs of InfiniBand, in octets.
var mtus = [...]uint32{4096, 2048, 1024, 512, 256}

// request judges a request of a connection; last is when the packet before it came.
func (d *Direction) request(p *roce.Packet, now, last int64, c *Config) (e Event, missing uint32) {
	psn, octets := p.PSN(), uint32(max(0, p.PayloadLen()))
	op := p.Opcode() & operationMask
	span := uint32(1) // of PSNs
	d.settleRead(psn)
	reth, announced := p.RETH()
	isRead := announced && op == roce.RCReadRequest
	if mtu := d.pathMTU(); isRead && mtu != 0 {
		r := readRequest{psn: psn, length: reth.Length}
		span = (r.end(mtu) - psn) & psnMask
	}
	e, missing = d.requests.see(psn, span, now, c.Patience)
	d.judge(psn, e, missing, octets, now)
	if e.Retransmitted() && !c.Untimed && now != flow.NoTime && last != flow.NoTime && d.Peer() != nil && d.rest.wentBack(now-last, c.Patience) {
		d.Timeouts++
	}
	if e == Restart {
		d.forget()
	}
	if isRead && e != Duplicate {
		r := readRequest{psn, reth.Length, true}
		if d.rest.reads[d.readAt] = r; span == 1 && d.pathMTU() == 0 {
			d.rest.read, d.reading = r, true
		}
		d.readAt = (d.readAt + 1) % maxReads
	}
	if e == Duplicate || e == Recovered {
		d.unwait(psn)
	} else if p.AckReq() || isRead || op == roce.RCCompareSwap || op == roce.RCFetchAdd {
		// it waits for its acknowledgement
		d.pending[d.pendingAt], d.sent[d.pendingAt] = psn, now
		d.waiting |= 1 << d.pendingAt
		d.pendingAt = (d.pendingAt + 1) % maxPending
	}
	length := reth.Length
	if !announced { // or the capture cut it
		length = octets
	}
	if e != Duplicate && (announced || op != roce.RCWriteFirst) {
		d.size(p, op, psn, octets, length)
	}
	return e, missing
}

// forget drops the state of the connection before.
func (d *Direction) forget() {
	d.waiting, d.reading = 0, false
	d.message, d.orphan = message{}, message{}
	d.rest.reads = [maxReads]readRequest{}
}

// pathMTU returns the connection's path MTU in octets; 0 while it is unknown.
func (d *Direction) pathMTU() uint32 {
	if d.mtu == 0 {
		if peer := d.Peer(); peer != nil {
			return peer.mtu
		}
	}
	return d.mtu
}

// settleRead computes where the responses of the read request before end, if that
// is still open: by the path MTU that is known now, or by the one path MTU that
// fits the PSN of the next request.
func (d *Direction) settleRead(psn uint32) {
	if !d.reading {
		return
	}
	r := d.rest.read
	if d.requests.next != (r.psn+1)&psnMask {
		d.reading = false
		return
	}
	if mtu := d.pathMTU(); mtu != 0 {
		d.requests.next = r.end(mtu)
		d.reading = false
		return
	}
	for _, mtu := range mtus { // the last one up to it
		if end := r.end(mtu); ahead(psn, end) >= 0 {
			d.requests.next = end
			d.reading = false
		}
	}
}

// unwait forgets the requests from a PSN on: an acknowledgement is ambiguous
// among several sendings of one request (Karn's algorithm).
func (d *Direction) unwait(psn uint32) {
	for i := range d.waits() {
		if ahead(d.pending[i], psn) >= 0 {
			d.waiting &^= 1 << i
		}
	}
}

// forgetUntil forgets the requests that were sent until then.
func (d *Direction) forgetUntil(time int64) {
	for i := range d.waits() {
		if d.sent[i] <= time {
			d.waiting &^= 1 << i
		}
	}
}

// acknowledged takes the acknowledgement of a PSN and of all before it; untimed: without its time.
func (d *Direction) acknowledged(psn uint32, now int64, untimed bool) {
	for i := range d.waits() {
		behind := ahead(psn, d.pending[i])
		if behind == 0 && now >= d.sent[i] && d.sent[i] != flow.NoTime && !untimed {
			if d.RTT == nil {
				d.RTT = newHistogram(uint64(now - d.sent[i]))
			}
			d.RTT.Add(uint64(now - d.sent[i]))
		}
		if behind >= 0 {
			d.waiting &^= 1 << i
		}
	}
}

// waits iterates over the requests that wait for an acknowledgement: their places in the
// ring.
func (d *Direction) waits() iter.Seq[int] {
	return func(yield func(int) bool) {
		for left := d.waiting; left != 0; left &= left - 1 {
			if !yield(bits.TrailingZeros16(left)) {
				return
			}
		}
	}
}

// size takes the size of messages from their packets, each PSN once.
func (d *Direction) size(p *roce.Packet, op roce.Opcode, psn, octets, announced uint32) {
	switch op {
	case roce.RCSendFirst:
		d.mtu, d.sending = max(d.mtu, octets), true
		if o := d.orphan; o.valid && ahead(o.psn, psn) > 0 {
			d.sized(uint64(ahead(o.psn, psn))*uint64(octets) + uint64(o.octets))
			d.orphan.valid = false
			return
		}
		d.message = message{psn, octets, true}
	case roce.RCWriteFirst:
		d.mtu, d.sending = max(d.mtu, octets), true
		d.sized(uint64(announced))
	case roce.RCSendMiddle, roce.RCWriteMiddle:
		d.mtu, d.sending = max(d.mtu, octets), true
	case roce.RCSendLast, roce.RCSendLastImm, roce.RCSendLastInv:
		d.sending = false
		if m := d.message; m.valid && ahead(psn, m.psn) > 0 {
			d.sized(uint64(ahead(psn, m.psn))*uint64(m.octets) + uint64(octets))
			d.message.valid = false
			return
		}
		d.orphan = message{psn, octets, true}
	case roce.RCWriteLast, roce.RCWriteLastImm:
		d.sending = false
	case roce.RCSendOnly, roce.RCSendOnlyImm, roce.RCSendOnlyInv:
		d.sending = false
		d.sized(uint64(octets))
	case roce.RCWriteOnly, roce.RCWriteOnlyImm, roce.RCReadRequest:
		d.sending = false
		d.sized(uint64(announced))
	}
}

// newHistogram returns an empty histogram. v is a value to come: memory that is
// new is written to before it is read, which costs one page fault instead of two.
func newHistogram(v uint64) *histogram.Coarse { return &histogram.Coarse{Min: v} }

// sized counts a message of so many octets in the histogram of sizes.
func (d *Direction) sized(octets uint64) {
	if d.Sizes == nil {
		if d.Sizes = d.sizes; d.Sizes == nil {
			d.Sizes = newHistogram(octets)
		}
	}
	d.Sizes.Add(octets)
}
