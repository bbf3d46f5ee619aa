// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"sluice/orchagent-ext/testbed/fabric"
)

// The scenario wan-stock: the network of the scenario wan, whose gateways have the limits of an
// ASIC of today: no flow's queue is watched there, and no single flow is held.
const wanStockASIC = "# an ASIC of today\nrule_ms=15\nsamples=10000\ncounters_ms=50\n"

// A wanStockPart is one part of the scenario: it adds its figures.
type wanStockPart func(w *wanStock, ctx context.Context, to *wanStockFigures) error

// wanStockParts are run in this order, on one network.
var wanStockParts = []wanStockPart{(*wanStock).name, (*wanStock).path, (*wanStock).source}

// wanStock is the network of the scenario.
type wanStock struct {
	wan
	asic string // file with the limits of the gateways
	say  say
}

// runWANStock shows notifications over a long path whose gateways are ASICs of today.
func runWANStock(ctx context.Context, f *fabric.Fabric, c Config, folder string, say say) (result, error) {
	say("network: sender – gateway 1 – [%v each way] – gateway 2 – receiver; the gateways hold no flow and watch none", wanDelay)
	network, err := f.WAN(wanDelay)
	if err != nil {
		return nil, err
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(wanProcessors)) // as in the scenario wan
	w := &wanStock{wan{network, c, folder, wanSpan}, filepath.Join(folder, "asic"), say}
	if err := os.WriteFile(w.asic, []byte(wanStockASIC), 0o600); err != nil {
		return nil, err
	}
	r := &wanStockReport{full: c.Full}
	for _, part := range wanStockParts {
		if err := part(w, ctx, &r.WANStock); err != nil {
			return nil, reason(ctx, err)
		}
	}
	return r, nil
}

// wanStockReport is the member wan_stock of report.json.
type wanStockReport struct {
	WANStock wanStockFigures `json:"wan_stock"`

	full bool // medians of three, and all events
}

// wanStockFigures are the figures of the scenario as JSON.
type wanStockFigures struct {
	// Named: method sampled finds the flows that fill a queue, ms
	Named *namedFigures `json:"named_ms"`
	// WAN: Rate Advice over the path, by the number of flows
	WAN map[string]*pathFigures `json:"wan"`
	// Source: senders slowed by CNPs of the gateway that serves them
	Source *sourceFigures `json:"source"`
}

// write adds to report.json.
func (r *wanStockReport) write(folder string) error { return merge(folder, r) }

// print shows the figures to people.
func (r *wanStockReport) print(w io.Writer) error {
	if err := r.WANStock.Named.print(w); err != nil {
		return err
	}
	if err := printPaths(w, r.WANStock.WAN); err != nil {
		return err
	}
	return r.WANStock.Source.print(w)
}

// judge returns an error for each figure that misses its bar. Those of time and rate are held
// only where there are medians: one short run on a machine that may be busy shows none.
func (r *wanStockReport) judge() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	r.WANStock.Named.judge(r.full, check)
	judgePaths(r.WANStock.WAN, r.full, check)
	r.WANStock.Source.judge(r.full, check)
	return errors.Join(errs...)
}
