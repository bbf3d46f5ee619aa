// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"log/slog"
	"time"
)

// failure is why the switch is other than configured, and when to try again. The zero value: it is
// as configured.
type failure struct {
	err   error // nil: the configuration is in force
	at    time.Time
	pause time.Duration // before the next attempt; 0 while the configuration is in force
}

// record remembers a failure for STATE_DB and logs it, once where it stays; nil: it is over.
func (f *failure) record(err error, now time.Time, log *slog.Logger) {
	if err == nil {
		*f = failure{}
		return
	}
	if f.err == nil || f.err.Error() != err.Error() {
		log.Error("reconciliation failed, retrying", "error", err)
	}
	f.err, f.at = err, now
}

// backoff returns when to try again: in an hour, while all is well.
func (f *failure) backoff() time.Duration {
	if f.err == nil {
		return time.Hour
	}
	f.pause = min(max(2*f.pause, firstRetry), lastRetry)
	return f.pause
}
