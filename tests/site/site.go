// SPDX-License-Identifier: Apache-2.0

// Package site runs a switch for checks that are programs of their own: databases, and sluiced in
// a namespace of the testbed. tests/rough and tests/rdma call it. It reads and writes rows by
// sonicdb, and judges nothing.
package site

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

// Patience is for something that takes milliseconds on an idle machine; Poll is how often it is
// tried.
const (
	Patience = 2 * time.Minute
	Poll     = 5 * time.Millisecond
)

// A Site is a switch with its databases and sluiced.
type Site struct {
	State    *sonicdb.DB // STATE_DB
	Counters *sonicdb.DB // COUNTERS_DB
	Sluiced  *fabric.Process

	config *sonicdb.DB
	redis  *privateredis.Server
	log    string
	turns  *Turns
}

// Files are where a site has its own.
type Files struct {
	Programs string // folder of sluiced and libsoftsai.so
	Folder   string // of the databases, for this site alone; it is made
	Log      string // that sluiced appends to
	Turns    *Turns // gets those of the site when its sluiced is ended; nil: they are not read
}

// Start starts databases with rows for the ports, by their roles, and sluiced in a switch's
// namespace with pairs of the library's profile. Close it in the end, after an error, too.
func Start(ctx context.Context, node *fabric.Node, f Files, roles map[*fabric.Interface]string, profile ...string) (*Site, error) {
	s := &Site{log: f.Log, turns: f.Turns}
	folder := f.Folder
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return s, err
	}
	var err error
	if s.redis, err = privateredis.Start(folder); err != nil {
		return s, err
	}
	databases, err := sonicdb.Load(s.redis.Config, "")
	if err != nil {
		return s, err
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &s.config, "STATE_DB": &s.State, "COUNTERS_DB": &s.Counters} {
		if *db, err = sonicdb.Open(databases, name, slog.New(slog.DiscardHandler)); err != nil {
			return s, err
		}
	}
	index := 0
	for port, role := range roles {
		err = errors.Join(err,
			s.Set(ctx, "PORT", port.Name, "lanes", fmt.Sprint(4*index), "admin_status", "up", "speed", "10000"),
			s.Set(ctx, "SLUICE_PORT", port.Name, "role", role))
		index++
	}
	if err != nil {
		return s, err
	}
	library, err := filepath.Abs(filepath.Join(f.Programs, "libsoftsai.so"))
	if err != nil {
		return s, err
	}
	log, err := os.OpenFile(f.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return s, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(f.Programs, "sluiced"), "--db-config", s.redis.Config, "--sai-library", library, "--state-file", filepath.Join(folder, "sluiced.json"))
	for _, pair := range profile {
		cmd.Args = append(cmd.Args, "--sai-profile", pair)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if s.Sluiced, err = node.Start(cmd); err != nil {
		return s, err
	}
	return s, s.Await(ctx, "SLUICE_STATE", "global", "state", "running")
}

// Set writes a row of CONFIG_DB, fields by name and value in turn.
func (s *Site) Set(ctx context.Context, table, key string, pairs ...string) error {
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	return s.config.Write(ctx, sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}})
}

// Speed sets the speed of a port in CONFIG_DB, in Mbit/s.
func (s *Site) Speed(ctx context.Context, port *fabric.Interface, mbps int) error {
	all, err := s.config.Read(ctx, "PORT")
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.Key == port.Name {
			r.Fields["speed"] = fmt.Sprint(mbps)
			return s.config.Write(ctx, sonicdb.Change{Row: r})
		}
	}
	return fmt.Errorf("PORT|%s is not there", port.Name)
}

// Row reads a row of STATE_DB; nil: it is absent.
func (s *Site) Row(ctx context.Context, table, key string) (map[string]string, error) {
	all, err := s.State.Read(ctx, table)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if r.Key == key {
			return r.Fields, nil
		}
	}
	return nil, nil
}

// Await waits until a field of a row of STATE_DB has a value.
func (s *Site) Await(ctx context.Context, table, key, field, value string) error {
	for deadline := time.Now().Add(Patience); ; {
		fields, err := s.Row(ctx, table, key)
		if err != nil || fields[field] == value {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s|%s: %s is %q after %v, and %q was expected; see %s", table, key, field, fields[field], Patience, value, s.log)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Sluiced.Done():
			return fmt.Errorf("sluiced ended, see %s: %v", s.log, s.Sluiced.Wait())
		case <-time.After(Poll):
		}
	}
}

// Sum adds up numeric fields of all rows of a table of STATE_DB, by name.
func (s *Site) Sum(ctx context.Context, table string, fields ...string) (map[string]int, error) {
	all, err := s.State.Read(ctx, table)
	if err != nil {
		return nil, err
	}
	sums := map[string]int{}
	for _, r := range all {
		for _, field := range fields {
			if text, there := r.Fields[field]; there {
				n, err := strconv.Atoi(text)
				if err != nil {
					return nil, fmt.Errorf("%s|%s: %s: %w", table, r.Key, field, err)
				}
				sums[field] += n
			}
		}
	}
	return sums, nil
}

// Close ends sluiced and the databases.
func (s *Site) Close() error {
	var errs []error
	if s.Sluiced != nil {
		select {
		case <-s.Sluiced.Done():
			errs = append(errs, fmt.Errorf("sluiced ended, see %s: %v", s.log, s.Sluiced.Wait()))
		default:
			errs = append(errs, s.readTurns(), s.Sluiced.Stop(Patience))
		}
	}
	for _, db := range []*sonicdb.DB{s.config, s.State, s.Counters} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.redis != nil {
		s.redis.Stop()
	}
	return errors.Join(errs...)
}
