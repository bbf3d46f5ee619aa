// SPDX-License-Identifier: Apache-2.0

package flowcontrol

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/cpu/packetio"
	sai "sluice/sai-shim"
)

// Transport receives and sends messages; [packetio.Messages] is one.
type Transport interface {
	FDs() [2]int // IPv6, IPv4
	Receive(dst []packetio.Message) int
	Send(port uint32, to netip.Addr, packet []byte) error
	SendFrame(port uint32, frame []byte) error
	Route(packet []byte) error
}

// Task is the flow-control task: one thread with real-time priority where the kernel
// grants it. Its methods but Run may be called from any goroutine.
type Task struct {
	// events is the switch's eventfd, which Run polls and the switch owns.
	sw       Switch
	events   int
	messages Transport

	control int // eventfd: there is a configuration, a question, or the end
	// Run takes configured and wanted at each wakeup and leaves nil; learned is a channel
	// of learnedRoom pairs, filled the answer to wanted, ended is closed when Run
	// returns.
	configured atomic.Pointer[settings]
	current    atomic.Pointer[settings] // of Learn
	wanted     atomic.Pointer[Report]
	learned    chan Learned
	unlearned  atomic.Uint64 // pairs that found the channel full
	filled     chan *Report
	published  atomic.Pointer[Report]
	turnover   atomic.Uint64 // of holds, by the thread
	news       chan struct{} // there is a report of holds that began or ended
	last       *Report       // of the thread when it ended, for Run; nil after a failure
	ended      chan struct{}
	stopping   atomic.Bool
	realtime   atomic.Pointer[string] // why there is none; "": there is

	asking sync.Mutex // of one caller of Now, and of Close
	closed bool
}

const (
	priority    = 10 // SCHED_FIFO
	eventRoom   = 64
	learnedRoom = 4096
	messageRoom = 32
	rounds      = 8                      // of events and messages before due work
	longest     = time.Second            // of a wait
	answerWait  = time.Second            // for the answer to Now
	lookEvery   = 250 * time.Millisecond // for holds that began or ended
	reportLooks = 2                      // after so many there is a report in any case

	// After a batch of refused messages the next ones wait for so long, and are read
	// together: a storm costs less, and a genuine message in it loses little time.
	refusedWait = 200 * time.Microsecond
)

// New returns the flow-control task of a switch. events is the eventfd of
// [sai.Library.WatchFlows], or -1 for a switch without events. Close it after Run.
func New(sw Switch, events int, m Transport) (*Task, error) {
	t := &Task{sw: sw, events: events, messages: m, filled: make(chan *Report, 1), learned: make(chan Learned, learnedRoom), ended: make(chan struct{}), news: make(chan struct{}, 1)}
	var err error
	if t.control, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, fmt.Errorf("make an eventfd: %w", err)
	}
	return t, nil
}

// Close closes the descriptor that New made.
func (t *Task) Close() error {
	t.asking.Lock() // Now writes to it
	defer t.asking.Unlock()
	t.closed = true
	return unix.Close(t.control)
}

// Configure gives flow control a configuration, which is immutable from then on. The
// transport is to be configured likewise.
func (t *Task) Configure(c *Config) {
	s := newSettings(c)
	t.current.Store(s)
	t.configured.Store(s)
	t.wake()
}

// Report returns the last report of Run, and waits for nothing. A report is published every 500 ms
// while the thread answers, within 250 ms when holds begin or end, and at the end; it is immutable. nil: there was none yet. Any goroutine may call it.
func (t *Task) Report() *Report { return t.published.Load() }

// News returns the channel that is readable once there is a report of holds that began or ended.
func (t *Task) News() <-chan struct{} { return t.news }

// publish publishes reports until the thread ends.
func (t *Task) publish() {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	known := uint64(0) // turnover of the last news
	for look := 0; ; look++ {
		turnover := t.turnover.Load()
		if turnover != known || look%reportLooks == 0 {
			if r := t.Now(); r != nil {
				t.published.Store(r)
				if turnover != known {
					known = turnover
					select {
					case t.news <- struct{}{}:
					default:
					}
				}
			}
		}
		select {
		case <-t.ended:
			return
		case <-ticker.C:
		}
	}
}

// Now asks the thread for the present state; nil before Run, after its end, and where the thread
// gives no answer for a second. Any goroutine may call it.
func (t *Task) Now() *Report {
	t.asking.Lock()
	defer t.asking.Unlock()
	if t.closed {
		return nil
	}
	t.wanted.Store(newReport())
	t.wake()
	timer := time.NewTimer(answerWait)
	defer timer.Stop()
	select {
	case r := <-t.filled:
		return r
	case <-t.ended:
	case <-timer.C:
	}
	return nil
}

// Learn passes a source queue pair to the task. It returns at once: pairs that find the
// queue full are counted, and repeated by their next packets. Packets of hosts that may not be
// slowed are left out.
func (t *Task) Learn(l Learned) {
	if l.Packet.In != sai.Null && !t.slows(&l) {
		l.Packet = Packet{}
	}
	select {
	case t.learned <- l:
	default:
		t.unlearned.Add(1)
	}
}

// slows reports whether a flow may be held at its sender in the present configuration.
func (t *Task) slows(l *Learned) bool {
	s := t.current.Load()
	return s != nil && s.Source.Slows(s.ports, l)
}

// Realtime returns the error of the thread's real-time priority; "" with the priority,
// and before Run.
func (t *Task) Realtime() string {
	if why := t.realtime.Load(); why != nil {
		return *why
	}
	return ""
}

// wake ends the wait of the task's thread, by its eventfd.
func (t *Task) wake() {
	one := [8]byte{1} // in either byte order it is other than 0
	_, _ = unix.Write(t.control, one[:])
}

