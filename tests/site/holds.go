// SPDX-License-Identifier: Apache-2.0

package site

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"sluice/orchagent-ext/testbed/fabric"
)

// Watch switches PFCM on, with a threshold of some octets at ports, behind which the switch at
// the other end is asked.
func (s *Site) Watch(ctx context.Context, highBytes int, toSwitches, toHosts []*fabric.Interface) error {
	err := s.Set(ctx, "SLUICE_THRESHOLD", "gold", "high_bytes", fmt.Sprint(highBytes))
	for _, p := range toSwitches {
		err = errors.Join(err, s.Set(ctx, "SLUICE_PORT", p.Name, "role", "fabric", "threshold", "gold", "upstream_neighbor", p.Peer().LinkLocal.String()))
	}
	for _, p := range toHosts {
		err = errors.Join(err, s.Set(ctx, "SLUICE_PORT", p.Name, "role", "edge", "threshold", "gold"))
	}
	return errors.Join(err, s.Set(ctx, "SLUICE_PFCM", "global", "admin_state", "enabled"))
}

// Ready waits until the switch holds flows.
func (s *Site) Ready(ctx context.Context) error {
	err := s.Await(ctx, "SLUICE_STATE", "global", "pfcm", "active")
	for _, field := range []string{"threshold_method", "hold_method"} {
		if err == nil {
			err = s.Await(ctx, "SLUICE_CAPABILITY", "switch", field, "exact")
		}
	}
	if err == nil {
		err = s.Await(ctx, "SLUICE_CAPABILITY", "switch", "hold_state", "active")
	}
	return err
}

// Notified is a counter of SLUICE_NOTIFY_STATS, 0 where it is absent.
func (s *Site) Notified(ctx context.Context, message, counter string) (int, error) {
	text, err := s.NotifiedText(ctx, message, counter)
	if err != nil || text == "" {
		return 0, err
	}
	return strconv.Atoi(text)
}

// NotifiedText is a field of SLUICE_NOTIFY_STATS, "" where it is absent.
func (s *Site) NotifiedText(ctx context.Context, message, field string) (string, error) {
	all, err := s.Counters.Read(ctx, "SLUICE_NOTIFY_STATS")
	for _, r := range all {
		if r.Key == message {
			return r.Fields[field], err
		}
	}
	return "", err
}

// Held fails where a switch held nothing: the scenario has shown nothing then.
func (s *Site) Held(ctx context.Context, by string) error {
	n, err := s.Notified(ctx, by, "held")
	if err == nil && n == 0 {
		err = fmt.Errorf("no flow was held by %s: the scenario has shown nothing", by)
	}
	return err
}

// Kill ends sluiced by a signal.
func (s *Site) Kill(by unix.Signal) error {
	turnsErr := s.readTurns()
	s.Sluiced.Signal(by)
	err := s.Sluiced.Wait()
	s.Sluiced = nil
	if by == unix.SIGKILL {
		err = nil
	}
	return errors.Join(err, turnsErr)
}
