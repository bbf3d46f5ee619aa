// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"text/tabwriter"
)

// writeJSON writes the report, and makes the folder it is in.
func writeJSON(file string, figures []figure) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // a bar is written "<= 40 ns/op"
	e.SetIndent("", "  ")
	if err := e.Encode(figures); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o666)
}

// readReport reads a report.
func readReport(file string) (figures []figure, err error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w (make bench writes it)", err)
	}
	if err := json.Unmarshal(b, &figures); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return figures, nil
}

// replaced returns the figures of a report with those of packages that were measured again in the place
// of theirs, at the end where the report has none. A package that failed has none any more.
func replaced(report, again []figure, pkgs []string) (all []figure) {
	left := map[string][]figure{}
	for _, pkg := range pkgs {
		left[pkg] = nil
	}
	for _, f := range again {
		left[f.pkg()] = append(left[f.pkg()], f)
	}
	for _, f := range report {
		if of, measured := left[f.pkg()]; measured {
			all = append(all, of...)
			left[f.pkg()] = nil
		} else {
			all = append(all, f)
		}
	}
	for _, pkg := range pkgs {
		all = append(all, left[pkg]...)
	}
	return all
}

// writeTable prints a line for each figure, and how many bars hold.
func writeTable(w io.Writer, figures []figure) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "benchmark\tmedian\tunit\tspread\tbar")
	judged, held := 0, 0
	for _, f := range figures {
		verdict := "no bar"
		if f.OK != nil {
			judged++
			verdict = "MISSED " + f.Bar
			if *f.OK {
				held++
				verdict = "holds  " + f.Bar
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.0f %%\t%s\n", f.Name, number(f.Value), f.Unit, 100*f.Spread, verdict)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d of %d bars hold\n", held, judged)
	return err
}

// number writes a value with at most three decimals, and those only where they
// matter.
func number(v float64) string {
	decimals := 0
	switch {
	case v == float64(int64(v)) || v >= 1000:
	case v >= 10:
		decimals = 1
	default:
		decimals = 3
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}
