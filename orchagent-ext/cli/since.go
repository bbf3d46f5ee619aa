// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"time"
)

// sinceFlag is the time from which on packets are shown: as RFC 3339 has it, or a span after
// the first packet, from which the column TIME counts. The zero value is the beginning.
type sinceFlag struct {
	at    time.Time
	after time.Duration
}

// Set implements [pflag.Value].
func (f *sinceFlag) Set(s string) error {
	after, err := time.ParseDuration(s)
	if err == nil && after >= 0 {
		*f = sinceFlag{after: after}
		return nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return fmt.Errorf("%q is no time, such as 2026-11-23T10:00:00Z, or a span after the first packet, such as 1.5s", s)
	}
	*f = sinceFlag{at: at}
	return nil
}

// String implements [pflag.Value].
func (f *sinceFlag) String() string {
	if f.at.IsZero() {
		return f.after.String()
	}
	return f.at.Format(time.RFC3339Nano)
}

// Type implements [pflag.Value].
func (f *sinceFlag) Type() string { return "time" }

// from returns the time from which on packets are shown; start is that of the first one.
func (f *sinceFlag) from(start time.Time) time.Time {
	if f.at.IsZero() {
		return start.Add(f.after)
	}
	return f.at
}
