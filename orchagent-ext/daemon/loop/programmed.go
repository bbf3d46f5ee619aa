// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"sluice/orchagent-ext/daemon/task"
	"sluice/orchagent-ext/db/sonicdb"
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

// errNotRead says that ASIC_DB was not read yet.
var errNotRead = errors.New("ASIC_DB was not read yet")

// programmed reads the next-hop groups that SONiC's orchagent has programmed. SAI libraries
// do not list them: the one that SONiC shares a switch by answers NOT_IMPLEMENTED.
type programmed struct {
	asicDB, countersDB *sonicdb.DB
	end                context.CancelFunc
	asked, news        chan struct{} // each has room for one
	soon               time.Duration // tests bend it

	mu     sync.Mutex
	groups []nexthops.Programmed
	err    error // why they are not known; nil: they are
}

// learnOrder begins to read what is programmed where a learned model needs it, or ends that.
// The order of the kernel is that of netlink.
func (o *orch) learnOrder(ctx context.Context, g task.Group) {
	if o.sw == nil || o.sw.place == nil || o.sw.Kernel || o.sw.place.settings.Kernel {
		o.programmed = o.programmed.stopped()
		return
	}
	if o.programmed != nil {
		return
	}
	p := newProgrammed(o.countersDB)
	o.programmed = p
	var err error
	if p.asicDB, err = sonicdb.Open(o.Databases, "ASIC_DB", o.Log); err != nil {
		p.err = err
		return
	}
	ctx, p.end = context.WithCancel(ctx)
	g.Go(func() error {
		defer p.asicDB.Close()
		p.run(ctx)
		return nil
	})
}

func newProgrammed(countersDB *sonicdb.DB) *programmed {
	return &programmed{countersDB: countersDB, end: func() {}, asked: make(chan struct{}, 1), news: make(chan struct{}, 1), soon: programmedSoon, err: errNotRead}
}

func (p *programmed) stopped() *programmed {
	if p != nil {
		p.end()
	}
	return nil
}

// changed is when other groups are programmed than before.
func (p *programmed) changed() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.news
}

// known returns what was last read, and has it read again soon.
func (p *programmed) known() ([]nexthops.Programmed, error) {
	signal(p.asked)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.groups, p.err
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// run reads until ctx ends.
func (p *programmed) run(ctx context.Context) {
	for tries := programmedTries; ; {
		began := time.Now()
		groups, err := p.read(ctx)
		if ctx.Err() != nil {
			return
		}
		if p.keep(groups, err) {
			signal(p.news)
		}
		if !task.Sleep(ctx, max(p.soon, programmedShare*time.Since(began))) {
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
func (p *programmed) read(ctx context.Context) ([]nexthops.Programmed, error) {
	objects, err := p.asicDB.ReadKeys(ctx, nexthops.ASICTable, nexthops.ASICKeys)
	if err != nil {
		return nil, err
	}
	maps, err := p.countersDB.Get(ctx, rows.Row{Table: nexthops.InterfaceMap})
	if err != nil || len(maps) == 0 {
		return nexthops.ProgrammedGroups(objects, nil), err
	}
	return nexthops.ProgrammedGroups(objects, maps[0].Fields), nil
}

// keep keeps what was read, and says whether it is other than before.
func (p *programmed) keep(groups []nexthops.Programmed, err error) (other bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	other = (err == nil) != (p.err == nil) || err != nil && err.Error() != p.err.Error() || !reflect.DeepEqual(groups, p.groups)
	p.groups, p.err = groups, err
	return other
}
