// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"
)

// page is free of scripts and of outside parts.
var page = template.Must(template.New("page").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{.Title}}</title>
<style>
:root { color-scheme: light dark }
body { font: 14px/1.5 sans-serif; margin: 2em auto; max-width: 1200px; padding: 0 1em; color: CanvasText; background: Canvas }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { padding: .25em .5em; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left }
tr.first td { border-top: 2px solid #8888 }
figure { margin: 1em 0; overflow-x: auto }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{range .Conclusions}}<p><strong>{{.}}</strong></p>
{{end}}<p>{{.Hosts}} hosts; seed {{.Seed}}; all runs have {{.Base}}; one that names pfc or dcqcn has that alone of the two.{{if .Interrupted}} <strong>Interrupted: the runs that there are.</strong>{{end}}
COLLECTIVE is the mean time of the load's collectives, SLOWEST that of the last one, FCT the time of a message, SLOWDOWN that time ÷ the
one in an empty network; UP and DOWN are max ÷ mean of the octets of leaves' uplinks and downlinks.</p>
<table id="runs">
<thead><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{$last := ""}}{{range .Rows}}<tr{{if ne (index . 0) $last}} class="first"{{end}}>{{$last = index . 0}}{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
{{range .Plots}}<figure>{{.}}</figure>
{{end}}</body>
</html>
`))

// HTML writes the page.
func (d *Document) HTML(w io.Writer) error {
	var plots []template.HTML
	for _, l := range d.loads {
		var s strings.Builder
		if err := d.Collectives(&s, l); err != nil {
			return err
		}
		if err := d.FCT(&s, l); err != nil {
			return err
		}
		if _, err := d.Slowdown(&s, l); err != nil {
			return err
		}
		plots = append(plots, template.HTML(s.String())) //nolint:gosec // all text in it is escaped
	}
	base := strings.Join(d.Base, ", ")
	if base == "" {
		base = "neither PFC nor DCQCN"
	}
	err := page.Execute(w, struct {
		Title       string
		Hosts       int
		Seed        uint64
		Base        string
		Interrupted bool
		Conclusions []string
		Header      []string
		Rows        [][]string
		Plots       []template.HTML
	}{d.Title, d.Hosts, d.Seed, base, d.Interrupted, d.Conclusions(), Header, d.Rows(), plots})
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
