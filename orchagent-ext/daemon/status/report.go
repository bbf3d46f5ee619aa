// SPDX-License-Identifier: Apache-2.0

package status

import (
	"iter"
	"log/slog"
	"strings"

	"github.com/openconfig/ygot/ygot"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/yang/rows"
)

// Report is SLUICE_STATE|global while the parts of the daemon put it together.
type Report struct {
	Row       telemetry.State
	State     string // telemetry.Starting and its siblings
	FlowLabel string // telemetry.Inactive and its siblings
	warnings  []string
}

// Warn adds warnings to the operator. Empty texts are left out.
func (r *Report) Warn(texts ...string) {
	for _, text := range texts {
		if text != "" {
			r.warnings = append(r.warnings, text)
		}
	}
}

// Warned reports whether there is a warning.
func (r *Report) Warned() bool { return len(r.warnings) > 0 }

// Judge sets the state: disabled once the kill switch has taken all objects off the switch,
// whatever the warnings are; else degraded where something failed or warns.
func (r *Report) Judge(disabled bool, failed error, objects int) {
	switch {
	case disabled && failed == nil && objects == 0:
		r.State = telemetry.Disabled
	case disabled, failed != nil, r.Warned():
		r.State = telemetry.Degraded
	default:
		r.State = telemetry.Running
	}
}

// Encode returns the row of the report, by an encoder.
func (r *Report) Encode(e *Encoder) iter.Seq[rows.Row] {
	r.Row.Warnings = telemetry.Text(strings.Join(r.warnings, "; "))
	rows.SetEnum(&r.Row.State, r.State)
	rows.SetEnum(&r.Row.FlowLabel, r.FlowLabel)
	return e.Encode(&r.Row)
}

// Encoder makes rows of structs of the state model. It logs the structs that it cannot
// encode. It is for one goroutine.
type Encoder struct {
	Log    *slog.Logger
	last   error             // logged last
	fields map[string]string // of the row that was encoded last
}

// Err returns the error that was logged last; nil where there was none.
func (e *Encoder) Err() error { return e.last }

// Encode returns the rows of structs. It leaves out a struct that no row can hold, since
// its name has a separator of keys. The fields of a row hold until the next row.
func (e *Encoder) Encode(all ...ygot.GoStruct) iter.Seq[rows.Row] {
	if e.fields == nil {
		e.fields = map[string]string{}
	}
	return func(yield func(rows.Row) bool) {
		for _, s := range all {
			row, err := rows.EncodeInto(e.fields, s)
			if err != nil {
				e.Unwritten(err)
				continue
			}
			if !yield(row) {
				return
			}
		}
	}
}

// Fill sets a leaf of a struct by the leaf's name in the model.
func (e *Encoder) Fill(s ygot.GoStruct, leaf, value string) {
	if err := rows.Set(s, leaf, value); err != nil {
		e.Unwritten(err)
	}
}

// Unwritten logs why something is missing in the databases; the same error in a row once.
func (e *Encoder) Unwritten(err error) {
	if e.last == nil || e.last.Error() != err.Error() {
		e.Log.Warn("cannot write a row", "error", err)
	}
	e.last = err
}
