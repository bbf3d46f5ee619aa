// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/template"

	"golang.org/x/sys/unix"
)

// pageText is docs/performance.md: the machine, a line a benchmark, the limits of figures that
// are known, and the reason of each bar that is missed.
var pageText = template.Must(template.New("page").Parse(`# Performance

The figures of ` + "`make bench`" + `, the bar of each and, where there is one, the program that it is compared with in the same
run. Each is the median of several runs; the spread of these is (max − min) ÷ median. Made by
` + "`go run ./tests/bench -page docs/performance.md`" + ` out of build/bench/report.json.

{{.Machine}}.

Times of an operation are void on another machine, and on one with other work: compare ratios, or the pairs of
` + "`go run ./tests/bench -against TREE`" + `, which measures this tree and another in turns. Rows of 0 allocations are
left out where they hold.

{{.Held}} of {{.Judged}} bars hold.

| benchmark | figure | spread | bar | compared with |
|---|---|---|---|---|
{{range .Rows}}{{.}}
{{end}}{{if .Bounds}}
## Limits that are known

{{range .Bounds}}- {{.}}
{{end}}{{end}}{{if .Missed}}
## Bars that are missed

{{range .Missed}}- {{.}}
{{end}}{{end}}`))

// page has the values of pageText.
type page struct {
	Machine              string
	Held, Judged         int
	Rows, Bounds, Missed []string
}

// newPage returns the page of a report that was made with bars.
func newPage(bars []bar, figures []figure, machine string) *page {
	p := &page{Machine: machine}
	for _, f := range figures {
		if f.OK != nil {
			p.Judged++
			if *f.OK {
				p.Held++
			}
		}
		if f.Unit == "allocs/op" && f.OK != nil && *f.OK {
			continue
		}
		missed := f.OK != nil && !*f.OK
		limit, name := f.Bar, shortName(f.Name)
		if missed {
			limit = "**" + limit + "**"
			p.Missed = append(p.Missed, fmt.Sprintf("`%s`, %s %s (%s): %s.", name, number(f.Value), f.Unit, f.Bar, cmp.Or(barOf(bars, f).why, "not explained yet")))
		}
		if bound := barOf(bars, f).bound; bound != "" {
			p.Bounds = append(p.Bounds, fmt.Sprintf("`%s`, %s %s: %s.", name, number(f.Value), f.Unit, bound))
		}
		p.Rows = append(p.Rows, fmt.Sprintf("| %s | %s %s | %.0f %% | %s | %s |", name, number(f.Value), f.Unit, 100*f.Spread, limit, f.ComparedWith))
	}
	return p
}

// shortName is the name of a figure without the parts that all share.
func shortName(name string) string {
	name = strings.TrimPrefix(name, "orchagent-ext/")
	return strings.Replace(name, " Benchmark", " ", 1)
}

// barOf returns the bar of a figure; the zero bar: it has none.
func barOf(bars []bar, f figure) bar {
	_, benchmark, _ := strings.Cut(f.Name, " ")
	for _, b := range bars {
		if b.pkg == f.pkg() && b.unit == f.Unit && b.names(benchmark) {
			return b
		}
	}
	return bar{}
}

// writePage makes the page of a report.
func writePage(report, file string) error {
	figures, err := readReport(report)
	if err != nil {
		return err
	}
	machine, err := machine()
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := render(&text, newPage(bars, figures, machine)); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o666)
}

// render writes a page.
func render(w io.Writer, p *page) error { return pageText.Execute(w, p) }

// machine describes this machine: processor, CPUs, kernel, Go.
func machine() (string, error) {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return "", err
	}
	cpuinfo, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "", err
	}
	model := "processor unknown"
	for line := range strings.Lines(string(cpuinfo)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("Machine: %s, %d CPUs, Linux %s, %s", model, runtime.NumCPU(), unix.ByteSliceToString(u.Release[:]), runtime.Version()), nil
}
