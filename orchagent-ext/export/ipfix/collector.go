// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/host/clock"
)

// collector sends the records in its queue to one collector.
type collector struct {
	to     Collector
	config *Config
	queue  *queue[Record]
	health *queue[Health]
	pace   pacer // of datagrams

	messages, records, healths, octets, connects, refused atomic.Uint64

	mu        sync.Mutex
	connected bool
	err       error // why it is not, or was not
}

//conformance:draft-lin/security draft-lin/encryption
func newCollector(to Collector, c *Config) *collector {
	ready, health := make(chan struct{}, 1), 0
	if c.Health {
		health = c.Queue
	}
	pace := pacer{rate: c.Pace}
	if to.Transport.stream() {
		pace.rate = 0
	}
	return &collector{to: to, config: c, pace: pace, queue: newQueue(c.Queue, (*notSent).add, ready), health: newQueue(health, (*notSent).addHealth, ready)}
}

// run connects and sends until all is sent or ctx ends.
func (c *collector) run(ctx context.Context) error {
	defer c.queue.drop()
	defer c.health.drop()
	wait, lost := c.config.Backoff, time.Now()
	for {
		if _, _, waiting, end := c.peek(); end && waiting == 0 {
			return nil
		}
		conn, limit, err := c.dial(ctx, c.handshake(time.Since(lost)))
		if err == nil {
			c.up(conn)
			began, sent := time.Now(), c.records.Load()
			err = c.serve(ctx, conn, limit)
			if err == nil {
				return nil
			}
			// A collector that takes connections but closes them before records
			// arrive counts as unreachable.
			now := time.Now()
			if c.records.Load() > sent || now.Sub(began) > c.config.GiveUp {
				lost = now
			}
			if now.Sub(began) > wait {
				wait = c.config.Backoff
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errRenew) {
			continue
		}
		c.down(err)
		if limit := c.config.GiveUp; limit > 0 && time.Since(lost) >= limit {
			return err
		}
		// not all exporters at once
		if !clock.Sleep(ctx, c.pause(wait/2+rand.N(wait/2+1), time.Since(lost))) {
			return nil
		}
		wait = min(2*wait, maxBackoff)
	}
}

// peek returns the oldest records of both queues, and how many wait in all; see queue.peek.
func (c *collector) peek() (records []Record, health []Health, waiting int, end bool) {
	records, waiting, end = c.queue.peek()
	health, more, healthEnd := c.health.peek()
	return records, health, waiting + more, end && healthEnd
}

// handshake returns how long connecting may take to a collector that was lost so
// long ago: within the time to give up, but long enough to receive the reason of
// a failure.
func (c *collector) handshake(lost time.Duration) time.Duration {
	if c.config.GiveUp == 0 {
		return handshakeTime
	}
	return min(max(c.config.GiveUp-lost, minHandshake), handshakeTime)
}

// pause returns how long to wait before connecting again, where wait is due:
// within the time to give up.
func (c *collector) pause(wait, lost time.Duration) time.Duration {
	if c.config.GiveUp == 0 {
		return wait
	}
	return min(wait, max(c.config.GiveUp-lost, 0))
}

// up records and logs that the connection is established.
func (c *collector) up(conn net.Conn) {
	c.connects.Add(1)
	c.mu.Lock()
	c.connected = true
	c.mu.Unlock()
	c.config.Log.Info("IPFIX: sending", "collector", c.to.Name, "transport", c.to.Transport.String(), "address", conn.RemoteAddr().String())
}

// down records the error, and logs it where the state or the error changed.
func (c *collector) down(err error) {
	c.mu.Lock()
	changed := c.connected || c.err == nil || c.err.Error() != err.Error()
	c.connected, c.err = false, err
	c.mu.Unlock()
	if changed {
		c.config.Log.Warn("IPFIX: collector lost", "collector", c.to.Name, "transport", c.to.Transport.String(), "error", err.Error())
	}
}

// status returns the collector's counters; any goroutine may call it.
func (c *collector) status() Stats {
	waiting, dropped := c.queue.status()
	healthWaiting, healthDropped := c.health.status()
	s := Stats{
		Name: c.to.Name, Transport: c.to.Transport,
		Messages: c.messages.Load(), Records: c.records.Load(), Health: c.healths.Load(), Octets: c.octets.Load(),
		Waiting: waiting + healthWaiting, Dropped: dropped.records + healthDropped.records, Connects: c.connects.Load(), Refused: c.refused.Load(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Connected = c.connected
	if c.err != nil {
		s.Error = c.err.Error()
	}
	return s
}
