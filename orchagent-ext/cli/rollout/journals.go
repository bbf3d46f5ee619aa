// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"

	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/host/files"
	"sluice/yang/text"
)

// Journals is a folder with the journals of switches, a file each: the rows that the last changes
// by `sluice config --target` from this machine replaced. The journal of `sluice config` on a switch itself
// is another one.
type Journals struct {
	Folder string
	held   map[string]*settings.Journal // those that were replaced, by endpoint
}

// file is the file of a switch.
func (j *Journals) file(endpoint string) string {
	return filepath.Join(j.Folder, url.PathEscape(endpoint)+".json")
}

// Lock keeps other commands from the journals of switches until unlock, which is always set.
func (j *Journals) Lock(ctx context.Context, endpoints []string) (unlock func(), err error) {
	var held []func()
	unlock = func() {
		for _, f := range held {
			f()
		}
	}
	all := slices.Sorted(slices.Values(endpoints)) // in one order, or two commands wait for each other
	for _, endpoint := range slices.Compact(all) {
		f, err := settings.LockJournal(ctx, j.file(endpoint))
		held = append(held, f)
		if err != nil {
			return unlock, err
		}
	}
	return unlock, nil
}

// Read returns the journal of a switch; one that is missing is empty.
func (j *Journals) Read(endpoint string) (*settings.Journal, error) {
	known := &settings.Journal{}
	if err := files.ReadState(j.file(endpoint), known); err != nil {
		return nil, fmt.Errorf("read journal: %w", err)
	}
	return known, nil
}

// Keep writes the next journals of the switches of a plan; nil: it stays as it is. After an error all are as
// they were.
func (j *Journals) Keep(p *Plan, next func(s *Switch, known *settings.Journal) *settings.Journal) error {
	j.held = map[string]*settings.Journal{}
	for _, s := range p.Switches {
		if err := j.keep(s, next); err != nil {
			return errors.Join(fmt.Errorf("the journal of %s: %w", text.Printable(s.Name), err), j.back(p, func(*Switch) bool { return true }))
		}
	}
	return nil
}

// keep is Keep of one switch.
func (j *Journals) keep(s *Switch, next func(s *Switch, known *settings.Journal) *settings.Journal) error {
	old, err := j.Read(s.Endpoint)
	if err != nil {
		return err
	}
	known, err := j.Read(s.Endpoint) // which next may change
	if err != nil {
		return err
	}
	if known = next(s, known); known == nil {
		return nil
	}
	if err := files.WriteState(j.file(s.Endpoint), known); err != nil {
		return err
	}
	j.held[s.Endpoint] = old
	return nil
}

// Settle puts the journals back of the switches that are as they were before. One that had nothing to do is
// where a change of the others that is done has it, too.
func (j *Journals) Settle(p *Plan) error {
	done := []Result{Written, Unchanged}
	if slices.ContainsFunc(p.Switches, func(s *Switch) bool { return !slices.Contains(done, s.Result) }) {
		done = []Result{Written, Left, Unknown}
	}
	return j.back(p, func(s *Switch) bool { return !slices.Contains(done, s.Result) })
}

// back puts the journals back that Keep replaced, of the switches of which is true.
func (j *Journals) back(p *Plan, which func(*Switch) bool) error {
	var errs []error
	for _, s := range p.Switches {
		if old := j.held[s.Endpoint]; old != nil && which(s) {
			errs = append(errs, files.WriteState(j.file(s.Endpoint), old))
		}
	}
	return errors.Join(errs...)
}
