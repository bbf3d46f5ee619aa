// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/db/telemetry"
	"sluice/orchagent-ext/host/files"
	"sluice/yang/rows"
)

// ledgerCopy is a file with the rows of the ledger, while labels are chosen: those cannot be
// computed again where Redis is emptied and sluiced killed. It begins with what it is of, and
// the rows; each change follows in a line of its own, one without fields for a row that is
// gone. It is for one goroutine.
type ledgerCopy struct {
	file string // or ""
	of   copyHead
	log  *slog.Logger

	out   *os.File // nil: nothing is copied
	lines int      // that may follow until the file is written again
	err   error    // why it is not written
}

// copyHead identifies the database and the boot of a copy. Objects of a switch before the
// machine started are gone.
type copyHead struct {
	Boot     string `json:"boot_id"`
	Database string `json:"state_db"`
}

// leastLines is how many changes follow at least before the file is written again.
const leastLines = 4096

// newLedgerCopy returns the copy beside a file of rows, which is off without such a file
// or without the kernel's boot id: labels of before a reboot are void.
func newLedgerCopy(rowsFile, database string, log *slog.Logger) *ledgerCopy {
	c := &ledgerCopy{of: copyHead{Database: database}, log: log}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	// without it a copy could be of before the machine started
	if rowsFile == "" || err != nil {
		return c
	}
	c.of.Boot = strings.TrimSpace(string(boot))
	c.file = strings.TrimSuffix(strings.TrimSuffix(rowsFile, ".json"), "-rows") + "-ledger.json"
	return c
}

// read returns the rows that an earlier process copied; nil for a copy of another
// database or of before the machine started. A line that a killed process left unfinished
// is a step that it had yet to take.
func (c *ledgerCopy) read() ([]rows.Row, error) {
	if c.file == "" {
		return nil, nil
	}
	f, err := os.OpenFile(c.file, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: not a regular file", c.file)
	case info.Size() > files.MaxState:
		return nil, fmt.Errorf("%s: %d octets, more than %d", c.file, info.Size(), files.MaxState)
	}
	in := json.NewDecoder(bufio.NewReader(f))
	var of copyHead
	if err := in.Decode(&of); err != nil || of != c.of {
		return nil, err
	}
	known := map[string]map[string]string{}
	for {
		var r rows.Row
		err := in.Decode(&r)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.file, err)
		}
		if known[r.Key] = r.Fields; r.Fields == nil {
			delete(known, r.Key)
		}
	}
	all := make([]rows.Row, 0, len(known))
	for key, fields := range known {
		all = append(all, rows.Row{Table: telemetry.TableObject, Key: key, Fields: fields})
	}
	return all, nil
}

// begin copies the ledger from now on, whose rows all returns.
func (c *ledgerCopy) begin(all func() []rows.Row) {
	if c.file != "" && c.out == nil {
		c.done(c.write(all()))
	}
}

// write makes the file one with these rows.
func (c *ledgerCopy) write(all []rows.Row) (err error) {
	c.close()
	fresh := c.file + ".new"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	head, err := json.Marshal(c.of)
	if err == nil {
		_, err = out.Write(append(append(head, '\n'), lines(all)...))
	}
	if err == nil {
		err = os.Rename(fresh, c.file)
	}
	if err != nil {
		return errors.Join(err, out.Close(), os.Remove(fresh))
	}
	c.out, c.lines = out, leastLines+2*len(all)
	return nil
}

// save adds changes; all returns the rows with them. A written line outlives the process.
func (c *ledgerCopy) save(changes []rows.Row, all func() []rows.Row) {
	if c.out == nil {
		return
	}
	if c.lines -= len(changes); c.lines < 0 {
		c.done(c.write(all()))
		return
	}
	_, err := c.out.Write(lines(changes))
	c.done(err)
}

// done records the result of writing. After a failure the file lags behind the ledger.
func (c *ledgerCopy) done(err error) {
	if err != nil {
		c.drop()
	}
	c.note(err)
}

// lines are rows, each in a line.
func lines(all []rows.Row) []byte {
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	for _, r := range all {
		_ = to.Encode(r) // strings can always be written
	}
	return text.Bytes()
}

// note keeps the error of the copy and logs it once.
func (c *ledgerCopy) note(err error) {
	if err != nil && (c.err == nil || c.err.Error() != err.Error()) {
		c.log.Warn("cannot copy the ledger", "error", err)
	}
	c.err = err
}

// drop ends the copy, when labels cease to be chosen.
func (c *ledgerCopy) drop() {
	c.close()
	if c.file == "" {
		return
	}
	if err := os.Remove(c.file); err != nil && !errors.Is(err, os.ErrNotExist) {
		c.note(err)
	}
}

// close leaves the file to the next process.
func (c *ledgerCopy) close() {
	if c.out != nil {
		_ = c.out.Close() // nothing waits in it
		c.out = nil
	}
}

// warning returns the fault of the copy for the operator, or "".
func (c *ledgerCopy) warning() string {
	if c.err == nil {
		return ""
	}
	return fmt.Sprintf("cannot copy the ledger, so chosen labels would change if Redis were emptied and sluiced killed at once: %v", c.err)
}
