// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/tests/redistest"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/switch/engine"
	"sluice/yang/rows"
)

// copied reads what the next process finds, by key.
func copied(t *testing.T, rowsFile, database string) map[string]string {
	t.Helper()
	all, err := newLedgerCopy(rowsFile, database, slog.New(slog.DiscardHandler)).read()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, r := range all {
		got[r.Key] = r.Fields["label"]
	}
	return got
}

func copyRow(key, label string) rows.Row {
	return rows.Row{Table: telemetry.TableObject, Key: key, Fields: map[string]string{"label": label}}
}

func wantCopied(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The copy has what the ledger had when the process was killed, also in the middle of a
// line; one of another database or another boot is not used, and there is none where
// labels are not chosen.
func TestLedgerCopyOutlivesAKill(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluiced-rows.json")
	c := newLedgerCopy(file, "db", slog.New(slog.DiscardHandler))
	all := func() []rows.Row { return []rows.Row{copyRow("a", "1"), copyRow("b", "1")} }
	c.save(all(), all)
	wantCopied(t, "before it begins", copied(t, file, "db"), map[string]string{})
	c.begin(all)
	c.save([]rows.Row{{Table: telemetry.TableObject, Key: "a"}, copyRow("b", "2"), copyRow("c", "1")}, all)
	now := map[string]string{"b": "2", "c": "1"}
	wantCopied(t, "changed", copied(t, file, "db"), now)
	wantCopied(t, "of another database", copied(t, file, "other"), map[string]string{})

	whole, err := os.ReadFile(c.file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.file, append(whole, `{"Table":"SLUICE_ASIC_OBJECT","Key":"d","Fi`...), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCopied(t, "killed in a line", copied(t, file, "db"), now)
	if err := os.WriteFile(c.file, []byte(strings.Replace(string(whole), c.of.Boot, "earlier", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	wantCopied(t, "the machine started again", copied(t, file, "db"), map[string]string{})
	if err := os.WriteFile(c.file, append(whole, "junk\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.read(); err == nil || got != nil {
		t.Errorf("junk: %v, %v", got, err)
	}

	c.drop()
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	c.save([]rows.Row{copyRow("a", "1")}, all)
	wantCopied(t, "dropped", copied(t, file, "db"), map[string]string{})
}

// The file does not grow with each change, and one that cannot be written is told of.
func TestLedgerCopyIsBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluiced-rows.json")
	c := newLedgerCopy(file, "db", slog.New(slog.DiscardHandler))
	label := ""
	all := func() []rows.Row { return []rows.Row{copyRow("a", label)} }
	c.begin(all)
	for i := range 3 * leastLines {
		label = fmt.Sprint(i)
		c.save([]rows.Row{copyRow("a", label)}, all)
	}
	wantCopied(t, "many changes", copied(t, file, "db"), map[string]string{"a": label})
	if text, err := os.ReadFile(c.file); err != nil || strings.Count(string(text), "\n") > leastLines+4 {
		t.Errorf("%d lines, %v", strings.Count(string(text), "\n"), err)
	}
	c.close()
	bad := newLedgerCopy("/proc/no/sluiced-rows.json", "db", slog.New(slog.DiscardHandler))
	if bad.begin(all); !strings.Contains(bad.warning(), "cannot copy the ledger") {
		t.Errorf("warning %q", bad.warning())
	}
}

func TestLedgerIsThatOfTheCopyWhereRedisWasEmptied(t *testing.T) {
	db := redistest.Open(t, redistest.Databases(t), "STATE_DB")
	log := slog.New(slog.DiscardHandler)
	mirror := sonicdb.NewMirror(db, telemetry.TableObject, telemetry.TableFlow)
	l := NewLedger(mirror, filepath.Join(t.TempDir(), "sluiced-rows.json"), "db", func() {}, log)
	record := &engine.Record{Object: engine.Object{Key: "label/table", Type: engine.TypeACLTable}, ID: "oid:0x1"}
	row := rows.Row{Table: telemetry.TableObject, Key: "oid:0x1", Fields: record.Fields()}
	l.copy.begin(func() []rows.Row { return []rows.Row{row} })
	l.Close()
	left, err := l.Left(t.Context())
	if err != nil || len(left.Records) != 1 || left.Records[0].Key != "label/table" {
		t.Fatalf("%+v, %v", left, err)
	}
	if err := mirror.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	written, err := db.Read(t.Context(), telemetry.TableObject)
	if err != nil || len(written) != 1 || written[0].Key != "oid:0x1" {
		t.Errorf("%v, %v", written, err)
	}
	redistest.Write(t, db, rows.Row{Table: telemetry.TableObject, Key: "oid:0x2", Fields: record.Fields()})
	mirror.Delete(telemetry.TableObject, "oid:0x1")
	if err := mirror.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, err := l.Left(t.Context()); err != nil || len(left.Records) != 1 || left.Records[0].ID != "oid:0x2" { // Redis has a ledger
		t.Errorf("%+v, %v", left, err)
	}
}

// TestObjectsAreSeenAfterTheirRowsAreKept: the mirror has an object, and so Redis, once the file has the
// rows in force.
func TestObjectsAreSeenAfterTheirRowsAreKept(t *testing.T) {
	db := redistest.Open(t, redistest.Databases(t), "STATE_DB")
	var l *Ledger
	kept := 0
	l = NewLedger(sonicdb.NewMirror(db, telemetry.TableObject), "", "db", func() {
		if kept++; len(l.Rows()) != 0 {
			t.Errorf("before the rows are kept: %v", l.Rows())
		}
	}, slog.New(slog.DiscardHandler))
	record := &engine.Record{Object: engine.Object{Key: "label/table", Type: engine.TypeACLTable}, ID: "oid:0x1"}
	if err := l.Of(t.Context(), nil).Save([]*engine.Record{record}, nil); err != nil || kept != 1 {
		t.Errorf("%v, kept %d times", err, kept)
	}
	if written, err := db.Read(t.Context(), telemetry.TableObject); err != nil || len(written) != 1 {
		t.Errorf("%v, %v", written, err)
	}
}
