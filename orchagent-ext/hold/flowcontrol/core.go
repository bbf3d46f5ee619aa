// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"errors"
	"math"
	"net/netip"

	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/flows/rtt"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/wire/notify"
	"sluice/orchagent-ext/wire/roce"
	sai "sluice/sai-shim"
)

// sender sends frames and packets. It is free of allocations.
type sender interface {
	// Send sends an IPv6 packet out of a port to a link-local address.
	Send(port uint32, to netip.Addr, packet []byte) error
	// SendFrame sends an Ethernet frame out of a port.
	SendFrame(port uint32, frame []byte) error
	// Route sends an IP packet by the kernel's routes.
	Route(packet []byte) error
}

// Room of the core. Objects above these are refused and counted.
const (
	maxCongested = 8192 // flows
	maxHolds     = 8192 // of flows by demands
)

// core decides. It is for one thread; times are ns of CLOCK_MONOTONIC. Maps and buffers
// have their room from the start, and slices named as scratch hold a value during one
// step only.
type core struct {
	// The switch, the sockets and the clock (ns of CLOCK_MONOTONIC), as the task has
	// them.
	sw    Switch
	out   sender
	clock func() int64

	// The configuration in force, never nil: configure replaces it whole. receive bounds
	// the PFCM of all neighbors together; each port has a bucket of its own besides.
	settings *settings
	receive  bucket
	send     bucket // of PFCM

	sendPPFC, sendClient bucket // sendClient: of Rate Advice and CNP

	// Flows that fill a queue here, at most maxCongested. due has them by the time of the
	// next reading of their depth.
	congested store[flowID, congested]
	due       heapOf[*congested]
	asked     map[enforce.Key]together // of neighbors and gateways, by the key by which they know flows

	// The requests of neighbors and gateways: table by key, held by packets. checks has
	// the holds that are to be looked at, for packets that match or for a rate; changes, refused, targets and inForce are scratch.
	table   *enforce.Table[target]
	held    store[target, held]
	checks  heapOf[*held]
	holding map[sai.ObjectID]int // how many targets are held, by port
	changes []enforce.Change[target]
	refused []target // holds of the last changes that the switch refused
	targets []enforce.Target[target]
	inForce []enforce.InForce

	// Pauses by PFC that are under way. frames is scratch; speed returns Mbit/s of the
	// port of an interface index, 0 for an unknown one.
	pauses *enforce.Pauses
	frames []enforce.Frame
	speed  func(port uint32) uint32

	// Scratch for the message that is being sent: 256 octets hold each kind of them. They
	// are fields since local ones would escape to the heap.
	packet   []byte
	envelope notify.Envelope
	pfcm     notify.PFCM
	pfc      notify.PFC
	ppfc     notify.PPFC
	advice   notify.RateAdvice
	cnp      notify.CNP

	// pairs are learned queue pairs, from the packet path. filling is forgotten with the
	// queue's last congested flow, backlogs with each configuration.
	head     roce.Packet // of an event
	pairs    pairs
	backlogs map[sai.ObjectID]backlogged // by queue
	filling  map[sai.ObjectID]filling    // by queue
	ingress  bucket                      // of PPFC
	senders  *senders                    // nil before a configuration has [Config.Source]
	// Flows with a rate policy, at most maxLimited; limits is math.MaxInt64 without any.
	limited store[Pair, limited]
	limits  int64 // when they are measured next
	hosts   *rtt.Table

	// Totals since the task began. reaction is from a mark passed to the PFCM sent,
	// enforce from the PFCM received to the hold on the switch, error from the end of a
	// hold to its release; the two of PPFC are likewise.
	counters                 Counters
	reaction, enforce, error histogram.Fine
	ppfcReaction             histogram.Fine
	ppfcEnforce              histogram.Fine
	lastErr                  error // why the switch refused a hold; nil once a hold has succeeded
	lastErrAt                int64 // ns
}

// newCore returns the state machine without ports. All maps and buffers have their room
// here, since the task is free of allocations.
func newCore(sw Switch, out sender, clock func() int64) *core {
	c := &core{
		sw: sw, out: out, clock: clock, settings: newSettings(&Config{}),
		congested: newStore[flowID, congested](maxCongested), asked: make(map[enforce.Key]together, maxCongested), held: newStore[target, held](maxHolds), holding: map[sai.ObjectID]int{},
		table: enforce.NewTable[target](maxHolds), pauses: enforce.NewPauses(),
		packet: make([]byte, 0, 256), pairs: newPairs(), backlogs: map[sai.ObjectID]backlogged{}, filling: map[sai.ObjectID]filling{},
		limited: newStore[Pair, limited](maxLimited), limits: math.MaxInt64, hosts: rtt.NewHosts(),
	}
	c.speed = func(port uint32) uint32 {
		if p := c.settings.indexes[port]; p != nil {
			return p.Speed
		}
		return 0
	}
	return c
}

