// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// orchagent's states of a row, in lower case.
const (
	active    = "active"
	inactive  = "inactive"
	noRoomYet = "pending creation" // SAI refused, it is tried again
)

// answers are those of orchagent about rows.
type answers struct {
	db              *store
	log             *slog.Logger
	patience, pause time.Duration
	ending          <-chan struct{} // closed: orchagent is waited for no more

	refused map[string]refusal     // by row, refused by orchagent
	silent  bool                   // orchagent does not answer for ACLs: a release older than that
	notes   map[string]string      // by row, notes for the operator
	meets   map[string]engine.Need // by row, the need whose method it makes
	leaving map[string]leave       // rows that were removed, and maybe still to come by orchagent
}

// leave is the removal of a row.
type leave struct {
	row  rows.Row
	at   time.Time
	late bool // that orchagent has not removed its object was logged
}

// lingering returns the rows that orchagent or syncd was to remove long ago, and has not: what they made is
// there. Those that have gone since the last call are logged.
func (d *answers) lingering(now time.Time) (all []string) {
	removed := 0
	for _, key := range slices.Sorted(maps.Keys(d.leaving)) {
		is := d.leaving[key]
		switch gone, err := d.gone(is.row); {
		case err != nil:
		case gone:
			delete(d.leaving, key)
			removed++
		case now.Sub(is.at) > d.patience:
			all = append(all, key+": "+is.fault())
			if !is.late {
				d.log.Warn(is.fault(), "row", key, "after", d.patience)
				is.late = true
				d.leaving[key] = is
			}
		}
	}
	if removed > 0 {
		d.log.Info("what was handed over is gone", "removed", removed)
	}
	return all
}

// fault is the warning about a removal that is late.
func (l leave) fault() string {
	if inOrder(l.row.Table) {
		return "syncd has not removed it: counters of queues are still read"
	}
	return "orchagent has not removed it: its entries are still on the switch"
}

// notSaid is the warning about a row that orchagent has neither taken nor refused.
const notSaid = "orchagent does not say whether it took the row: not confirmed"

// lookAgain is the interval between readings of STATE_DB while a row waits for orchagent.
const lookAgain = 10 * time.Millisecond

// errEnding means that the process ends while it waits for orchagent.
var errEnding = errors.New("sluiced ends, and orchagent has not said whether it took the row")

// wait lets orchagent work. It reports whether it is to be waited for any longer.
func (d *answers) wait(deadline time.Time) bool {
	select {
	case <-d.ending:
		return false
	case <-time.After(lookAgain):
		return time.Now().Before(deadline)
	}
}

// status returns orchagent's state of a row, in lower case, or "". The state of a row
// that it has yet to take is that of the row before.
func (d *answers) status(r rows.Row) (string, error) {
	if waits, err := d.db.waits(r); waits || err != nil {
		return "", err
	}
	fields, err := getOne(d.db.state, rows.Row{Table: statusTables[r.Table], Key: keyAs(r)})
	return strings.ToLower(fields["status"]), err
}

// confirm waits until orchagent reports that it took a row; an error is its refusal.
// Where it has yet to take the row, or is silent about rules, confirm records a warning
// and the row stays. A table that it took and has not made, and a table or a rule above the switch's room, is taken back, and tried again by this
// driver: a task that waits fails the check before a warm restart (OrchDaemon::warmRestartCheck), orchagent
// tries a table some ten times a second, and a rule maybe only when another of the table goes
// (AclOrch::doAclRuleTask, RETRY_CST_SAI_RESOURCE).
func (d *answers) confirm(r rows.Row) error {
	if statusTables[r.Table] == "" {
		return nil
	}
	said := ""
	for deadline := time.Now().Add(d.patience); ; {
		now, err := d.status(r)
		switch {
		case err == nil && now == active:
			d.silent = d.silent && r.Table == tableMirror
			delete(d.notes, r.Name())
			return nil
		case err == nil:
			said = now
		}
		if r.Table != tableMirror && (said == inactive || said == noRoomYet || said == "" && d.silent && r.Table != tableACL) {
			break
		}
		if !d.wait(deadline) {
			break
		}
	}
	select {
	case <-d.ending:
		return errEnding
	default:
	}
	switch {
	case said == noRoomYet:
		return errNoRoom(r)
	case said == inactive:
		return fmt.Errorf("orchagent took %s and says it is inactive; its log says why", r.Name())
	case r.Table == tableMirror && said == "":
		return fmt.Errorf("orchagent did not take %s within %v; no release up to 202605 mirrors to the CPU", r.Name(), d.patience)
	case said == "" && r.Table == tableACL:
		if waits, err := d.db.waits(r); err == nil && !waits { // as one whose type orchagent refused
			return fmt.Errorf("orchagent took %s and has not made it within %v; its log says why", r.Name(), d.patience)
		}
		d.notes[r.Name()] = notSaid
	case said == "":
		d.silent = true
		fallthrough
	default:
		d.notes[r.Name()] = noteOf(said)
	}
	return nil
}

// noteOf returns the warning for a state of orchagent.
func noteOf(said string) string {
	if said == "" {
		return notSaid
	}
	return fmt.Sprintf("orchagent says %q", said)
}

// check records orchagent's present state of a row in force, and reports whether the switch has no
// longer room for it.
func (d *answers) check(r rows.Row) (full bool, err error) {
	if statusTables[r.Table] == "" {
		return false, nil
	}
	said, err := d.status(r)
	switch {
	case err != nil:
		return false, err
	case said == noRoomYet:
		return true, nil
	case said == active:
		delete(d.notes, r.Name())
	default:
		d.notes[r.Name()] = noteOf(said)
	}
	return false, nil
}

// errNoRoom is the refusal of a row for want of room.
func errNoRoom(r rows.Row) error { return fmt.Errorf("the switch has no room for %s", r.Name()) }

// awaitGone waits until orchagent has removed the object of a row, since it takes a new
// row of that name for a change, and ignores it where it is a type of ACL tables or a
// session (addAclTableType, MirrorOrch::createEntry). The wait is bounded: an orchagent
// that is down is silent, and the result false.
func (d *answers) awaitGone(r rows.Row) bool {
	delete(d.leaving, r.Name())
	for deadline := time.Now().Add(d.patience); ; {
		if gone, err := d.gone(r); err == nil && gone || !d.wait(deadline) {
			return err == nil && gone
		}
	}
}

// gone reports whether orchagent has removed the object of a row.
func (d *answers) gone(r rows.Row) (bool, error) {
	waits, err := d.db.waits(r)
	if waits || err != nil || statusTables[r.Table] == "" {
		return !waits, err
	}
	said, err := d.status(r)
	return said == "", err
}
