// SPDX-License-Identifier: Apache-2.0

package techsupport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// lastOfLog is how much of a log is looked at, from its end. Bounds of reading a log, in
	// octets.
	lastOfLog = 16 << 20

	longestLine = 16 << 10
)

// logs are the files of the system's log, the older first. A container sees its own
// folder in place of the host's.
var logs = []string{"/var/log/syslog.1", "/var/log/syslog"}

// logLines returns the lines of the system's log that name Sluice and are recent enough.
func logLines(ctx context.Context, c *Config) ([]Item, error) {
	var items []Item
	seen := false
	var errs []error
	after := c.Now().Add(-c.Since)
	for _, name := range logs {
		lines, err := c.linesOf(ctx, name, after)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		seen = true
		if err != nil {
			errs = append(errs, err)
		}
		if len(lines) > 0 {
			items = append(items, Item{Name: name, Lines: lines})
		}
	}
	if !seen {
		errs = append(errs, fmt.Errorf("%s is not here: in a container the log is the host's, with systemd alone it is journalctl's", logs[len(logs)-1]))
	}
	return items, errors.Join(errs...)
}

// linesOf returns the lines of a file that name Sluice.
func (c *Config) linesOf(ctx context.Context, name string, after time.Time) ([]string, error) {
	f, err := os.Open(filepath.Join(c.Root, name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > lastOfLog {
		if _, err := f.Seek(-lastOfLog, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	var lines []string
	room := mostItem // of the kept text; the last lines count
	in := bufio.NewReaderSize(f, longestLine)
	for n := 0; ; n++ {
		if n%1000 == 0 && ctx.Err() != nil {
			return lines, ctx.Err()
		}
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return lines, nil
		}
		if err != nil && err != io.EOF && !errors.Is(err, bufio.ErrBufferFull) {
			return lines, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if !strings.Contains(text, "sluice") {
			continue
		}
		if at, ok := lineTime(text, c.Now()); ok && at.Before(after) {
			continue
		}
		lines = append(lines, text)
		for room -= len(text); room < 0; lines = lines[1:] {
			room += len(lines[0])
		}
	}
}

// lineTime reads the time in front of a line, as rsyslog writes it on Debian, and
// as SONiC does, with the year and without.
func lineTime(line string, now time.Time) (time.Time, bool) {
	first, _, _ := strings.Cut(line, " ")
	if at, err := time.Parse(time.RFC3339Nano, first); err == nil {
		return at, true
	}
	words := strings.Fields(line)
	for _, form := range []struct {
		words  int
		layout string
	}{{4, "2006 Jan 2 15:04:05"}, {3, "Jan 2 15:04:05"}} {
		if len(words) < form.words {
			continue
		}
		at, err := time.ParseInLocation(form.layout, strings.Join(words[:form.words], " "), now.Location())
		if err != nil {
			continue
		}
		if at.Year() == 0 {
			if at = at.AddDate(now.Year(), 0, 0); at.After(now.Add(24 * time.Hour)) {
				at = at.AddDate(-1, 0, 0) // of last year
			}
		}
		return at, true
	}
	return time.Time{}, false
}