// configure takes a configuration. Holds and requests outside of it end, here and at the
// neighbors.
func (c *core) configure(now int64, s *settings) {
	for i := c.congested.len() - 1; i >= 0; i-- {
		f := c.congested.all[i]
		q, ok := s.Queues[f.queue]
		if s.Sends() && ok {
			if f.hold.open && !s.Generate {
				c.runOut(now, f)
			}
			if f.gatewayTold && s.PPFC == nil {
				c.endSource(now, f)
			}
			if f.q = q; s.Advice == nil {
				c.endAdvice(f)
			}
			continue
		}
		if f.End(); f.hold.open {
			c.runOut(now, f)
		}
		c.endSource(now, f)
		c.remove(f)
	}
	if (s.Source == nil) != (c.settings.Source == nil) { // others hold from now on
		c.changes = c.table.Clear(c.changes[:0], now)
		c.apply(now, 0, true)
	}
	if s.Source != nil && c.senders == nil {
		c.senders = newSenders()
	}
	old := c.settings
	c.settings = s
	c.receive.rate, c.send.rate, c.table.Limit[notify.KindPFCM] = s.Receive, s.Send, s.HoldLimit
	if s.Ingress != nil {
		c.ingress.rate, c.table.Limit[notify.KindPPFC] = s.Ingress.Receive, s.Ingress.HoldLimit
	}
	if s.PPFC != nil {
		c.sendPPFC.rate = s.PPFC.Send
	}
	c.sendClient.rate = s.SendClient
	clear(c.backlogs)
	c.limited.clear()              // they are told again when they are seen again
	for id, p := range s.members { // what a neighbor has used up stays so
		if was := old.members[id]; was != nil {
			p.bucket.Bucket = was.bucket.Bucket
		}
	}
	c.retry(now, old)
	c.changes = c.changes[:0]
	for _, h := range c.held.all {
		t := h.target
		if h.by.Kind == notify.KindPPFC && s.Ingress == nil || h.by.Kind == notify.KindPFCM && !s.Obey || t.port != sai.Null && s.members[t.port] == nil {
			c.changes = c.table.Leave(c.changes, now, t)
		}
	}
	c.apply(now, 0, false)
	if !s.Translate {
		c.pauses.Clear()
	}
	c.translate(now)
}

// retry asks for the flows whose neighbor can be reached again, or at last, such as after
// the link was down: their packets of the meantime wait in front of the queue.
func (c *core) retry(now int64, old *settings) {
	if !c.settings.Generate {
		return
	}
	for i := c.congested.len() - 1; i >= 0; i-- { // reading one may remove it
		f := c.congested.all[i]
		before, p := old.members[f.in], c.settings.members[f.in]
		if f.Congested() && c.silence(f, p) == nil && (!f.hold.open || before == nil || !before.reachable()) {
			f.counted = false
			c.unsure(&f.hold)
			f.Retry()
			c.read(now, f)
		}
	}
}

// end ends the requests to neighbors and all holds.
func (c *core) end(now int64) {
	c.configure(now, newSettings(&Config{Codes: c.settings.Codes, Encapsulation: c.settings.Encapsulation, Ports: c.settings.Ports}))
}

// next returns when step is to be called without an event.
func (c *core) next() int64 {
	at := c.limits
	if f, ok := c.due.first(); ok {
		at = min(at, f.at)
	}
	if h, ok := c.checks.first(); ok {
		at = min(at, h.at)
	}
	if t, ok := c.table.Next(); ok {
		at = min(at, t)
	}
	if t, ok := c.pauses.Next(); ok {
		at = min(at, t)
	}
	if c.senders != nil {
		if f, ok := c.senders.due.first(); ok {
			at = min(at, f.due)
		}
	}
	return at
}

// step carries out the work that is due.
func (c *core) step(now int64) {
	for {
		f, ok := c.due.first()
		if !ok || f.at > now {
			break
		}
		c.read(now, f)
	}
	for {
		h, ok := c.checks.first()
		if !ok || h.at > now {
			break
		}
		c.check(now, h)
	}
	if at, ok := c.table.Next(); ok && at <= now {
		c.error.Add(elapsed(at, now))
		c.changes = c.table.Expire(c.changes[:0], now)
		c.apply(now, 0, false)
	}
	if c.senders != nil {
		c.stepSenders(now)
	}
	if c.limits <= now {
		c.stepLimits(now)
	}
	c.translate(now)
}

// read observes a congested flow by the depth that it reads from the switch: events make
// flow control fast, this makes it right even if one is lost.
func (c *core) read(now int64, f *congested) {
	state, err := c.sw.GetFlow(f.queue, f.flow)
	octets := state.Octets
	if err != nil {
		octets = 0
		// it is asked again at the next refresh, and what was asked for runs out
		if !errors.Is(err, sai.ErrNotFound) {
			c.counters.ReadFailed++
		}
	}
	if f.advised.at != 0 && f.advised.at <= now {
		c.advise(now, f, octets)
	}
	c.observe(now, f, octets, false, 0)
}
