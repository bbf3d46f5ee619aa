// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sluice/orchagent-ext/daemon/memory"
	"sluice/orchagent-ext/daemon/settings"
	"sluice/orchagent-ext/db/config"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
)

// SONiC sets this key of CONFIG_DB to 1 when it has loaded the database, and to 0
// before. A machine with Redis alone lacks it.
const (
	initialized = "CONFIG_DB_INITIALIZED"
	notLoaded   = "0"
	loaded      = "1"
)

// ErrLoading is the failure while SONiC loads CONFIG_DB.
var ErrLoading = errors.New("SONiC is loading CONFIG_DB (" + initialized + " is 0): changes wait for it")

// NoPorts is the warning in a phase that is [Phase.Unloaded].
const NoPorts = "CONFIG_DB lost its PORT rows: objects on the switch stay until they return, for 5 minutes at most"

// Emptied is the warning while CONFIG_DB loses its rows.
const Emptied = initialized + " is gone from CONFIG_DB: objects on the switch stay until SONiC has loaded it again, for 5 minutes at most"

// longestLoading is how long the objects on the switch are kept while CONFIG_DB is emptied or loaded.
const longestLoading = 5 * time.Minute

// State is the desired state. Make it with [New]. It is for one goroutine, but for Run.
type State struct {
	configDB, stateDB *sonicdb.DB

	rows       *config.State
	snapshot   *config.Snapshot // nil: Unread
	latest     *config.Snapshot // of the rows as they are
	whole      *config.Snapshot // the last one that was complete; nil before the first
	settings   *settings.Settings
	settingsOf *config.Snapshot // that they are of
	phase      Phase
	sonic      bool      // SONiC has loaded CONFIG_DB
	held       bool      // it empties CONFIG_DB: the snapshot is the last complete one
	lostAt     time.Time // when ports were lost last; zero: they are there, and rows as well
	inForce    *memory.InForce
	rejectedAt map[string]time.Time // rejected rows, by TABLE|key
	unsaid     []config.Rejection   // that are not logged: the snapshot is one before them
	shown      *config.Snapshot     // whose rejections Rejections returned last; nil: none

	log *slog.Logger
	now func() time.Time
}

// New returns the state before the first rows. The rows in force are kept in stateFile for the
// next process; "": they are not.
func New(configDB, stateDB *sonicdb.DB, stateFile string, log *slog.Logger, now func() time.Time) *State {
	return &State{
		configDB: configDB, stateDB: stateDB, rows: config.New(), rejectedAt: map[string]time.Time{},
		inForce: memory.NewInForce(stateFile, fmt.Sprintf("%s/%d", configDB.Address, configDB.ID)), log: log, now: now,
	}
}

// Run writes the rows in force to their file until ctx ends.
func (s *State) Run(ctx context.Context) error { return s.inForce.Run(ctx) }

// Remove removes the file of the rows in force.
func (s *State) Remove() error { return s.inForce.Remove() }

// Warning returns why the rows in force are not kept; "": they are.
func (s *State) Warning() string { return s.inForce.Warning() }

// Settings returns those of the configuration in force; nil: Unread.
func (s *State) Settings() *settings.Settings {
	if s.settingsOf != s.snapshot {
		s.settings, s.settingsOf = settings.Of(s.snapshot), s.snapshot
	}
	return s.settings
}

// Phase returns the phase that CONFIG_DB is in.
func (s *State) Phase() Phase { return s.phase }

// edgeTime is how long a change that is refused at [sonicdb.Batch.Edge] waits for its writer.
const edgeTime = 20 * time.Millisecond

// loggedRows is how many rejected rows of one batch are logged.
const loggedRows = 100

// Kill puts the kill switch of a batch in force, with the rows in force before: it waits neither
// for the other changes to be judged nor for files. It reports whether there is something to do.
// [State.Apply] takes the batch after it.
func (s *State) Kill(b sonicdb.Batch) bool {
	if s.snapshot == nil || disabled(s.snapshot) || !slices.ContainsFunc(b.Changes, kills) {
		return false
	}
	now, global := *s.snapshot, *s.snapshot.Global
	global.AdminState = config.Disabled
	now.Global = &global
	s.snapshot = &now
	return true
}

// kills reports whether a change sets the kill switch. It counts whatever else is in the row.
func kills(c sonicdb.Change) bool {
	return c.Row.Table == "SLUICE" && c.Row.Key == "global" && c.Row.Fields["admin_state"] == "disabled"
}

// Apply applies changes of CONFIG_DB, and returns when to act on them. Where all ports are lost
// SONiC is about to load CONFIG_DB again: until it has, the last complete snapshot stays in
// force, or nothing is done where there was none. A row that is refused while its writer may still be at
// it is no error yet.
func (s *State) Apply(ctx context.Context, b sonicdb.Batch) time.Duration {
	if s.phase == Unread {
		s.phase = s.phase.After(s.remember(ctx))
	}
	s.sonic = s.sonic || s.initialized(ctx, loaded)
	snapshot, rejected := s.rows.Apply(b.Changes)
	s.latest, s.unsaid = snapshot, append(s.unsaid, rejected...)
	if len(snapshot.SwitchPorts) == 0 && s.snapshot != nil && len(s.snapshot.SwitchPorts) > 0 && !disabled(snapshot) {
		if !s.phase.Unloaded() {
			s.log.Warn(NoPorts)
			s.lostAt = s.now()
		}
		s.phase = s.phase.After(PortsLost)
		if s.whole == nil {
			return untilAChange
		}
		s.snapshot = s.whole
		return 0
	}
	if s.held = s.phase == Steady && !disabled(snapshot) && s.sonic && !s.initialized(ctx, loaded) && !s.expired(); s.held {
		if s.lostAt.IsZero() {
			s.log.Warn(Emptied)
			s.lostAt = s.now()
		}
		return SettleTime
	}
	if b.Edge && s.phase == Steady && len(rejected) > 0 && len(s.unsaid) == len(rejected) {
		return edgeTime
	}
	s.takeLatest()
	s.phase = s.phase.After(PortsBack)
	delay := s.phase.delay(s.rows.Complete(), func() bool { return s.initialized(ctx, loaded) })
	if delay == 0 {
		s.inForce.Keep(s.rows.Known())
	}
	if s.phase == Steady {
		s.whole = s.snapshot
	}
	return delay
}

