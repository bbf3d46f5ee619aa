package orchagent

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/yang/rows"
)

// statusTables say in STATE_DB what became of rows of CONFIG_DB. Types of ACL
// tables have none: what is wrong with one shows at its table.
var statusTables = map[string]string{
	"ACL_TABLE":      "ACL_TABLE_TABLE",
	"ACL_RULE":       "ACL_RULE_TABLE",
	"MIRROR_SESSION": "MIRROR_SESSION_TABLE",
}

const (
	tableMirror = "MIRROR_SESSION"
	active      = "active"
	inactive    = "inactive"
	notSaid     = "orchagent does not say whether it took the row: not confirmed"
	lookAgain   = 10 * time.Millisecond
)

// errEnding says that the process ends while orchagent is waited for.
var errEnding = errors.New("sluiced ends, and orchagent has not said whether it took the row")

// wait lets orchagent work. It reports whether it is to be waited for any longer.
func (d *Driver) wait(deadline time.Time) bool {
	select {
	case <-d.ending:
		return false
	case <-time.After(lookAgain):
		return time.Now().Before(deadline)
	}
}

// status is what orchagent says of a row, in lower case, "" where nothing.
func (d *Driver) status(r rows.Row) (string, error) {
	fields, err := getOne(d.state, rows.Row{Table: statusTables[r.Table], Key: r.Key})
	return strings.ToLower(fields["status"]), err
}

// confirm waits until orchagent says that it took a row. The error says that it
// did not. Where it says nothing of ACLs, as releases before 202205 do, that is
// noted and the row stands.
func (d *Driver) confirm(r rows.Row) error {
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
		if r.Table != tableMirror && (said == inactive || said == "" && d.silent) {
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
	case said == inactive:
		return fmt.Errorf("orchagent took %s and says it is inactive; its log says why", r.Name())
	case r.Table == tableMirror && said == "":
		return fmt.Errorf("orchagent did not take %s within %v; no release up to 202605 mirrors to the CPU", r.Name(), d.patience)
	case said == "":
		d.silent = true
		d.notes[r.Name()] = notSaid
	default:
		d.notes[r.Name()] = fmt.Sprintf("orchagent says %q", said)
	}
	return nil
}

// look notes what orchagent says now of a row that stands.
func (d *Driver) look(r rows.Row) error {
	if statusTables[r.Table] == "" {
		return nil
	}
	said, err := d.status(r)
	switch {
	case err != nil:
		return err
	case said == active:
		delete(d.notes, r.Name())
	case said == "":
		d.notes[r.Name()] = notSaid
	default:
		d.notes[r.Name()] = fmt.Sprintf("orchagent says %q", said)
	}
	return nil
}

// awaitGone waits until orchagent has removed what stood for a row, since it
// ignores, or mixes up, a new row of that name before. It does not wait for ever:
// an orchagent that is down says nothing.
func (d *Driver) awaitGone(r rows.Row) {
	delete(d.leaving, r.Name())
	if statusTables[r.Table] == "" {
		return
	}
	for deadline := time.Now().Add(d.patience); ; {
		if said, err := d.status(r); err == nil && said == "" || !d.wait(deadline) {
			return
		}
	}
}
