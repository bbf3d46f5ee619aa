// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A flow that has more than the mark from 20 ms on and is named at 50 ms counts with 30 ms; one that
// is named before it has as much with 0; one that is never named with the longest time. One that never
// has as much is left out.
func TestNamedFigures(t *testing.T) {
	const octets, milli = 4000, int64(time.Millisecond)
	j := newNamedJudge()
	j.pairs = [][]uint32{{namedQP, namedQP + 1}, {namedQP + 2, namedQP + 3}}
	for i := range int64(100) {
		for _, qp := range []uint32{namedQP, namedQP + 1, namedQP + 2} {
			j.came = append(j.came, passing{at: (1000 + i) * milli, qp: qp, octets: 2 * octets})
		}
		j.came = append(j.came, passing{at: (1000 + i) * milli, qp: namedBaseQP, octets: octets})
		j.left = append(j.left, passing{at: (1000+i)*milli + milli/2, qp: namedBaseQP, octets: -octets})
	}
	for at, qp := range map[int64]uint32{1050: namedQP, 1010: namedQP + 1, 1080: namedBaseQP} {
		for again := range int64(3) { // repeated, it is one name
			j.names = append(j.names, passing{at: (at + 10*again) * milli, qp: qp})
		}
	}
	f := j.figures()
	if f.N != 3 || f.Short != 1 || f.Names != 3 || f.Unnamed != 1 || f.Early != 1 || f.P50 != 30 || f.Wrong < 33 || f.Wrong > 34 {
		t.Errorf("%+v", f)
	}
	if want := 400. / 0.1 / pathSampling; f.Samples < want*0.95 || f.Samples > want*1.05 {
		t.Errorf("%.0f samples a second, want %.0f", f.Samples, want)
	}
	if p50 := medianNamed([]namedFigures{{N: 2, P50: 9}, {N: 3, P50: 1}, {N: 4, P50: 5}}); p50.N != 9 || p50.P50 != 5 {
		t.Errorf("%+v", p50)
	}
}

// A figure that misses its bar is an error where there are medians.
func TestNamedAndPathFiguresAreJudged(t *testing.T) {
	named := namedFigures{N: 500, P50: 50, P99: 150, Wrong: 1}
	path := func() map[string]*pathFigures {
		all := map[string]*pathFigures{}
		for _, n := range pathCounts {
			all[fmt.Sprint(n)] = &pathFigures{pathRun: pathRun{Goodput: 0.95, Advice: 1}, IPv4: pathRun{Goodput: 0.95, Advice: 1}, OverExact: 1.3}
		}
		return all
	}
	for want, change := range map[string]func(*namedFigures, map[string]*pathFigures){
		"":                                     func(*namedFigures, map[string]*pathFigures) {},
		"499 flows were to be named":           func(f *namedFigures, _ map[string]*pathFigures) { f.N = 499 },
		"a flow is named after 51 ms":          func(f *namedFigures, _ map[string]*pathFigures) { f.P50 = 51 },
		"a flow is named after 151 ms":         func(f *namedFigures, _ map[string]*pathFigures) { f.P99 = 151 },
		"1.10 % of the names":                  func(f *namedFigures, _ map[string]*pathFigures) { f.Wrong = 1.1 },
		"32 flows: no advice":                  func(_ *namedFigures, p map[string]*pathFigures) { p["32"].Advice = 0 },
		"2 flows: goodput is 94.9":             func(_ *namedFigures, p map[string]*pathFigures) { p["2"].Goodput = 0.949 },
		"2 flows: 1 packets":                   func(_ *namedFigures, p map[string]*pathFigures) { p["2"].Drops = 1 },
		"32 flows of IPv4: goodput":            func(_ *namedFigures, p map[string]*pathFigures) { p["32"].IPv4.Drops = 1 },
		"32 flows: the deepest queue is 1.31 ": func(_ *namedFigures, p map[string]*pathFigures) { p["32"].OverExact = 1.31 },
	} {
		f, p, got := named, path(), ""
		change(&f, p)
		check := func(ok bool, format string, args ...any) {
			if !ok {
				got += fmt.Sprintf(format, args...)
			}
		}
		f.judge(true, check)
		judgePaths(p, true, check)
		if (got == "") != (want == "") || !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
