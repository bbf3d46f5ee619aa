// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/spread/nexthops"
	"sluice/yang/rows"
)

// Times between two readings of ASIC_DB, which has everything that is on the switch: soon
// after next hops changed, since orchagent follows the kernel, and now and then. Reading takes
// one of programmedShare parts of the time at most.
const (
	programmedEvery = 10 * time.Second
	programmedSoon  = time.Second
	programmedTries = 5 // soon, after each change
	programmedShare = 20
)

// errNotRead is the error before the first reading of ASIC_DB.
var errNotRead = errors.New("ASIC_DB was not read yet")

// programmed reads the next-hop groups that SONiC's orchagent has programmed. SAI libraries
// do not list them: the one that SONiC shares a switch by answers NOT_IMPLEMENTED.
type programmed struct {
	asicDB, countersDB *sonicdb.DB
	asked, news        chan struct{} // each has room for one
	soon               time.Duration // tests bend it
	last               atomic.Pointer[groups]
}

// groups are those that are programmed.
type groups struct {
	all []nexthops.Programmed
	err error // why they are unknown; nil: they are known
}

// reconcileOrder begins to read what is programmed where a learned model needs it, or where
// orchagent redirects flows, or ends that. The order of the kernel is that of netlink.
func (p *Placement) reconcileOrder(g task.Group, kernel, redirects bool) {
	want := redirects || p.labels != nil && !kernel && !p.labels.settings.Kernel
	if !p.order.Has(want) {
		p.order.Cancel() // a Redis that hangs may take its time
	}
	_ = p.order.Reconcile(g, want, func() (*programmed, error) { return openProgrammed(p.env), nil })
	p.network.programmed = p.order.Worker()
}

// openProgrammed opens ASIC_DB. Where that fails [programmed.known] returns the error.
func openProgrammed(env *Environment) *programmed {
	p := newProgrammed(env.CountersDB)
	asicDB, err := sonicdb.Open(env.Databases, "ASIC_DB", env.Log)
	if err != nil {
		p.last.Store(&groups{err: err})
		return p
	}
	p.asicDB = asicDB
	return p
}

// newProgrammed returns groups that are unknown until ASIC_DB is read.
func newProgrammed(countersDB *sonicdb.DB) *programmed {
	p := &programmed{countersDB: countersDB, asked: make(chan struct{}, 1), news: make(chan struct{}, 1), soon: programmedSoon}
	p.last.Store(&groups{err: errNotRead})
	return p
}

// changed returns the channel that is readable once other groups are programmed than before; nil
// where nothing is read.
func (p *programmed) changed() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.news
}

// known returns the groups that were read last, and has them read again soon.
func (p *programmed) known() *groups {
	signal(p.asked)
	return p.Report()
}

// Report implements [task.Worker]: the groups that were read last.
func (p *programmed) Report() *groups { return p.last.Load() }

// signal wakes the reader of a channel of one place. A second signal before it reads is the same.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Run reads until ctx ends, and closes ASIC_DB.
func (p *programmed) Run(ctx context.Context) error {
	if p.asicDB == nil {
		<-ctx.Done()
		return nil
	}
	defer p.asicDB.Close()
	p.follow(ctx)
	return nil
}

// follow reads soon after known was called, and now and then, until ctx ends.
func (p *programmed) follow(ctx context.Context) {
	for tries := programmedTries; ; {
		began := time.Now()
		now := p.read(ctx)
		if ctx.Err() != nil {
			return
		}
		if p.keep(now) {
			signal(p.news)
		}
		if !clock.Sleep(ctx, max(p.soon, programmedShare*time.Since(began))) {
			return
		}
		if tries--; tries <= 0 {
			t := time.NewTimer(programmedEvery)
			select {
			case <-t.C:
			case <-p.asked:
				tries = programmedTries
			case <-ctx.Done():
			}
			t.Stop()
		}
	}
}

// read reads the two databases.
func (p *programmed) read(ctx context.Context) *groups {
	objects, err := p.asicDB.ReadKeys(ctx, nexthops.ASICTable, nexthops.ASICKeys)
	if err != nil {
		return &groups{err: err}
	}
	maps, err := p.countersDB.Get(ctx, rows.Row{Table: nexthops.InterfaceMap})
	if err != nil || len(maps) == 0 {
		return &groups{nexthops.ProgrammedGroups(objects, nil), err}
	}
	return &groups{nexthops.ProgrammedGroups(objects, maps[0].Fields), nil}
}

// keep keeps the groups that were read, and reports whether they differ from those before.
func (p *programmed) keep(now *groups) (other bool) {
	was := p.last.Swap(now)
	return (now.err == nil) != (was.err == nil) || now.err != nil && now.err.Error() != was.err.Error() || !reflect.DeepEqual(now.all, was.all)
}
