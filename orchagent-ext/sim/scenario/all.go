// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"sync"

	"golang.org/x/sync/errgroup"

	"sluice/orchagent-ext/sim/run"
)

// Results are the runs of a scenario by load and feature.
type Results map[string]map[string]*run.Result

// Progress is how far a scenario is.
type Progress struct {
	Runs, Ended int
	Part        float64 // 0 to 1, of the whole
	Name        string  // of the run that went on last
}

// RunAll runs each load with each feature, workers at a time. A context that ends ends it
// early: the runs until then are returned. progress may be nil, and is called by one
// goroutine at a time.
func (s *Scenario) RunAll(ctx context.Context, workers int, progress func(Progress)) (Results, error) {
	type job struct {
		load    int
		feature string
	}
	var jobs []job
	all := Results{}
	for i, l := range s.Loads {
		all[l.Name] = map[string]*run.Result{}
		for _, f := range s.Compare {
			jobs = append(jobs, job{i, f})
		}
	}
	var mu sync.Mutex
	parts := make([]float64, len(jobs))
	ended := 0
	told := func(i int, part float64, end bool) {
		mu.Lock()
		defer mu.Unlock()
		parts[i] = part
		if end {
			ended++
		}
		if progress == nil {
			return
		}
		sum := 0.0
		for _, p := range parts {
			sum += p
		}
		progress(Progress{Runs: len(jobs), Ended: ended, Part: sum / float64(len(jobs)), Name: s.Loads[jobs[i].load].Name + ", " + jobs[i].feature})
	}
	g, ctx2 := errgroup.WithContext(ctx)
	g.SetLimit(workers)
	for i, j := range jobs {
		g.Go(func() error {
			if ctx2.Err() != nil {
				return nil
			}
			spec, err := s.Run(s.Loads[j.load], j.feature)
			if err != nil {
				return err
			}
			r, err := run.Do(ctx2, spec, func(part float64) { told(i, part, false) })
			if err != nil {
				return err
			}
			mu.Lock()
			all[s.Loads[j.load].Name][j.feature] = r
			mu.Unlock()
			told(i, 1, true)
			return nil
		})
	}
	return all, g.Wait()
}