// takeLatest has the snapshot of the rows as they are, and logs those that are refused and were not written
// again since.
func (s *State) takeLatest() {
	s.snapshot = s.latest
	rejected := slices.DeleteFunc(s.unsaid, func(r config.Rejection) bool {
		i, there := slices.BinarySearchFunc(s.snapshot.Rejections, r, config.ByName)
		return !there || s.snapshot.Rejections[i] != r
	})
	s.unsaid = nil
	for i := range rejected {
		if i < loggedRows {
			s.log.Warn("row rejected", "error", &rejected[i])
		}
		s.rejectedAt[name(&rejected[i])] = s.now()
	}
	if more := len(rejected) - loggedRows; more > 0 {
		s.log.Warn("more rows are not in force: SLUICE_CONFIG_ERROR of STATE_DB has them", "rows", more)
	}
}

// remember reads which rows an earlier process held in force: from the state file,
// and those of which CONFIG_DB had other versions from STATE_DB.
func (s *State) remember(ctx context.Context) Event {
	known := s.inForce.Read(func(err error) { s.log.Warn("rows that were in force before cannot be read", "error", err) })
	s.rows.Remember(known)
	errs, err := s.stateDB.Read(ctx, telemetry.TableConfigError)
	if err != nil {
		s.log.Warn("cannot read the last good rows of an earlier process", "error", err)
	}
	s.rows.Remember(telemetry.LastGood(errs))
	if len(known) == 0 {
		if objects, err := s.stateDB.Read(ctx, telemetry.TableObject); err != nil || len(objects) > 0 {
			return FirstRowsBlind
		}
	}
	return FirstRows
}

// disabled reports whether a row disables Sluice: that is carried out at once.
func disabled(s *config.Snapshot) bool { return s.Global.AdminState == config.Disabled }

// Loading reports whether SONiC is loading CONFIG_DB, or has emptied it, and rows are missing.
func (s *State) Loading(ctx context.Context) bool {
	if !s.phase.incomplete() || s.rows.Complete() || disabled(s.snapshot) || s.expired() {
		return false
	}
	return s.initialized(ctx, notLoaded) || s.sonic && !s.initialized(ctx, loaded)
}

// expired reports whether CONFIG_DB lost its rows too long ago to be waited for.
func (s *State) expired() bool {
	return !s.lostAt.IsZero() && s.now().Sub(s.lostAt) >= longestLoading
}

// GiveUp has the rows in force as they are where CONFIG_DB is loaded again, or lost its rows too long ago: objects that
// they do not ask for are removed from the switch. It returns in how long to call it again; an hour: a change
// comes first.
func (s *State) GiveUp(ctx context.Context) time.Duration {
	back := s.held && s.initialized(ctx, loaded)
	switch {
	case !s.held && (!s.phase.Unloaded() || s.lostAt.IsZero()):
		return untilAChange
	case !back && !s.expired() && s.held:
		return SettleTime
	case !back && !s.expired():
		return longestLoading - s.now().Sub(s.lostAt)
	case !back && s.snapshot != s.latest:
		s.log.Warn("CONFIG_DB was not loaded again: removing objects from the switch", "after", longestLoading)
	}
	if s.held {
		s.held, s.whole = false, s.latest
		s.inForce.Keep(s.rows.Known())
	}
	if back {
		s.lostAt = time.Time{}
	}
	s.takeLatest()
	return untilAChange
}

// initialized reports whether CONFIG_DB_INITIALIZED has a value; where Redis fails it is false.
func (s *State) initialized(ctx context.Context, want string) bool {
	value, err := s.configDB.Text(ctx, initialized)
	return err == nil && value == want
}

// Confirm is called before the snapshot is acted on: while CONFIG_DB has ports it counts as
// complete from now on, and a row that was refused at [sonicdb.Batch.Edge] is written.
func (s *State) Confirm() {
	if len(s.unsaid) > 0 && s.phase == Steady && !s.held {
		s.takeLatest()
		s.whole = s.snapshot
		s.inForce.Keep(s.rows.Known())
	}
	if s.phase.incomplete() && !s.phase.Unloaded() {
		s.phase = s.phase.After(Complete)
		s.whole = s.snapshot
		s.lostAt = time.Time{}
		s.rows.Forget()
		s.inForce.Keep(s.rows.Known())
	}
}

// Kept returns once the rows in force are in their file, 100 ms after they came into force at the latest.
// Call it before others see objects of them.
func (s *State) Kept() { s.inForce.Wait() }
