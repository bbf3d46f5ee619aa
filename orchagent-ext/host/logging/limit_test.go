// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestStormOfOneMessageIsLimited: of one message a minute has 300 lines; other messages are not touched by
// it, and what was left out is told.
func TestStormOfOneMessageIsLimited(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	log := slog.New(limit(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}), func() time.Time { return now }))
	lines := func() int { n := strings.Count(out.String(), "\n"); out.Reset(); return n }
	for i := range 1000 {
		log.With("peer", i).WithGroup("a").Warn("client refused", "why", i) // one message, from any peer
	}
	if n := lines(); n != most {
		t.Errorf("%d lines of a storm, want %d", n, most)
	}
	for range 1000 {
		log.Debug("client refused")
	}
	if n := lines(); n != 1000 {
		t.Errorf("%d lines for debugging, want all", n)
	}
	log.Info("listening")
	if n := lines(); n != 1 {
		t.Errorf("%d lines of another message", n)
	}
	now = now.Add(interval)
	log.Warn("client refused")
	log.Warn("client refused")
	if text := out.String(); strings.Count(text, "left_out_before=700\n") != 1 || lines() != 2 {
		t.Errorf("%q", text)
	}
	for i := range 3 * mostMessages {
		log.Info(fmt.Sprint("message ", i))
	}
	if n := lines(); n != 3*mostMessages {
		t.Errorf("%d lines of as many messages as %d", n, 3*mostMessages)
	}
	if n := len(log.Handler().(limited).counts.all); n > mostMessages {
		t.Errorf("%d messages are counted, want at most %d", n, mostMessages)
	}
}