// Run is the real-time path, until the context ends. Then the requests to neighbors end, and
// the holds here.
func (t *Task) Run(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { t.stopping.Store(true); t.wake() })()
	failed := make(chan error, 1)
	go func() {
		defer func() {
			if what := recover(); what != nil {
				failed <- fmt.Errorf("panic in flow control: %v\n%s", what, debug.Stack())
			}
		}()
		// The thread ends with the goroutine, and its priority with it: a locked thread is
		// never reused.
		runtime.LockOSThread()
		failed <- t.loop()
	}()
	var published sync.WaitGroup
	published.Go(t.publish)
	err := <-failed
	close(t.ended)
	published.Wait()
	if t.last != nil {
		t.published.Store(t.last)
	}
	return err
}

// loop gives the thread real-time priority and carries out turns until the context ends.
// Without CAP_SYS_NICE it goes on at ordinary priority, with the reason in
// [Task.Realtime].
func (t *Task) loop() error {
	l := &loop{Task: t, core: newCore(t.sw, t.messages, packetio.Monotonic)}
	if l.prioritize(); l.realtime {
		if err := sai.BoundRealtime(mostRun); err != nil {
			return err
		}
		defer sai.BoundRealtime(0) //nolint:errcheck // it succeeded before, with the same limits
	}
	in := t.messages.FDs()
	l.fds = [4]unix.PollFd{
		{Fd: int32(t.control), Events: unix.POLLIN}, {Fd: int32(t.events), Events: unix.POLLIN},
		{Fd: int32(in[0]), Events: unix.POLLIN}, {Fd: int32(in[1]), Events: unix.POLLIN},
	}
	for !t.stopping.Load() {
		if err := l.turn(); err != nil {
			return err
		}
	}
	l.core.end(packetio.Monotonic())
	l.last = newReport()
	l.core.fill(packetio.Monotonic(), l.last)
	return nil
}

// prioritize gives the thread real-time priority, and notes whether it has it.
func (l *loop) prioritize() {
	why := ""
	if err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: priority}, 0); err != nil {
		why = fmt.Sprintf("the thread of flow control has no real-time priority (CAP_SYS_NICE, or cpu.rt_runtime_us of its control group): %v", err)
	}
	l.Task.realtime.Store(&why)
	l.realtime = why == ""
}

// loop is the state of the thread.
type loop struct {
	*Task
	core        *core
	realtime    bool
	share       share
	ignoreUntil int64          // ns; messages before it are left in the socket
	fds         [4]unix.PollFd // control, events, then messages
	events      [eventRoom]sai.FlowEvent
	messages    [messageRoom]packetio.Message
}

// turn waits for the next event or deadline, and processes it.
func (l *loop) turn() error {
	now := packetio.Monotonic()
	wait, fds := min(max(l.core.next()-now, 0), int64(longest)), l.fds[:]
	if l.ignoreUntil > now {
		wait, fds = min(wait, l.ignoreUntil-now), l.fds[:2]
	}
	timeout := unix.NsecToTimespec(wait)
	if _, err := unix.Ppoll(fds, &timeout, nil); err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for events of flow control: %w", err)
	}
	if l.fds[0].Revents != 0 {
		l.takeRequests()
	}
	items := l.learn()
	for range rounds {
		n, lost := l.sw.ReadFlowEvents(l.events[:])
		l.core.kernel.Counters.EventsLost = lost
		for i := range n {
			l.core.event(packetio.Monotonic(), &l.events[i])
		}
		items += n
		if l.ignoreUntil > packetio.Monotonic() {
			if n < eventRoom {
				break
			}
			continue
		}
		before := l.core.kernel.Counters.Useful()
		m := l.Task.messages.Receive(l.messages[:])
		for i := range m {
			l.core.receiveMessage(packetio.Monotonic(), &l.messages[i])
		}
		items += m
		if m > 0 && m < messageRoom && l.core.kernel.Counters.Useful() == before {
			l.ignoreUntil = packetio.Monotonic() + int64(refusedWait)
		}
		if n < eventRoom && m < messageRoom {
			break
		}
	}
	l.core.step(packetio.Monotonic())
	l.turnover.Store(l.core.holder.Turnover())
	l.rest(items)
	return nil
}

// rest waits where the real-time thread has used up its share of a core by a turn that took so many
// events and messages. Holds end by themselves, in the switch; what comes meanwhile waits.
func (l *loop) rest(items int) {
	if !l.realtime {
		return
	}
	if sai.RealtimeLost() {
		l.prioritize()
	}
	if pause := l.share.pause(packetio.Monotonic(), threadTime(), items); pause > 0 {
		timeout := unix.NsecToTimespec(pause)
		_, _ = unix.Ppoll(nil, &timeout, nil)
	}
}

// learn takes the queue pairs that were learned, as many as there are now, and returns how many.
func (l *loop) learn() (n int) {
	n = len(l.learned)
	for range n {
		learned := <-l.learned
		l.core.learn(packetio.Monotonic(), &learned)
	}
	return n
}

// takeRequests takes the requests of other goroutines.
func (l *loop) takeRequests() {
	var count [8]byte
	_, _ = unix.Read(l.control, count[:])
	if s := l.configured.Swap(nil); s != nil {
		l.core.configure(packetio.Monotonic(), s)
	}
	if r := l.wanted.Swap(nil); r != nil {
		l.core.fill(packetio.Monotonic(), r)
		r.Realtime = l.realtime
		select {
		case l.filled <- r:
		default: // the last one was not taken: its caller has given up
			select {
			case <-l.filled:
			default:
			}
			l.filled <- r
		}
	}
}
