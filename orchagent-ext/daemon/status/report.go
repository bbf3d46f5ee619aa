// SPDX-License-Identifier: Apache-2.0

package status

import (
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
func (r *Report) Encode(e *Encoder) []rows.Row {
	r.Row.Warnings = telemetry.Text(strings.Join(r.warnings, "; "))
	rows.SetEnum(&r.Row.State, r.State)
	rows.SetEnum(&r.Row.FlowLabel, r.FlowLabel)
	return e.Encode(&r.Row)
}

// Encoder makes rows of structs of the state model. It logs the structs that it cannot
// encode. It is for one goroutine.
type Encoder struct {
	Log  *slog.Logger
	last error // logged last
}

// Err returns the error that was logged last; nil where there was none.
func (e *Encoder) Err() error { return e.last }

// Encode returns the rows of structs. It leaves out a struct that no row can hold, since
// its name has a separator of keys.
func (e *Encoder) Encode(all ...ygot.GoStruct) []rows.Row {
	encoded := make([]rows.Row, 0, len(all))
	for _, s := range all {
		row, err := rows.Encode(s)
		if err != nil {
			e.Unwritten(err)
			continue
		}
		encoded = append(encoded, row)
	}
	return encoded
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
