// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/cli/settings"
	"sluice/yang/text"
)

// commitFiles are where sluice-gnmi keeps a commit that waits to be confirmed: by
// default, and by its unit. Tests replace them.
var commitFiles = []string{"/var/lib/sluice/gnmi-commit.json", "/var/lib/sluice/gnmi/commit.json"}

// waitingCommit is the part of such a file that is needed here.
type waitingCommit struct {
	ID       string    `json:"id"`
	Deadline time.Time `json:"deadline"`
	Rows     []struct {
		Table string `json:"table"`
		Key   string `json:"key"`
	} `json:"rows"`
}

// has reports whether the commit would take back the row.
func (c *waitingCommit) has(e settings.Edit) bool {
	for _, r := range c.Rows {
		if r.Table == e.Table && r.Key == e.Key {
			return true
		}
	}
	return false
}

// warnOfCommit writes a warning about rows that a commit of gNMI, which waits to
// be confirmed, may take back.
func warnOfCommit(w io.Writer, edits []settings.Edit) {
	for _, file := range commitFiles {
		content, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var c waitingCommit
		if err == nil {
			err = json.Unmarshal(content, &c)
		}
		if err != nil {
			fmt.Fprintf(w, "warning: whether a gNMI commit waits to be confirmed, which would take this change back, is not known: %v\n", err)
			continue
		}
		var names []string
		for _, e := range edits {
			if c.has(e) {
				names = append(names, text.Printable(e.Table+"|"+e.Key))
			}
		}
		if slices.Sort(names); names != nil {
			fmt.Fprintf(w, "warning: gNMI commit %q waits to be confirmed until %s; if it is not, or is canceled, this change of %s is taken back with it\n",
				c.ID, c.Deadline.Local().Format(time.DateTime), strings.Join(names, ", "))
		}
	}
}
