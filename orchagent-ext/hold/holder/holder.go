// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"time"

	"sluice/orchagent-ext/flows/histogram"
	"sluice/orchagent-ext/hold/enforce"
	"sluice/orchagent-ext/hold/kernel"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/wire/notify"
	sai "sluice/sai-shim"
)

// room is for targets of demands; further ones are refused and counted.
const room = 8192

// Enforcer carries out holds: the switch, or the senders of flows.
type Enforcer interface {
	// Hold holds packets as [sai.Library.SetHold] does.
	Hold(now int64, t kernel.Target, d time.Duration, rate uint64) error
	// Held returns the state of a hold that began at since (ns), as [sai.Library.GetHold] does.
	Held(now int64, t kernel.Target, since int64) (sai.HoldState, error)
	// Rate returns the rate in bit/s at which the flows of a target arrive; 0: unknown.
	Rate(now int64, t kernel.Target) uint64
}

// Released receives each target whose hold ended.
type Released interface{ Released(t kernel.Target) }

// Settings are those of holds in force.
type Settings struct {
	Enforcer Enforcer
	PFCM     bool // PFCM is obeyed
	PPFC     bool // PPFC is obeyed
	// a Stream ID of unknown flows holds every flow of the message's source and destination
	HoldPair bool
	// of PFCM and PPFC: time after which a hold is released unless resumed, and for which its key is ignored;
	// 0: unlimited
	PFCMLimit, PPFCLimit time.Duration
}

// held is a target while it is held.
type held struct {
	kernel.Target
	by enforce.Key // that held it first
	// about has the addresses in the message that held it first, since (ns) is when that
	// was, and set is the hold that was set last: zero before.
	about   kernel.Addresses
	since   int64
	set     enforce.Hold
	matched bool   // packets have matched, here or by another member of the port
	waiting uint64 // messages that are obeyed once packets match

	at    int64 // time of the next check, ns
	place int
}

// When implements [clock.Timed].
func (h *held) When() int64 { return h.at }

// Place implements [clock.Timed].
func (h *held) Place() *int { return &h.place }

// Holder has the holds in force. Its fields besides Table are its own; slices named as scratch hold a
// value during one call.
type Holder struct {
	k        *kernel.Kernel
	settings Settings
	released Released

	table   *enforce.Table[kernel.Target]
	held    kernel.Store[kernel.Target, held]
	checks  clock.Heap[*held]
	perPort map[sai.ObjectID]int // targets that are held

	targets []enforce.Target[kernel.Target] // scratch: of the message
	changes []enforce.Change[kernel.Target] // scratch
	refused []kernel.Target                 // scratch: of the last changes

	// Enforced and EnforcedPPFC are the times from a message received by the kernel to its hold,
	// Release those from the end of a hold to its release; ns.
	Enforced, EnforcedPPFC, Release histogram.Fine
}

// New returns an empty holder.
func New(k *kernel.Kernel, e Enforcer) *Holder {
	return &Holder{k: k, settings: Settings{Enforcer: e}, table: enforce.NewTable[kernel.Target](room), held: kernel.NewStore[kernel.Target, held](room), perPort: map[sai.ObjectID]int{}}
}

// OnRelease has targets reported whose hold ended. It is to be called before the first message.
func (h *Holder) OnRelease(r Released) { h.released = r }

// Configure takes settings. [Holder.Prune] ends the holds outside of them.
func (h *Holder) Configure(s Settings) {
	if !s.PPFC { // those that end keep their limit
		s.PPFCLimit = h.settings.PPFCLimit
	}
	h.settings = s
	h.table.Limit[notify.KindPFCM], h.table.Limit[notify.KindPPFC] = s.PFCMLimit, s.PPFCLimit
}

// Prune ends the holds of kinds of messages that the settings disable, and of ports that have gone.
func (h *Holder) Prune(now int64) {
	h.changes = h.changes[:0]
	for _, one := range h.held.All() {
		if one.by.Kind == notify.KindPPFC && !h.settings.PPFC || one.by.Kind == notify.KindPFCM && !h.settings.PFCM || one.Port != sai.Null && h.k.Ports.Of(one.Port) == nil {
			h.changes = h.table.Leave(h.changes, now, one.Target)
		}
	}
	h.apply(now, 0, false)
}

// Clear ends all holds at once, as before another [Enforcer] has them.
func (h *Holder) Clear(now int64) {
	h.changes = h.table.Clear(h.changes[:0], now)
	h.apply(now, 0, true)
}

// Until returns the end of the demand of a key, ns; 0: unknown key.
func (h *Holder) Until(k enforce.Key) int64 { return h.table.Until(k) }

// Hold returns the hold that a target is under; the zero value for a free one.
func (h *Holder) Hold(t kernel.Target) enforce.Hold { return h.table.Hold(t) }

// Len returns the number of targets that are held.
func (h *Holder) Len() int { return h.held.Len() }

// Holding reports whether a target is held.
func (h *Holder) Holding(t kernel.Target) bool { return h.held.Get(t) != nil }

// Demands appends the demands on a target in the order in which they came, as append does.
func (h *Holder) Demands(all []enforce.InForce, t kernel.Target) []enforce.InForce {
	return h.table.On(all, t)
}

// Queue returns the congested queue in the message that held a target first; 0: it is free.
func (h *Holder) Queue(t kernel.Target) uint16 {
	if one := h.held.Get(t); one != nil {
		return one.by.Queue
	}
	return 0
}

// Next returns when [Holder.Step] has work, or at if that is earlier; ns.
func (h *Holder) Next(at int64) int64 {
	if one, ok := h.checks.First(); ok {
		at = min(at, one.at)
	}
	if end, ok := h.table.Next(); ok {
		at = min(at, end)
	}
	return at
}

// Step checks holds that are due for it, and ends those that are over.
func (h *Holder) Step(now int64) {
	for {
		one, ok := h.checks.First()
		if !ok || one.at > now {
			break
		}
		h.check(now, one)
	}
	if at, ok := h.table.Next(); ok && at <= now {
		h.Release.Add(kernel.Elapsed(at, now))
		h.changes = h.table.Expire(h.changes[:0], now)
		h.apply(now, 0, false)
	}
}
