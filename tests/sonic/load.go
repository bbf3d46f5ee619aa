// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"time"

	"sluice/orchagent-ext/testbed/queuepairs"
)

const (
	flows     = 64
	firstPort = 49152 // UDP source port of the first flow
	rate      = 4000  // packets a second of all flows
)

// loaded sends a load of queue pairs, with sluiced's samples of it, while do runs.
func (s *sonic) loaded(ctx context.Context, v6 bool, do func(context.Context) error) (err error) {
	ports := make([]int, flows)
	for i := range ports {
		ports[i] = firstPort + i
	}
	load, err := queuepairs.Start(s.a, v6, rate, ports)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	wait, err := s.sample(ctx)
	if err != nil {
		stop()
		return errors.Join(err, load.End())
	}
	load.Send(queuepairs.Weights(flows, func(int) float64 { return 1 }))
	err = do(ctx)
	stop()
	return errors.Join(err, load.Failed(), load.End(), wait(), s.alive(), s.asics.failed())
}

// worst is max ÷ mean of the octets of receivers in a time, with their sum.
func (s *sonic) worst(ctx context.Context, span time.Duration, over ...int) (worst float64, sum uint64, err error) {
	if len(over) == 0 {
		for i := range uplinks {
			over = append(over, i)
		}
	}
	before, err := s.received(over)
	if err != nil {
		return 0, 0, err
	}
	select {
	case <-ctx.Done():
		return 0, 0, ctx.Err()
	case <-time.After(span):
	}
	after, err := s.received(over)
	if err != nil {
		return 0, 0, err
	}
	most := uint64(0)
	for i := range after {
		n := after[i] - before[i]
		sum += n
		most = max(most, n)
	}
	if sum == 0 {
		return 0, 0, errors.New("the receivers got nothing")
	}
	return float64(most) * float64(len(over)) / float64(sum), sum, nil
}

// received are the octets that came in at the spine's ports.
func (s *sonic) received(over []int) (all []uint64, err error) {
	for _, i := range over {
		c, err := s.spine[i].Counters()
		if err != nil {
			return nil, err
		}
		all = append(all, c.RxBytes)
	}
	return all, nil
}
