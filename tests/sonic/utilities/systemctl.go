// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Files of the stand-in.
const (
	unitsFolder = "/usr/lib/systemd/system"
	systemctls  = "/run/systemctl"     // a folder with a file for each unit that is enabled, masked or active
	systemctlIn = "/run/systemctl/log" // the calls, a line each
)

// systemctl is a stand-in for systemd's command, for machines where that is not the first
// process. It starts and stops units as their files say, records which ones are enabled, masked
// and active, and logs each call. Units without a file are accepted: they are SONiC's others.
func systemctl(args []string) int {
	words := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return strings.HasPrefix(a, "-") })
	if len(words) == 0 {
		return 1
	}
	line := strings.Join(args, " ")
	if log, err := os.OpenFile(systemctlIn, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666); err == nil {
		fmt.Fprintln(log, line)
		_ = log.Close()
	}
	verb, u := words[0], unit("")
	if len(words) > 1 {
		u = unitNamed(words[1])
	}
	switch verb {
	case "enable", "mask":
		u.mark(verb+"d", true)
	case "disable", "unmask":
		u.mark(map[string]string{"disable": "enabled", "unmask": "maskd"}[verb], false)
	case "start", "restart":
		if u.is("maskd") {
			fmt.Fprintf(os.Stderr, "Failed to start %s: Unit %s is masked.\n", u, u)
			return 1
		}
		if verb == "restart" {
			u.stop()
		}
		return u.start()
	case "stop":
		return u.stop()
	case "is-active":
		return answer(u.is("active"), "active", "inactive")
	case "is-enabled":
		return answer(u.is("enabled"), "enabled", "disabled")
	case "is-system-running":
		fmt.Println("running")
	case "list-dependencies":
		fmt.Println("sonic.target")
	case "show":
		u.show(line)
	}
	return 0
}

// answer prints which of two states it is, and returns the exit status.
func answer(yes bool, state, other string) int {
	if yes {
		fmt.Println(state)
		return 0
	}
	fmt.Println(other)
	return 3
}

// A unit is the name of a unit, with its suffix.
type unit string

func unitNamed(name string) unit {
	if filepath.Ext(name) == "" {
		name += ".service"
	}
	return unit(name)
}

func (u unit) state(s string) string { return filepath.Join(systemctls, string(u)+"."+s) }

func (u unit) is(s string) bool {
	_, err := os.Stat(u.state(s))
	return err == nil
}

func (u unit) mark(s string, on bool) {
	if on {
		_ = os.WriteFile(u.state(s), nil, 0o666)
		return
	}
	_ = os.Remove(u.state(s))
}

// start runs the commands before the main process of the unit, which only waits.
func (u unit) start() int {
	if u.is("active") {
		return 0
	}
	for _, line := range u.lines("ExecStartPre") {
		if code := run(line); code != 0 {
			fmt.Fprintf(os.Stderr, "Job for %s failed.\n", u)
			return 1
		}
	}
	u.mark("active", true)
	return 0
}

func (u unit) stop() int {
	if !u.is("active") {
		return 0
	}
	u.mark("active", false)
	for _, line := range u.lines("ExecStop") {
		run(line)
	}
	return 0
}

// show prints the property that the command line asks for.
func (u unit) show(line string) {
	states := map[string]string{
		"ActiveState":                   map[bool]string{true: "active", false: "inactive"}[u.is("active")],
		"UnitFileState":                 map[bool]string{true: "enabled", false: "disabled"}[u.is("enabled")],
		"LoadState":                     "loaded",
		"ActiveEnterTimestampMonotonic": "1000000",
		"ExecMainExitTimestamp":         "", // of a unit that never ended
	}
	if u.is("maskd") {
		states["UnitFileState"] = "masked"
	}
	for name, state := range states {
		if strings.Contains(line, name) {
			if strings.Contains(line, "--value") {
				fmt.Println(state)
			} else {
				fmt.Printf("%s=%s\n", name, state)
			}
		}
	}
}

// lines returns the values of a key in the unit's file.
func (u unit) lines(key string) (values []string) {
	name, instance := string(u), ""
	if base, rest, found := strings.Cut(name, "@"); found {
		name, instance = base+"@.service", strings.TrimSuffix(rest, ".service")
	}
	file, err := os.Open(filepath.Join(unitsFolder, name))
	if err != nil {
		return nil
	}
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		if value, ok := strings.CutPrefix(s.Text(), key+"="); ok {
			values = append(values, strings.ReplaceAll(value, "%i", instance))
		}
	}
	return values
}

// run runs a command line of a unit, and returns its exit status.
func run(line string) int {
	words := strings.Fields(line)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", line, err)
		return 1
	}
	return 0
}
