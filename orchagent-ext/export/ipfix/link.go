// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"sluice/orchagent-ext/host/clock"
)

// A link is one connection, and the session over it.
type link struct {
	*collector
	s     *session
	out   output
	gone  chan error // why the other side ended it
	timer *time.Timer

	// Over streams statistics alone are sent again: the templates arrived.
	refresh      time.Time // when templates and statistics are due
	messagesLeft uint32    // until templates are due
	absent       absence
	fixed        []optionRecord
	healthFirst  bool // in the last message
}

// absence of a collector that receives datagrams.
type absence struct {
	// missed: no collector received the templates that were sent at
	missed    bool
	forgotten time.Time // this time
}

// due reports whether the templates are to be sent again: at most once a second.
func (a *absence) due(now time.Time) bool {
	return a.missed && now.Sub(a.forgotten) >= time.Second
}

// errRenew ends a DTLS session that will be set up again.
var errRenew = errors.New("session is renewed")

// serve sends over one connection until all is sent (nil), the connection is
// lost, or ctx ends.
func (c *collector) serve(ctx context.Context, conn net.Conn, limit int) error {
	l := &link{
		collector: c, s: newSession(&c.config.Process, limit),
		out: output{conn: conn}, gone: make(chan error, 1), timer: time.NewTimer(0),
	}
	if c.to.Transport == UDP {
		l.out.refused = l.unreachable
	}
	l.fixed = fixedOptions(c.config.Process, l.s)
	defer l.timer.Stop()
	var watching sync.WaitGroup
	if c.to.Transport != UDP {
		watching.Go(func() {
			_, err := io.Copy(io.Discard, conn) // collectors send nothing
			l.gone <- cmp.Or(err, errors.New("the collector closed the connection"))
		})
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() }) //nolint:errcheck // it is for what waits in Write
	defer func() {
		stop()
		conn.Close() //nolint:errcheck // what was written was looked at
		watching.Wait()
	}()
	if err := l.options(true); err != nil {
		return err
	}
	return l.loop(ctx)
}

// loop sends records, and templates and statistics when they are due, until the
// queue ends, ctx ends or the connection fails.
func (l *link) loop(ctx context.Context) error {
	for {
		records, health, end, err := l.next(ctx)
		if err != nil {
			return err
		}
		if end && len(records)+len(health) == 0 {
			return l.end()
		}
		if now := time.Now(); l.due(now) {
			if l.to.Transport == DTLS && !now.Before(l.refresh) {
				return cmp.Or(l.options(false), errRenew) // the last message, see end; records wait in the queue
			}
			again := !l.to.Transport.stream() // what may not have arrived
			if again {
				l.s.forget()
				l.absent = absence{forgotten: now}
			}
			if err := l.options(again); err != nil {
				return err
			}
		}
		if l.to.Transport == UDP && l.pace.rate == 0 && len(health) == 0 && len(records) > 0 { // neither a pace nor health takes turns with them
			if err := l.sendAll(records); err != nil {
				return err
			}
			continue
		}
		// neither waits while the other one's queue is never empty
		l.healthFirst = !l.healthFirst
		n, h := 0, 0
		if l.healthFirst {
			h = l.s.addHealths(health)
		}
		for n < len(records) && l.s.add(&records[n]) {
			n++
		}
		if !l.healthFirst {
			h = l.s.addHealths(health)
		}
		if l.s.empty() {
			continue
		}
		if wait := l.pace.wait(len(l.s.message), time.Now()); wait > 0 && !clock.Sleep(ctx, wait) {
			l.s.abort() // the records wait in the queue
			return ctx.Err()
		}
		if err := l.send(); err != nil {
			return err
		}
		l.queue.take(n)
		l.health.take(h)
	}
}

// due reports whether templates and statistics are to be sent again: by time, by
// count, and, at most once a second, when they reached an absent collector, so
// that one that comes back can read at once.
func (l *link) due(now time.Time) bool {
	return l.messagesLeft == 0 || !now.Before(l.refresh) || l.absent.due(now)
}

