// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

func TestTechsupportWritesAReport(t *testing.T) {
	s := newFakeSluiced(t)
	s.writes(t, "now.json")
	out, _ := good(t, "techsupport", "--db-config", s.Config)
	for _, want := range []string{"===== versions: ", "\n  version   dev\n", "===== state: ", "\nSLUICE_STATE|global\n", "SLUICE_PORT_STATS|Ethernet16\n", "\nlo\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("the text does not say %q", want)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("an escape code is in the text")
	}
	out, _ = good(t, "techsupport", "--db-config", s.Config, "--json")
	var r struct {
		Parts []struct{ Name string }
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil || len(r.Parts) < 10 {
		t.Errorf("%v: %d parts", err, len(r.Parts))
	}

	file := filepath.Join(t.TempDir(), "techsupport.tar.gz")
	_, stderr := good(t, "techsupport", "--db-config", s.Config, "--out", file)
	if !strings.HasSuffix(stderr, "parts in "+file+"\n") {
		t.Error(stderr)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v: %v, want it for the owner alone", err, info.Mode())
	}
	packed, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	if n := filesIn(t, packed); n != len(r.Parts) {
		t.Errorf("%d files, want %d", n, len(r.Parts))
	}
	out, _ = good(t, "techsupport", "--db-config", s.Config, "--out", "-")
	if n := filesIn(t, strings.NewReader(out)); n != len(r.Parts) {
		t.Errorf("%d files on standard output, want %d", n, len(r.Parts))
	}
}

// TestTechsupportWritesNewFilesAlone: neither a file that is there, which may be open
// to others, nor one that a link leads to is written.
func TestTechsupportWritesNewFilesAlone(t *testing.T) {
	dir := t.TempDir()
	open, link, nowhere := filepath.Join(dir, "open"), filepath.Join(dir, "link"), filepath.Join(dir, "nowhere")
	if err := os.WriteFile(open, []byte("before"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{link: open, nowhere: filepath.Join(dir, "target")} {
		if err := os.Symlink(target, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{open, link, nowhere} {
		if _, stderr, code := sluice(nil, "techsupport", "--db-config", "/nonexistent", "--out", name); code != 1 || !strings.Contains(stderr, "the file exists; --force overwrites it") {
			t.Errorf("%s: %d: %s", name, code, stderr)
		}
	}
	if content, err := os.ReadFile(open); err != nil || string(content) != "before" {
		t.Errorf("%d octets, %v", len(content), err)
	}
	if _, err := os.Stat(filepath.Join(dir, "target")); err == nil {
		t.Error("a link was followed")
	}
}

// TestTechsupportReplacesAFileByForce: by a new one for this user alone. A link is replaced, and
// not followed.
func TestTechsupportReplacesAFileByForce(t *testing.T) {
	dir := t.TempDir()
	open, link := filepath.Join(dir, "open"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(open, []byte("before"), 0o666), os.Symlink("open", link)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, open} {
		good(t, "techsupport", "--db-config", "/nonexistent", "--force", "--out", name)
		if info, err := os.Lstat(name); err != nil || info.Mode() != 0o600 || info.Size() < 1000 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
		if name != link {
			continue
		}
		if content, err := os.ReadFile(open); err != nil || string(content) != "before" {
			t.Errorf("a link was followed: %d octets, %v", len(content), err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || left != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}

func filesIn(t *testing.T, packed io.Reader) (n int) {
	t.Helper()
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(unzipped); ; n++ {
		_, err := files.Next()
		if errors.Is(err, io.EOF) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestTechsupportPrintsNothingThatATerminalObeys: whatever rows hold, as text and as
// JSON, which means the same.
func TestTechsupportPrintsNothingThatATerminalObeys(t *testing.T) {
	s := newFakeSluiced(t)
	s.writes(t, "now.json")
	const hostile = "a\u009b31m\u202eb\x7f\u2028"
	row := rows.Row{Table: "SLUICE_STATE", Key: "global", Fields: map[string]string{"state": "degraded", "warnings": hostile, hostile: "x"}}
	if err := s.state.Write(t.Context(), sonicdb.Change{Row: row}); err != nil {
		t.Fatal(err)
	}
	text, _ := good(t, "techsupport", "--db-config", s.Config)
	asJSON, _ := good(t, "techsupport", "--db-config", s.Config, "--json")
	once, _ := good(t, "top", "--db-config", s.Config, "--once")
	inJSON, _ := good(t, "top", "--db-config", s.Config, "--once", "--json")
	for what, out := range map[string]string{"text": text, "JSON": asJSON, "top": once, "top's JSON": inJSON} {
		if at := strings.IndexFunc(out, func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' }); at >= 0 {
			t.Errorf("%s: %q", what, out[max(0, at-50):min(len(out), at+50)])
		}
	}
	var r any
	if err := json.Unmarshal([]byte(asJSON), &r); err != nil || !strings.Contains(fmt.Sprint(r), hostile) {
		t.Errorf("%v: the JSON does not hold %q", err, hostile)
	}
	if !strings.Contains(text, "a·31m·b··") {
		t.Error(text)
	}
}

// TestTechsupportWithoutDatabases: that they are not there is in the report, and
// the report is there.
func TestTechsupportWithoutDatabases(t *testing.T) {
	out, _ := good(t, "techsupport", "--db-config", "/nonexistent")
	if !strings.Contains(out, "! read where the databases are: open /nonexistent: no such file") || !strings.Contains(out, "===== links: ") {
		t.Error(out)
	}
	s := newFakeSluiced(t)
	s.Kill()
	if out, _ = good(t, "techsupport", "--db-config", s.Config); !strings.Contains(out, "! list the keys of STATE_DB at "+s.Socket) {
		t.Error(out)
	}
}

// TestTechsupportOnATerminal: SONiC's show techsupport runs it by docker exec -t,
// whose standard output is a terminal.
func TestTechsupportOnATerminal(t *testing.T) {
	s := newFakeSluiced(t)
	s.writes(t, "now.json")
	p := newPTY(t, 80, 24)
	cmd := p.start(t, nil, "techsupport", "--db-config", s.Config)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	p.has(t, "===== log: ")
	if all := p.all(); strings.Contains(all, "\x1b") || !strings.Contains(all, "SLUICE_STATE|global\r\n") {
		t.Errorf("%q", all)
	}
	cmd = p.start(t, nil, "techsupport", "--db-config", s.Config, "--out", "-")
	if err := cmd.Wait(); err == nil {
		t.Error("an archive goes to a terminal")
	}
	p.has(t, "standard output is a terminal")
	if _, stderr, code := sluice(nil, "techsupport", "--since", "0s"); code != 1 || !strings.Contains(stderr, "--since must be more than 0") {
		t.Errorf("%d: %s", code, stderr)
	}
}
