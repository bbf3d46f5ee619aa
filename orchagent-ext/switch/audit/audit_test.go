// SPDX-License-Identifier: Apache-2.0

package audit_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"sluice/orchagent-ext/switch/audit"
	sai "sluice/sai-shim"
)

// system is a system below a switch: missing parts, and those that were put back.
type system struct {
	clock  *time.Time
	costs  time.Duration // of an audit
	drifts []sai.Drift
	fails  error // of Mend
	audits int
	mended []sai.Drift
}

func (s *system) Audit() ([]sai.Drift, error) {
	s.audits++
	*s.clock = s.clock.Add(s.costs)
	return slices.Clone(s.drifts), nil
}

func (s *system) Mend(d sai.Drift) error {
	if s.fails == nil {
		s.mended, s.drifts = append(s.mended, d), nil
	}
	return s.fails
}

type unsupported struct{}

func (unsupported) Audit() ([]sai.Drift, error) { return nil, sai.ErrNotSupported }
func (unsupported) Mend(sai.Drift) error        { return sai.ErrNotSupported }

var gone = sai.Drift{Part: "clsact", Place: "Ethernet0", Fault: "the qdisc is gone", Mendable: true}

// newAuditor returns an auditor, its system, and its log.
func newAuditor(t *testing.T) (*audit.Auditor, *system, *strings.Builder) {
	t.Helper()
	now, log := time.Unix(1000, 0), &strings.Builder{}
	s := &system{clock: &now}
	a := audit.New(s, slog.New(slog.NewTextHandler(log, nil)), func() time.Time { return now })
	t.Cleanup(a.Close)
	return a, s, log
}

// TestAuditorPutsBack: a part that is gone is put back at once, logged, shown and counted.
func TestAuditorPutsBack(t *testing.T) {
	a, s, log := newAuditor(t)
	s.drifts = []sai.Drift{gone}
	a.Look(true)
	if len(s.mended) != 1 || s.mended[0] != gone {
		t.Errorf("put back %v", s.mended)
	}
	if texts := a.Texts(); len(texts) != 1 || !strings.HasPrefix(texts[0], "clsact Ethernet0: the qdisc is gone") {
		t.Errorf("texts %q", texts)
	}
	if found, put := a.Counts(); found != 1 || put != 1 {
		t.Errorf("%d found, %d put back", found, put)
	}
	for _, want := range []string{`part="clsact Ethernet0"`, "put back"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
}

// TestAuditorWritesNothingDuringAWait: it reads, and puts back afterward.
func TestAuditorWritesNothingDuringAWait(t *testing.T) {
	a, s, _ := newAuditor(t)
	s.drifts = []sai.Drift{gone}
	for range 3 {
		a.Look(false)
		*s.clock = s.clock.Add(time.Second)
	}
	if len(s.mended) > 0 || len(a.Texts()) != 1 {
		t.Errorf("put back %v, texts %q", s.mended, a.Texts())
	}
	a.Look(true)
	if len(s.mended) != 1 {
		t.Error("not put back after the wait")
	}
}

// TestAuditorTakesOnePercent: audits take at most that of the time, however much news there is.
func TestAuditorTakesOnePercent(t *testing.T) {
	a, s, _ := newAuditor(t)
	s.audits, s.costs = 0, 5*time.Millisecond
	for range 10_000 { // each ms a piece of news
		a.Look(true)
		*s.clock = s.clock.Add(time.Millisecond)
	}
	if s.audits < 10 || s.audits > 21 {
		t.Errorf("%d audits of 5 ms in 10 s", s.audits)
	}
	s.audits, s.costs = 0, 200*time.Millisecond // of which most are a wait
	for end := s.clock.Add(11 * time.Second); s.clock.Before(end); *s.clock = s.clock.Add(10 * time.Millisecond) {
		a.Look(true)
	}
	if s.audits < 10 {
		t.Errorf("%d audits of 200 ms in 11 s", s.audits)
	}
}

// TestAuditorSaysOnceWhyItFails: a repair that fails stays in the warnings, and is in the log once.
func TestAuditorSaysOnceWhyItFails(t *testing.T) {
	a, s, log := newAuditor(t)
	s.drifts, s.fails = []sai.Drift{gone}, errors.New("device is busy")
	for range 5 {
		a.Look(true)
		*s.clock = s.clock.Add(time.Second)
	}
	if n := strings.Count(log.String(), "device is busy"); n != 1 {
		t.Errorf("%d lines about it:\n%s", n, log)
	}
	if w := a.Warnings(); len(w) != 1 || !strings.Contains(w[0], "device is busy") {
		t.Errorf("warnings %q", w)
	}
}

// TestNoAuditor: a switch without a system, and a library without audits, have a nil auditor, whose methods
// are idle.
func TestNoAuditor(t *testing.T) {
	for _, s := range []audit.System{nil, unsupported{}} {
		a := audit.New(s, slog.New(slog.DiscardHandler), time.Now)
		a.Look(true)
		if a != nil || a.Texts() != nil || a.Warnings() != nil || a.News() != nil {
			t.Errorf("an auditor of %T", s)
		}
		a.Close()
	}
}