// enough is how many records are sent at once, as soon as they are there: about
// as many as fit into a datagram.
const enough = 16

// next waits for records until the refresh is due. It gives those that came
// alone some company.
func (l *link) next(ctx context.Context) (records []Record, health []Health, end bool, err error) {
	until, lingering := l.refresh, false
	for {
		var waiting int
		records, health, waiting, end = l.peek()
		if end || waiting >= enough {
			return records, health, end, nil
		}
		now := time.Now()
		if !now.Before(until) {
			return records, health, false, nil
		}
		if waiting > 0 && !lingering {
			lingering = true
			if soon := now.Add(l.config.Linger); soon.Before(until) {
				until = soon
			}
		}
		l.timer.Reset(until.Sub(now))
		select {
		case <-l.queue.ready:
		case <-l.timer.C:
		case err := <-l.gone:
			return nil, nil, false, err
		case <-ctx.Done():
			return nil, nil, false, ctx.Err()
		}
	}
}

// options sends options records: statistics, and the fixed ones, too.
func (l *link) options(all bool) error {
	l.refresh = time.Now().Add(l.config.Refresh)
	l.messagesLeft = l.config.RefreshMessages
	_, dropped := l.queue.status()
	records := []optionRecord{
		{&l.s.options[exportedOption], exportedRecord(l.config.Domain, l.messages.Load(), l.records.Load(), l.octets.Load())},
		{&l.s.options[ignoredOption], ignoredRecord(l.config.Domain, l.config.Ignored)},
		{&l.s.options[notSentOption], notSentRecord(dropped.records, dropped.packets, dropped.octets)},
	}
	if all {
		records = append(records, l.fixed...)
	}
	for _, o := range records {
		if !l.s.addOption(o.template, o.record) {
			if err := l.send(); err != nil {
				return err
			}
			l.s.addOption(o.template, o.record)
		}
	}
	if l.s.empty() {
		return nil
	}
	return l.send()
}

// send sends the message.
func (l *link) send() error {
	message := l.s.finish(l.config.Now())
	flows, healths := l.s.flows, l.s.healths
	if l.to.Transport.stream() {
		if err := l.out.conn.SetWriteDeadline(time.Now().Add(l.config.Stall)); err != nil {
			return err
		}
	}
	if err := l.out.write(message); err != nil {
		l.s.abort()
		return fmt.Errorf("send: %w", err)
	}
	l.s.commit()
	l.messages.Add(1)
	l.records.Add(uint64(flows))
	l.healths.Add(uint64(healths))
	l.octets.Add(uint64(len(message)))
	if l.messagesLeft > 0 {
		l.messagesLeft--
	}
	return nil
}

// unreachable records that the collector's port is closed.
func (l *link) unreachable() {
	l.refused.Add(1)
	l.absent.missed = true
	l.mu.Lock()
	l.err = errRefused
	l.mu.Unlock()
}

// end ends the session: withdrawals over transports that deliver (RFC 7011
// section 8.1 forbids them over UDP), and a last check of the connection: closed
// by the other side, or an ICMP port unreachable.
func (l *link) end() error {
	if l.to.Transport == UDP {
		if err := l.out.conn.SetReadDeadline(time.Now().Add(l.config.Linger)); err != nil {
			return nil
		}
		if _, err := l.out.conn.Read(make([]byte, 1)); refused(err) {
			l.unreachable()
		}
		return nil
	}
	if l.to.Transport == DTLS {
		// Libraries hand out either the last datagram or the close where a collector finds both,
		// however late it reads (pion/dtls does): no record is in that datagram.
		if err := l.options(false); err != nil {
			return err
		}
		return l.ended()
	}
	if l.s.single {
		return l.ended() // withdrawals of all are two sets, one of them of options
	}
	l.s.withdraw()
	if err := l.send(); err != nil {
		return err
	}
	return l.ended()
}

// ended waits as long as a message lingers, and returns why the other side closed the
// connection within it.
func (l *link) ended() error {
	l.timer.Reset(l.config.Linger)
	select {
	case err := <-l.gone:
		return err
	case <-l.timer.C:
		return nil
	}
}
