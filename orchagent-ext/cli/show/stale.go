// SPDX-License-Identifier: Apache-2.0

package show

import (
	"fmt"
	"time"

	"sluice/orchagent-ext/db/telemetry"
)

// StaleError is that sluiced gives no sign of life any more: it was killed, or the machine
// was. What it wrote is as of then. The zero value is that it does not run: it has not been
// started, or it ended in order.
type StaleError struct {
	Since string // time of the last sign, as sluiced wrote it
	Age   time.Duration
}

// Error has for how long sluiced has been silent.
func (e *StaleError) Error() string {
	if e.Since == "" {
		return "not running: \"config feature state sluice enabled\" starts sluiced on SONiC, \"systemctl start sluiced\" elsewhere"
	}
	return fmt.Sprintf("stale: sluiced gave its last sign of life %v ago, at %s; all else that is shown is as of then", e.Age.Round(time.Second), e.Since)
}

// Err returns e as an error; nil for a nil e.
func (e *StaleError) Err() error {
	if e == nil {
		return nil
	}
	return e
}

// Stale returns how long sluiced has been silent by the fields of SLUICE_STATE|global; nil
// where it is alive, or does not run.
func Stale(state map[string]string, now time.Time) *StaleError {
	at, err := time.Parse(time.RFC3339, state["alive"])
	if err != nil || now.Sub(at) <= telemetry.Silence {
		return nil
	}
	return &StaleError{Since: state["alive"], Age: now.Sub(at)}
}
