// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
)

// A machine is a switch with its databases, where scenarios run commands.
type machine struct {
	request
	*report

	redis  *privateredis.Server
	config *sonicdb.DB // CONFIG_DB
	state  *sonicdb.DB // STATE_DB
}

// inside sets the switch up, and runs the scenarios.
func inside(ctx context.Context, r request) (err error) {
	m := &machine{request: r, report: &report{}}
	if err := m.files(); err != nil {
		return err
	}
	if err := m.databases(); err != nil {
		return err
	}
	defer m.redis.Stop()
	if m.Release, err = release(); err != nil {
		return err
	}
	var failed error
	for _, s := range r.wanted() {
		began := time.Now()
		fmt.Printf("%s: %s\n", s.name, s.about)
		if err := s.run(m, ctx); err != nil {
			m.judge(s.name, "runs to its end", err.Error())
		}
		fmt.Printf("%s: %.0f s\n", s.name, time.Since(began).Seconds())
		if err := m.write(r.out); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if n := m.failed(); n != 0 {
		failed = fmt.Errorf("%d of %d checks do not hold", n, len(m.Checks))
	} else {
		fmt.Printf("%d checks hold\n", len(m.Checks))
	}
	return failed
}

// databases starts Redis at SONiC's paths.
func (m *machine) databases() (err error) {
	const folder = "/run/redis"
	if err := os.MkdirAll(folder+"/sonic-db", 0o755); err != nil {
		return err
	}
	if m.redis, err = privateredis.Start(folder, "--port", "6379", "--bind", "127.0.0.1"); err != nil {
		return err
	}
	if err := writeJSON("/run/redis/sonic-db/database_config.json", databaseConfig(m.redis.Socket)); err != nil {
		return err
	}
	databases, err := sonicdb.Load("/run/redis/sonic-db/database_config.json", "")
	if err != nil {
		return err
	}
	if m.config, err = sonicdb.Open(databases, "CONFIG_DB", nil); err != nil {
		return err
	}
	m.state, err = sonicdb.Open(databases, "STATE_DB", nil)
	return err
}

// A result is how a command ended.
type result struct {
	code   int
	output string // standard output and error
}

// run runs a command of the switch. A command that cannot be started has code -1.
func (m *machine) run(ctx context.Context, name string, args ...string) result {
	if p := filepath.Base(name); !slices.Contains(m.Programs, p) {
		m.Programs = append(m.Programs, p)
	}
	ctx, stop := context.WithTimeout(ctx, 10*time.Minute)
	defer stop()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	res := result{output: out.String()}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		res.code = exit.ExitCode()
	case err != nil:
		res.code, res.output = -1, err.Error()
	}
	return res
}

// runs runs a command and judges that it ends with 0.
func (m *machine) runs(ctx context.Context, check string, name string, args ...string) result {
	res := m.run(ctx, name, args...)
	got := fmt.Sprintf("exit %d", res.code)
	if res.code != 0 {
		got += ": " + tail(res.output, 6)
	}
	m.judge(check, "exit 0", got)
	return res
}

// refuses runs a command and judges that it fails with a message that has a part.
func (m *machine) refuses(ctx context.Context, check, part string, name string, args ...string) result {
	res := m.run(ctx, name, args...)
	m.holds(check, res.code != 0 && strings.Contains(res.output, part), "refused: "+part, fmt.Sprintf("exit %d: %s", res.code, tail(res.output, 4)))
	return res
}

var releaseName = regexp.MustCompile(`build_version:.*?(20[0-9]{4}|master)`)

// release returns SONiC's release, such as 202505.
func release() (string, error) {
	const file = "/etc/sonic/sonic_version.yml"
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	of := releaseName.FindSubmatch(text)
	if of == nil {
		return "", fmt.Errorf("%s: build_version has no release, such as 202505", file)
	}
	return string(of[1]), nil
}

func writeJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "    ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o644)
}
