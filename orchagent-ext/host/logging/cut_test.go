// SPDX-License-Identifier: Apache-2.0

package logging

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
)

// TestLongValuesAreCut: whatever kind a value is of, a line has its beginning and says
// how long it was.
func TestLongValuesAreCut(t *testing.T) {
	long := strings.Repeat("x", 10<<20)
	for name, value := range map[string]any{"string": long, "error": errors.New(long), "Stringer": bytes.NewBufferString(long)} {
		var out bytes.Buffer
		log, err := New(&out, "test", slog.LevelInfo, false)
		if err != nil {
			t.Fatal(err)
		}
		log.With("with", value).WithGroup("group").Warn("a row is not in force", "why", value)
		if n := out.Len(); n > 3*longest || strings.Count(out.String(), "x… (10485760 bytes)") != 2 {
			t.Errorf("%s: a line of %d octets: %.100s", name, n, out.String())
		}
		out.Reset()
		log.Warn("short", "why", "a row", "error", errors.New("an error"), "n", 5)
		if !strings.HasSuffix(out.String(), "msg=short why=\"a row\" error=\"an error\" n=5\n") {
			t.Errorf("%s", out.String())
		}
	}
}
