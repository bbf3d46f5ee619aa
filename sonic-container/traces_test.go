// SPDX-License-Identifier: Apache-2.0

package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// pid is that of the process of a name inside, 0 if there is none.
func (b *box) pid(name string) int { return pidBeside(b.first, name) }

// pidBeside is that of the process of a name in the PID namespace of another, 0 if
// there is none.
func pidBeside(other int, name string) int {
	ours, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", other))
	if err != nil {
		return 0
	}
	comms, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, file := range comms {
		text, err := os.ReadFile(file)
		namespace, errNS := os.Readlink(filepath.Join(filepath.Dir(file), "ns/pid"))
		if errors.Join(err, errNS) == nil && string(text) == name+"\n" && namespace == ours {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}

// checkRights looks whether a process has these capabilities, and can get no others.
func checkRights(t *testing.T, name string, pid int, want string) {
	t.Helper()
	user := map[string]string{"sluiced": "50071", "sluice-gnmi": "50070"}[name]
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"CapPrm:\t" + want, "CapEff:\t" + want, "CapBnd:\t" + want, "NoNewPrivs:\t1", "Seccomp:\t2",
		"Uid:" + strings.Repeat("\t"+user, 4), "Gid:" + strings.Repeat("\t50070", 4)} {
		if !strings.Contains(string(status), line+"\n") {
			t.Errorf("%s: not %q:\n%s", name, line, status)
		}
	}
}

// set writes a row of CONFIG_DB, fields by name and value in turn.
func (b *box) set(table, key string, pairs ...string) { b.write(b.config, table, key, pairs...) }

func (b *box) write(db *sonicdb.DB, table, key string, pairs ...string) {
	b.t.Helper()
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	if err := db.Write(b.t.Context(), sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}}); err != nil {
		b.t.Fatal(err)
	}
}

// row reads a row of STATE_DB.
func (b *box) row(table, key string) map[string]string {
	b.t.Helper()
	all, err := b.state.Read(b.t.Context(), table)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, r := range all {
		if r.Key == key {
			return r.Fields
		}
	}
	return nil
}

// awaitRow waits until a row of STATE_DB has values, fields by name and value in turn.
func (b *box) awaitRow(table, key string, pairs ...string) {
	b.t.Helper()
	b.await(fmt.Sprintf("%s|%s %v", table, key, pairs), func() bool {
		row := b.row(table, key)
		for i := 0; i < len(pairs); i += 2 {
			if row[pairs[i]] != pairs[i+1] {
				return false
			}
		}
		return row != nil
	})
}

// traces are what Sluice could leave behind outside the container: keys in the
// databases, changes of the kernel, files beside Redis.
func (b *box) traces() map[string]string {
	b.t.Helper()
	found := map[string]string{
		"links":    b.in("ip", "-oneline", "link", "show"),
		"qdisc":    b.in("tc", "qdisc", "show"),
		"ingress":  b.in("tc", "filter", "show", "dev", "Ethernet0", "ingress"),
		"egress":   b.in("tc", "filter", "show", "dev", "Ethernet0", "egress"),
		"programs": b.programs(),
		"sysctl": b.in("sysctl", "net.ipv4.fib_multipath_hash_policy", "net.ipv4.fib_multipath_hash_fields",
			"net.ipv6.fib_multipath_hash_policy", "net.ipv6.fib_multipath_hash_fields"),
	}
	for id := range 7 {
		keys := strings.Fields(b.in("redis-cli", "-s", b.redis.Socket, "-n", strconv.Itoa(id), "--raw", "KEYS", "*"))
		slices.Sort(keys)
		found["keys of database "+strconv.Itoa(id)] = strings.Join(keys, "\n")
	}
	err := filepath.WalkDir(b.dir, func(path string, _ os.DirEntry, err error) error {
		switch name := strings.TrimPrefix(path, b.dir); name {
		case "/run/sluice", "/run/sluiced", "/lib/sluice", "/lib/sluice-gnmi": // they are the container's own
			return filepath.SkipDir
		default:
			found["file "+name] = ""
			return err
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}

// programs are the BPF programs on ports, each with its number.
func (b *box) programs() string {
	b.t.Helper()
	return b.in("bpftool", "net", "show")
}

var numbers = regexp.MustCompile(`:\[\d+\] id \d+`)

// unnumbered is programs without their numbers: a new sluiced puts a new program in
// the place of the old.
func unnumbered(programs string) string { return numbers.ReplaceAllString(programs, "") }

// removeConfig removes the rows of our models from CONFIG_DB.
func (b *box) removeConfig() { b.t.Helper(); b.deleteTables(b.config) }

// deleteState removes those of STATE_DB.
func (b *box) deleteState() { b.t.Helper(); b.deleteTables(b.state) }

func (b *box) deleteTables(db *sonicdb.DB) {
	b.t.Helper()
	all, err := db.Read(b.t.Context(), rows.Tables(db.Name)...)
	if err != nil || len(all) == 0 {
		b.t.Fatalf("%d rows in %s, %v", len(all), db.Name, err)
	}
	for _, r := range all {
		if err := db.Write(b.t.Context(), sonicdb.Change{Row: r, Deleted: true}); err != nil {
			b.t.Fatal(err)
		}
	}
}
