// SPDX-License-Identifier: Apache-2.0

// Package logging is how the daemons log: as text, or to syslog. The content of lines is
// the caller's.
package logging

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"log/syslog"
	"time"

	"sluice/yang/text"
)

// New returns a log of lines of at least a level: as text to w, or to the local syslog
// under the daemon's name, by which SONiC files its lines (sluice#sluiced). A message has
// at most [most] lines a minute. An error means that syslog's socket is missing.
func New(w io.Writer, daemon string, level slog.Level, toSyslog bool) (*slog.Logger, error) {
	if !toSyslog {
		return slog.New(limit(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: cut}), time.Now)), nil
	}
	out, err := syslog.New(syslog.LOG_DAEMON|syslog.LOG_INFO, daemon)
	if err != nil {
		return nil, fmt.Errorf("connect to syslog: %w", err)
	}
	at := func(write func(string) error) slog.Handler {
		return slog.NewTextHandler(writer(write), &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime})
	}
	return slog.New(limit(severities{at(out.Debug), at(out.Info), at(out.Warning), at(out.Err)}, time.Now)), nil
}

// withoutTime drops the time, which syslog writes itself.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
		return slog.Attr{}
	}
	return cut(groups, a)
}

// longest is the longest value of a line of the log, in octets: texts of others that
// errors quote cannot fill the disk.
const longest = 4096

// cut shortens a value that is too long, and appends its length.
func cut(_ []string, a slog.Attr) slog.Attr {
	value := ""
	switch v := a.Value.Any().(type) {
	case string:
		value = v
	case error:
		value = v.Error()
	case fmt.Stringer:
		value = v.String()
	}
	if len(value) > longest {
		a.Value = slog.StringValue(text.Cut(value, longest))
	}
	return a
}

// writer is a function of syslog for one severity.
type writer func(string) error

// Write implements [io.Writer] with one line a call.
func (w writer) Write(b []byte) (int, error) { return len(b), w(string(b)) }

// severities has a handler for each severity of syslog that is used: debug,
// info, warning, error.
type severities [4]slog.Handler

// of returns the handler of a level's severity.
func (s severities) of(l slog.Level) slog.Handler {
	switch {
	case l < slog.LevelInfo:
		return s[0]
	case l < slog.LevelWarn:
		return s[1]
	case l < slog.LevelError:
		return s[2]
	}
	return s[3]
}

// Enabled implements [slog.Handler].
func (s severities) Enabled(ctx context.Context, l slog.Level) bool { return s.of(l).Enabled(ctx, l) }

// Handle implements [slog.Handler].
func (s severities) Handle(ctx context.Context, r slog.Record) error {
	return s.of(r.Level).Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (s severities) WithAttrs(attrs []slog.Attr) slog.Handler {
	for i := range s {
		s[i] = s[i].WithAttrs(attrs)
	}
	return s
}

// WithGroup implements [slog.Handler].
func (s severities) WithGroup(name string) slog.Handler {
	for i := range s {
		s[i] = s[i].WithGroup(name)
	}
	return s
}
