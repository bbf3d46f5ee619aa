// SPDX-License-Identifier: Apache-2.0

// Package manual writes the manual pages of a program's commands. The programs themselves,
// built with the tag manual, call it; those that are shipped have no part of it.
package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// Main writes the manual pages of all commands of a version into the folder that the command
// line names, with the date of SOURCE_DATE_EPOCH, and exits with 1 on an error.
func Main(cmd *cobra.Command, version string) {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: go run -tags manual ./orchagent-ext/cmd/%s FOLDER\n", cmd.Name())
		os.Exit(2)
	}
	cmd.DisableAutoGenTag = true
	date := time.Now()
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		date = time.Unix(seconds, 0).UTC()
	}
	header := &doc.GenManHeader{Section: "1", Date: &date, Source: "Sluice " + version, Manual: "Sluice"}
	err := doc.GenManTree(cmd, header, os.Args[1])
	if err == nil {
		err = tidyAll(os.Args[1], date)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "write manual pages: %v\n", err)
		os.Exit(1)
	}
}

// tidyAll brings the pages into the form that man(7) asks for.
func tidyAll(folder string, date time.Time) error {
	pages, err := filepath.Glob(filepath.Join(folder, "*.1"))
	for _, page := range pages {
		var text []byte
		if text, err = os.ReadFile(page); err == nil {
			err = os.WriteFile(page, []byte(tidy(string(text), date)), 0o644)
		}
		if err != nil {
			break
		}
	}
	return err
}

// tidy gives a page its date as a day, and its flags as tagged paragraphs, where cobra
// writes the month, and paragraphs with tabs.
func tidy(page string, date time.Time) string {
	return strings.NewReplacer(
		".nh\n", ".nh\n.ad l\n",
		`"`+date.Format("Jan 2006")+`"`, `"`+date.Format(time.DateOnly)+`"`,
		"\n.PP\n\\fB-", "\n.TP\n\\fB-",
		"\n.SH OPTIONS\n\\fB-", "\n.SH OPTIONS\n.TP\n\\fB-",
		"\n.SH OPTIONS INHERITED FROM PARENT COMMANDS\n\\fB-", "\n.SH OPTIONS INHERITED FROM PARENT COMMANDS\n.TP\n\\fB-",
		"\n\t", "\n",
	).Replace(page)
}
