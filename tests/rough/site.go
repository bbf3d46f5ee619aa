// SPDX-License-Identifier: Apache-2.0

package main

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

const (
	patience = 2 * time.Minute // for something that takes milliseconds on an idle machine
	poll     = 5 * time.Millisecond
)

// A site is a switch with its databases and sluiced.
type site struct {
	redis         *privateredis.Server
	config, state *sonicdb.DB
	counters      *sonicdb.DB
	sluiced       *fabric.Process
	log           string
}

// start starts databases with rows for the ports, and sluiced in a switch's namespace. Several
// sites of one stage need names of their own. Close it in the end, after an error, too.
func (st *stage) start(ctx context.Context, node *fabric.Node, name string, roles map[*fabric.Interface]string, profile ...string) (*site, error) {
	s := &site{log: st.log}
	folder := filepath.Join(st.folder, name)
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
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &s.config, "STATE_DB": &s.state, "COUNTERS_DB": &s.counters} {
		if *db, err = sonicdb.Open(databases, name, slog.New(slog.DiscardHandler)); err != nil {
			return s, err
		}
	}
	index := 0
	for port, role := range roles {
		err = errors.Join(err,
			s.set(ctx, "PORT", port.Name, "lanes", fmt.Sprint(4*index), "admin_status", "up", "speed", "10000"),
			s.set(ctx, "SLUICE_PORT", port.Name, "role", role))
		index++
	}
	if err != nil {
		return s, err
	}
	library, err := filepath.Abs(filepath.Join(st.bin, "libsoftsai.so"))
	if err != nil {
		return s, err
	}
	log, err := os.OpenFile(st.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666)
	if err != nil {
		return s, err
	}
	defer log.Close()
	cmd := exec.Command(filepath.Join(st.bin, "sluiced"), "--db-config", s.redis.Config, "--sai-library", library, "--state-file", filepath.Join(folder, "sluiced.json"))
	for _, pair := range profile {
		cmd.Args = append(cmd.Args, "--sai-profile", pair)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if s.sluiced, err = node.Start(cmd); err != nil {
		return s, err
	}
	return s, s.await(ctx, "SLUICE_STATE", "global", "state", "running")
}

// set writes a row of CONFIG_DB, fields by name and value in turn.
func (s *site) set(ctx context.Context, table, key string, pairs ...string) error {
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	return s.config.Write(ctx, sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}})
}

// row reads a row of STATE_DB; nil: it is absent.
func (s *site) row(ctx context.Context, table, key string) (map[string]string, error) {
	all, err := s.state.Read(ctx, table)
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

// await waits until a field of a row of STATE_DB has a value.
func (s *site) await(ctx context.Context, table, key, field, value string) error {
	for deadline := time.Now().Add(patience); ; {
		fields, err := s.row(ctx, table, key)
		if err != nil || fields[field] == value {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s|%s: %s is %q after %v, and %q was expected; see %s", table, key, field, fields[field], patience, value, s.log)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.sluiced.Done():
			return fmt.Errorf("sluiced ended, see %s: %v", s.log, s.sluiced.Wait())
		case <-time.After(poll):
		}
	}
}

// sum adds up numeric fields of all rows of a table of STATE_DB, by name.
func (s *site) sum(ctx context.Context, table string, fields ...string) (map[string]int, error) {
	all, err := s.state.Read(ctx, table)
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

// close ends sluiced and the databases.
func (s *site) close() error {
	var errs []error
	if s.sluiced != nil {
		select {
		case <-s.sluiced.Done():
			errs = append(errs, fmt.Errorf("sluiced ended, see %s: %v", s.log, s.sluiced.Wait()))
		default:
			errs = append(errs, s.sluiced.Stop(patience))
		}
	}
	for _, db := range []*sonicdb.DB{s.config, s.state, s.counters} {
		if db != nil {
			errs = append(errs, db.Close())
		}
	}
	if s.redis != nil {
		s.redis.Stop()
	}
	return errors.Join(errs...)
}
