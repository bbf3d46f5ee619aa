// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"fmt"
	"net"
	"time"
)

// Limits of a burst: the kernel takes 64 segments, and 65,507 octets over IPv4.
const (
	burstMessages = 32
	burstOctets   = 1 << 15
)

// burst is datagrams that go to the kernel in one call, which is most of what a short message costs. All but
// the last are of one length, and that is no longer.
type burst struct {
	octets  []byte // of all messages
	size    int    // octets of each but the last
	n       int    // messages
	last    int    // octets of the last one
	records int
	off     bool // the kernel, or the device, takes one message a call
	control control
}

// takes reports whether a message of so many octets can follow.
func (b *burst) takes(octets int) bool {
	return b.n == 0 || !b.off && b.last == b.size && octets <= b.size && b.n < burstMessages && len(b.octets)+octets <= burstOctets
}

// add appends a message with its records.
func (b *burst) add(message []byte, records int) {
	if b.n == 0 {
		b.size = len(message)
	}
	b.octets = append(b.octets, message...)
	b.last = len(message)
	b.n++
	b.records += records
}

// message returns message i.
func (b *burst) message(i int) []byte { return b.octets[i*b.size : min((i+1)*b.size, len(b.octets))] }

// clear empties the burst.
func (b *burst) clear() { b.octets, b.n, b.records = b.octets[:0], 0, 0 }

// output writes messages to a collector.
type output struct {
	conn    net.Conn
	refused func() // is called where an ICMP port unreachable came; nil: the transport is not UDP
	burst   burst
}

// write writes a message. An error by ICMP port unreachable is about a message before, and means that this one
// was left out: it is written again.
func (o *output) write(message []byte) error {
	return o.retry(func() error { _, err := o.conn.Write(message); return err })
}

// writeBurst writes the messages of the burst in one call, or one by one where that is impossible.
func (o *output) writeBurst() error {
	b := &o.burst
	if u, ok := o.conn.(*net.UDPConn); ok && b.n > 1 && !b.off {
		err := o.retry(func() error { return b.control.write(u, b.octets, b.size) })
		if !unsegmented(err) {
			return err
		}
		b.off = true
	}
	for i := range b.n {
		if err := o.write(b.message(i)); err != nil {
			return err
		}
	}
	return nil
}

func (o *output) retry(write func() error) error {
	err := write()
	for range 3 {
		if o.refused == nil || !refused(err) {
			break
		}
		o.refused()
		err = write()
	}
	return err
}

// sendAll sends records in the messages that they fill, in bursts. Those that are left over for a short message
// wait for others, unless they are all there is. After an error, with which the session ends, records that were
// not sent wait in the queue.
func (l *link) sendAll(records []Record) error {
	b := &l.out.burst
	flush := func() error {
		defer b.clear()
		if err := l.out.writeBurst(); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		l.messages.Add(uint64(b.n))
		l.records.Add(uint64(b.records))
		l.octets.Add(uint64(len(b.octets)))
		l.queue.take(b.records)
		return nil
	}
	for {
		n := 0
		for n < len(records) && l.s.add(&records[n]) {
			n++
		}
		message := l.s.finish(l.config.Now())
		if !b.takes(len(message)) {
			if err := flush(); err != nil {
				return err
			}
		}
		b.add(message, n)
		l.s.commit()
		if l.messagesLeft > 0 {
			l.messagesLeft--
		}
		if records = records[n:]; len(records) < enough || l.due(time.Now()) {
			return flush()
		}
	}
}
