// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"errors"
	"log/slog"
	"time"

	"sluice/orchagent-ext/switch/drift"
	sai "sluice/sai-shim"
)

// System is the system below a switch.
type System interface {
	// Audit returns the parts that are other than Sluice made them, and only reads.
	// [sai.ErrNotSupported]: it lacks the ability.
	Audit() ([]sai.Drift, error)

	// Mend puts a part back that Audit returned.
	Mend(d sai.Drift) error
}

// The pause after an audit is so many times as long as the audit was, within these limits: on a
// busy machine an audit waits more than it works.
const (
	share    = 100 // 1 %
	shortest = 100 * time.Millisecond
	longest  = 900 * time.Millisecond
)

// Auditor audits a system. A nil one is idle. It is for one goroutine.
type Auditor struct {
	system System
	log    *slog.Logger
	now    func() time.Time
	news   *news // nil: audits are each second alone
	judge  drift.Judge
	next   time.Time // the earliest begin of the next audit
	failed string    // why the last audit failed
}

// New returns an auditor of a system, which listens to netlink; nil for a nil system, and for one
// that lacks audits.
func New(s System, log *slog.Logger, now func() time.Time) *Auditor {
	if s == nil {
		return nil
	}
	if _, err := s.Audit(); errors.Is(err, sai.ErrNotSupported) {
		return nil
	}
	a := &Auditor{system: s, log: log, now: now}
	var err error
	if a.news, err = subscribe(); err != nil {
		log.Warn("changes of the system below the switch are found each second alone", "error", err)
	}
	return a
}

// Close ends the subscription to netlink.
func (a *Auditor) Close() {
	if a != nil && a.news != nil {
		a.news.close()
	}
}

// News has an element when something has changed that may be a part of the switch.
func (a *Auditor) News() <-chan struct{} {
	if a == nil || a.news == nil {
		return nil
	}
	return a.news.changed
}

// Look audits, unless the last audit was a moment ago, and puts missing parts back; with may
// false it only reads.
func (a *Auditor) Look(may bool) {
	if a == nil || a.now().Before(a.next) {
		return
	}
	began := a.now()
	drifts, err := a.system.Audit()
	ended := a.now()
	a.next = ended.Add(min(max(shortest, share*ended.Sub(began)), longest))
	if err != nil {
		if a.failed != err.Error() {
			a.log.Warn("the system below the switch cannot be audited", "error", err)
		}
		a.failed = err.Error()
		return
	}
	a.failed = ""
	found := make([]drift.Finding, len(drifts))
	for i, d := range drifts {
		found[i] = drift.Finding{Part: drift.Part{Kind: d.Part, Place: d.Place}, Fault: d.Fault, Mendable: d.Mendable}
		if a.news != nil {
			found[i].By = a.news.by(d.Place, began)
		}
	}
	news, mend := a.judge.Look(ended, found, may)
	for _, f := range news {
		a.log.Warn("a part of the switch is other than Sluice made it", "part", f.Part, "fault", f.Fault, "by", f.By)
	}
	for _, f := range mend {
		err := a.system.Mend(sai.Drift{Part: f.Kind, Place: f.Place, Fault: f.Fault, Mendable: true})
		switch changed := a.judge.Mended(a.now(), f.Part, err); {
		case err == nil:
			a.log.Info("put back", "part", f.Part)
		case changed:
			a.log.Warn("cannot be put back", "part", f.Part, "error", err)
		}
	}
}

// Texts describes each part that differs, or did in the last minutes.
func (a *Auditor) Texts() []string {
	if a == nil {
		return nil
	}
	return a.judge.Texts()
}

// Warnings are for the operator.
func (a *Auditor) Warnings() (all []string) {
	if a == nil {
		return nil
	}
	if a.failed != "" {
		all = append(all, "the system below the switch cannot be audited: "+a.failed)
	}
	return append(all, a.judge.Warnings()...)
}

// Counts returns how many losses of parts were found, and how many parts were put back.
func (a *Auditor) Counts() (found, put uint64) {
	if a == nil {
		return 0, 0
	}
	return a.judge.Counts()
}
