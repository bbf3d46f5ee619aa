// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/host/clock"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/yang/rows"
)

// Times and bounds of the control plane of a switch.
const (
	startPatience = 20 * time.Second // until sluiced reports that it runs
	applyPatience = 10 * time.Second // for a row to be on the switch
	stopPatience  = 5 * time.Second
	statePoll     = time.Millisecond
	// lastWords: lines of the log that are shown when something is wrong
	lastWords = 12
)

// A plane is the control plane of one switch: databases and sluiced.
type plane struct {
	redis         *privateredis.Server
	databases     []*sonicdb.DB
	config, state *sonicdb.DB
	counters      *sonicdb.DB
	sluiced       *fabric.Process
	log           string // file of the log of sluiced
}

// A site is the place of a plane, and the rows that it begins with.
type site struct {
	node *fabric.Node
	log  string // name of the file of the log of sluiced
	// profile: KEY=VALUE for the library, behind those of the [Config]
	profile []string
	rows    []sonicdb.Change // CONFIG_DB
}

// startPlane starts Redis in a folder and sluiced in the switch's namespace, and
// waits until it runs. The context that it returns ends when sluiced does; its
// cause is how it ended. Close the plane in the end, after an error, too.
func startPlane(ctx context.Context, c Config, folder string, s site) (*plane, context.Context, error) {
	p := &plane{log: filepath.Join(c.Out, s.log)}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return p, ctx, err
	}
	if err := os.Remove(p.log); err != nil && !errors.Is(err, os.ErrNotExist) {
		return p, ctx, err
	}
	err := p.startRedis(ctx, folder, s.rows)
	if err != nil {
		return p, ctx, err
	}
	ctx, err = p.run(ctx, c, s)
	return p, ctx, err
}

// run starts sluiced, for [startPlane] and for callers that stopped it. With some
// of its capabilities removed it runs degraded.
func (p *plane) run(ctx context.Context, c Config, s site, without ...uintptr) (context.Context, error) {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return ctx, err
	}
	defer log.Close()
	cmd := exec.Command(c.Sluiced, "--db-config", p.redis.Config, "--sai-library", c.Library)
	for _, pair := range slices.Concat(c.Profile, s.profile) {
		cmd.Args = append(cmd.Args, "--sai-profile", pair)
	}
	cmd.Stdout, cmd.Stderr = log, log
	if p.sluiced, err = s.node.Start(cmd, without...); err != nil {
		return ctx, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	sluiced := p.sluiced
	go func() {
		select {
		case <-sluiced.Done():
			cancel(fmt.Errorf("sluiced ended (%w)%s", ended(sluiced.Wait()), p.words()))
		case <-ctx.Done():
			cancel(nil)
		}
	}()
	want := "running"
	if len(without) > 0 {
		want = "degraded"
	}
	_, err = p.await(ctx, startPatience, "SLUICE_STATE", "global", "state", want)
	return ctx, err
}

// ended returns an error that names a clean exit, which is also an error where a program
// should run on.
func ended(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}

// startRedis starts a Redis of its own in the folder, opens its databases, and writes the
// first rows of CONFIG_DB.
func (p *plane) startRedis(ctx context.Context, folder string, changes []sonicdb.Change) (err error) {
	if p.redis, err = privateredis.Start(folder); err != nil {
		p.redis = nil
		return err
	}
	databases, err := sonicdb.Load(p.redis.Config, "")
	if err != nil {
		return err
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &p.config, "STATE_DB": &p.state, "COUNTERS_DB": &p.counters} {
		if *db, err = sonicdb.Open(databases, name, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
		p.databases = append(p.databases, *db)
	}
	return p.config.Write(ctx, changes...)
}

// portRow is a port as SONiC has it.
func portRow(port *fabric.Interface, index int) sonicdb.Change {
	return set("PORT", port.Name, map[string]string{
		"alias": port.Name, "index": fmt.Sprint(index), "lanes": fmt.Sprint(4 * index),
		"speed": fmt.Sprint(portMbps), "mtu": fmt.Sprint(fabric.MTU), "admin_status": "up",
	})
}

// portRows returns the rows of the leaf's ports, with their roles.
func portRows(s *fabric.LeafSpine) []sonicdb.Change {
	var changes []sonicdb.Change
	for i, port := range append([]*fabric.Interface{s.LeafA}, s.Uplinks...) {
		role := "fabric"
		if port == s.LeafA {
			role = "edge"
		}
		changes = append(changes, portRow(port, i), set("SLUICE_PORT", port.Name, map[string]string{"role": role}))
	}
	return changes
}

// enableLabels is the row that the demo is about.
func enableLabels() sonicdb.Change {
	return set("SLUICE_FLOW_LABEL", "global", map[string]string{"admin_state": "enabled", "manage_switch_hash": "true"})
}

// set returns the change that gives a row these fields.
func set(table, key string, fields map[string]string) sonicdb.Change {
	return sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}
}

// enable writes the row and waits until flow labels are in force. It returns how
// long that took and by which method the switch does it.
func (p *plane) enable(ctx context.Context) (took time.Duration, method string, err error) {
	start := time.Now()
	if err := p.config.Write(ctx, enableLabels()); err != nil {
		return 0, "", err
	}
	if _, err := p.await(ctx, applyPatience, "SLUICE_STATE", "global", "flow_label", "active"); err != nil {
		return 0, "", err
	}
	took = time.Since(start)
	capability, err := p.read(ctx, "SLUICE_CAPABILITY", "switch")
	return took, capability["flow_label_method"], err
}

// await waits until a field of STATE_DB has a value, and returns the row.
func (p *plane) await(ctx context.Context, patience time.Duration, table, key, field, value string) (map[string]string, error) {
	for deadline := time.Now().Add(patience); ; {
		fields, err := p.read(ctx, table, key)
		if err != nil || fields[field] == value {
			return fields, err
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("%s|%s: %s is %q and not %q after %v; the row: %s%s",
				table, key, field, fields[field], value, patience, sorted(fields), p.words())
		}
		if !clock.Sleep(ctx, statePoll) {
			return nil, ctx.Err()
		}
	}
}

// read returns the fields of a row of STATE_DB, nil for a missing one.
func (p *plane) read(ctx context.Context, table, key string) (map[string]string, error) {
	return field(ctx, p.state, table, key)
}

// field reads a row of a database; nil for a missing one.
func field(ctx context.Context, db *sonicdb.DB, table, key string) (map[string]string, error) {
	all, err := db.Read(ctx, table)
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

// sorted returns fields as text for an error, in the order of their names.
func sorted(fields map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		parts = append(parts, name+"="+fields[name])
	}
	if parts == nil {
		return "there is none"
	}
	return strings.Join(parts, " ")
}

// words are the last lines of sluiced's log, for behind an error.
func (p *plane) words() string {
	content, err := os.ReadFile(p.log)
	if err != nil || len(content) == 0 {
		return "; it wrote no log"
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	lines = lines[max(0, len(lines)-lastWords):]
	return "; the end of " + p.log + ":\n  " + strings.Join(lines, "\n  ")
}

// close ends sluiced and Redis.
func (p *plane) close() error {
	var errs []error
	if p.sluiced != nil {
		select {
		case <-p.sluiced.Done(): // the context's cause has the reason
		default:
			if err := p.sluiced.Stop(stopPatience); err != nil {
				errs = append(errs, fmt.Errorf("stop sluiced: %w%s", err, p.words()))
			}
		}
	}
	for _, db := range p.databases {
		errs = append(errs, db.Close())
	}
	if p.redis != nil {
		p.redis.Stop()
	}
	return errors.Join(errs...)
}
