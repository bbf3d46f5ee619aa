// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"strings"

	"sluice/orchagent-ext/cli/chart"
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
* { box-sizing: border-box }
body { font: 14px/1.5 sans-serif; margin: 1.5em auto; max-width: 1200px; padding: 0 1em; color: CanvasText; background: Canvas; overflow-wrap: anywhere }
h1, h2 { line-height: 1.2 }
.headline { font-size: 1.3em; font-weight: bold; border-left: 4px solid #0072b2; padding-left: .6em }
table { border-collapse: collapse; display: block; overflow-x: auto; overflow-wrap: normal }
th, td { padding: .25em .5em; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap }
th:nth-child(-n+2), td:nth-child(-n+2) { text-align: left }
tr.first td { border-top: 2px solid #8888 }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 430px), 1fr)); gap: 1.5em }
figure { margin: 0; min-width: 0 }
figcaption { font-weight: bold; margin-bottom: .4em }
figure svg { max-width: 100%; height: auto }
.bar { display: grid; grid-template-columns: minmax(4em, 32%) 1fr minmax(7em, max-content); gap: .6em; align-items: center; margin: .3em 0 }
.track { position: relative; height: 1.1em; background: #8882 }
.track i { position: absolute; left: 0; top: 0; bottom: 0 }
.track i.beyond { top: 45%; bottom: 45% }
.keys { display: flex; flex-wrap: wrap; gap: .2em 1em; margin: 0 0 .4em }
.keys i { display: inline-block; width: 1.6em; border-top: 3px solid; vertical-align: middle; margin-right: .4em }
.keys i.broken { border-top-style: dashed }
.maps { display: flex; flex-wrap: wrap; gap: 1em 1.5em }
.maps figcaption { font-weight: normal }
.small { font-size: .9em }
.scale i { display: inline-block; width: 1em; height: 1em; border: 1px solid #8884; vertical-align: middle; margin: 0 .3em 0 .8em }
</style>
</head>
<body>
<h1>{{.Title}}</h1>
{{with .Headline}}<p class="headline">{{.}}</p>
{{end}}{{range .Conclusions}}<p>{{.}}</p>
{{end}}<p>{{.Hosts}} hosts; seed {{.Seed}}; all runs have {{.Base}}; one that names pfc or dcqcn has that alone of the two. {{.Ports}}{{if .Interrupted}} <strong>Interrupted: the runs that there are.</strong>{{end}}</p>
<table id="runs">
<thead><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{$last := ""}}{{range .Rows}}<tr{{if ne (index . 0) $last}} class="first"{{end}}>{{$last = index . 0}}{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
<p class="small">COLLECTIVE is the mean time of the load's collectives, CHANGE how much longer or shorter that is than with the first feature,
SLOWEST the time of the last collective, FCT the time of a message, SLOWDOWN that time ÷ the one in an empty network; UP and DOWN are max ÷ mean of the
octets of leaves' uplinks and downlinks.</p>
{{range .Loads}}<h2>{{.Name}}</h2>
<div class="plots">
<figure><figcaption>Mean time of a collective; the line goes on to the slowest</figcaption>
{{range .Bars}}<div class="bar"><span>{{.Name}}</span><span class="track"><i style="width: {{.Length}}%; background: {{.Color}}"></i><i class="beyond" style="left: {{.From}}%; width: {{.Beyond}}%; background: {{.Color}}"></i></span><span>{{.Text}}</span></div>
{{end}}</figure>
{{$keys := .Keys}}{{range .Plots}}<figure><figcaption>{{.Title}}</figcaption>
<div class="keys">{{range $keys}}<span><i style="border-color: {{.Color}}"{{if .Broken}} class="broken"{{end}}></i>{{.Name}}</span>{{end}}</div>
{{.SVG}}</figure>
{{end}}</div>
{{if .Maps}}<h3>Load of each uplink (columns) of each leaf (rows)</h3>
<p class="small scale">times the mean of the leaf's uplinks:{{range $.Scale}}<i style="background: {{.Color}}"></i>{{.Text}}{{end}}</p>
<div class="maps">
{{range .Maps}}<figure><figcaption>{{.Title}}</figcaption>
{{.SVG}}</figure>
{{end}}</div>
{{end}}{{end}}</body>
</html>
`))

// loadPart is the part of the page about one load.
type loadPart struct {
	Name  string
	Bars  []bar
	Keys  []key
	Plots []picture
	Maps  []picture
}

// picture is an SVG with its title.
type picture struct {
	Title string
	SVG   template.HTML
}

// shade is a color of the scale of maps, with the load that it is for.
type shade struct {
	Text  string
	Color template.CSS
}

// scale returns the colors of maps.
func scale() (all []shade) {
	for _, load := range []float64{0, 0.5, 1, 1.5, 2, 2.5} {
		text := fmt.Sprintf("%g", load)
		if chart.HeatPart(load) == 1 {
			text += " and more"
		}
		all = append(all, shade{text, template.CSS(fmt.Sprintf("color-mix(in srgb, %s %.0f%%, transparent)", chart.HeatColor, percent*chart.HeatPart(load)))}) //nolint:gosec // no text from outside
	}
	return all
}

// part returns the plots and the maps of a load.
func (d *Document) part(load string) (p loadPart, err error) {
	p = loadPart{Name: load, Bars: d.bars(load), Keys: d.keys(load)}
	add := func(to *[]picture, title string, draw func(w io.Writer) (bool, error)) {
		var s strings.Builder
		drawn, failed := draw(&s)
		if err = errors.Join(err, failed); drawn && failed == nil {
			*to = append(*to, picture{title, template.HTML(s.String())}) //nolint:gosec // all text in it is escaped
		}
	}
	add(&p.Plots, "Part of all messages by completion time", func(w io.Writer) (bool, error) { return true, d.FCT(w, load) })
	add(&p.Plots, "Slowdown of one message in 100, by size", func(w io.Writer) (bool, error) { return d.Slowdown(w, load) })
	for _, f := range d.features {
		if r := d.Runs[load][f]; r != nil {
			add(&p.Maps, fmt.Sprintf("%s: max ÷ mean %.2f", f, r.UpWorst), func(w io.Writer) (bool, error) { return d.Heat(w, load, f) })
		}
	}
	return p, err
}

// HTML writes the page.
func (d *Document) HTML(w io.Writer) error {
	var loads []loadPart
	for _, l := range d.loads {
		if len(d.Runs[l]) == 0 {
			continue
		}
		p, err := d.part(l)
		if err != nil {
			return err
		}
		loads = append(loads, p)
	}
	base := strings.Join(d.Base, ", ")
	if base == "" {
		base = "neither PFC nor DCQCN"
	}
	err := page.Execute(w, struct {
		Title, Headline, Base, Ports string
		Hosts                        int
		Seed                         uint64
		Interrupted                  bool
		Conclusions                  []string
		Header                       []string
		Rows                         [][]string
		Loads                        []loadPart
		Scale                        []shade
	}{d.Title, d.Headline(), base, d.Ports(), d.Hosts, d.Seed, d.Interrupted, d.Conclusions(), Header, d.Rows(), loads, scale()})
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
