// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/fabric"
	"sluice/orchagent-ext/testbed/fabric/privateredis"
	"sluice/orchagent-ext/testbed/orchagenttest"
	"sluice/tests/fabrictest"
	"sluice/yang/rows"
)

const (
	bin  = "../../bin/"
	poll = 5 * time.Millisecond

	frozenSoon = "SLUICE_HOLD_FROZEN_MS=100" // as when it is not given
)

// patience is for what takes milliseconds on an idle machine. The flag -patience sets it.
var patience = 2 * time.Minute

// leaf is the leaf of host A – leaf == 4 uplinks == spine – host B, with Redis
// and, when it was started, sluiced.
type leaf struct {
	*fabric.LeafSpine
	t             testing.TB
	redis         *privateredis.Server
	config, state *sonicdb.DB
	countersDB    *sonicdb.DB
	appl          *sonicdb.DB
	sluiced       *fabric.Process
	way           way // no name: as the switch chooses
	orchagent     *orchagenttest.Orchagent
	log           *logged
	memory        string // its state file
}

// logged keeps what sluiced writes.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// needsPrograms is for a test before it makes a fabric. It skips one where make build has
// not made what it runs.
func needsPrograms(t testing.TB) {
	t.Helper()
	t.TempDir() // is made before the fabric, so that all of them are removed after sluiced has ended
	for _, file := range []string{"sluiced", "libsoftsai.so"} {
		if _, err := os.Stat(bin + file); err != nil {
			t.Skipf("needs what make build makes: %v", err)
		}
	}
}

func newLeaf(t testing.TB) *leaf {
	t.Helper()
	needsPrograms(t)
	return newSwitch(t, fabrictest.LeafSpine(t, 4))
}

// newSwitch gives the leaf of a shape its databases and the rows of its ports.
func newSwitch(t testing.TB, shape *fabric.LeafSpine) *leaf {
	t.Helper()
	l := &leaf{LeafSpine: shape, t: t, log: &logged{}, memory: filepath.Join(t.TempDir(), "sluiced.json")}
	var err error
	if l.redis, err = privateredis.Start(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.redis.Stop)
	databases, err := sonicdb.Load(l.redis.Config, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, db := range map[string]**sonicdb.DB{"CONFIG_DB": &l.config, "STATE_DB": &l.state, "COUNTERS_DB": &l.countersDB, "APPL_DB": &l.appl} {
		if *db, err = sonicdb.Open(databases, name, nil); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = (*db).Close() })
	}
	l.ports()
	l.witness()
	t.Cleanup(func() {
		l.checkNoFault()
		if t.Failed() {
			t.Logf("sluiced of the %s wrote:\n%s", l.Leaf.Name, l.log)
		}
	})
	return l
}

// ports writes the rows that say what the leaf's ports are.
func (l *leaf) ports() {
	l.t.Helper()
	for i, p := range append([]*fabric.Interface{l.LeafA}, l.Uplinks...) {
		role := "fabric"
		if p == l.LeafA {
			role = "edge"
		}
		l.set("PORT", p.Name, "lanes", fmt.Sprint(4*i), "admin_status", "up")
		l.set("SLUICE_PORT", p.Name, "role", role)
	}
}

// start starts sluiced, and waits until it runs.
func (l *leaf) start(args ...string) {
	l.t.Helper()
	l.launch(args...)
	l.await("SLUICE_STATE", "global", func(fields map[string]string) bool {
		return fields["state"] != "" && fields["state"] != "starting"
	})
}

// launch starts sluiced.
func (l *leaf) launch(args ...string) {
	l.t.Helper()
	l.launchWith(nil, args...)
}

// launchWith starts it by another command in front.
func (l *leaf) launchWith(front []string, args ...string) {
	l.t.Helper()
	library, err := filepath.Abs(bin + "libsoftsai.so")
	if err != nil {
		l.t.Fatal(err)
	}
	line := append(front, bin+"sluiced", "--db-config", l.redis.Config, "--sai-library", library, "--state-file", l.memory)
	if !slices.Contains(args, frozenSoon) {
		line = append(line, "--sai-profile", "SLUICE_HOLD_FROZEN_MS=60000") // the machine may stand still for a while
	}
	line = append(append(line, l.way.args...), args...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdout, cmd.Stderr = l.log, l.log
	if l.sluiced, err = l.Leaf.Start(cmd); err != nil {
		l.t.Fatal(err)
	}
	witnesses.Store(testOf(l.t), true)
}

// stop ends sluiced as SIGTERM does.
func (l *leaf) stop() {
	l.t.Helper()
	if err := l.sluiced.Stop(patience); err != nil {
		l.t.Fatalf("stop sluiced: %v", err)
	}
}

// set writes a row of CONFIG_DB, fields by name and value in turn.
func (l *leaf) set(table, key string, pairs ...string) {
	l.t.Helper()
	fields := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		fields[pairs[i]] = pairs[i+1]
	}
	l.write(sonicdb.Change{Row: rows.Row{Table: table, Key: key, Fields: fields}})
}

func (l *leaf) remove(table, key string) {
	l.t.Helper()
	l.write(sonicdb.Change{Row: rows.Row{Table: table, Key: key}, Deleted: true})
}

func (l *leaf) write(c ...sonicdb.Change) {
	l.t.Helper()
	if err := l.config.Write(context.Background(), c...); err != nil {
		l.t.Fatal(err)
	}
}

// table reads the rows of a table of STATE_DB, by key.
func (l *leaf) table(name string) map[string]map[string]string {
	all, err := l.state.Read(context.Background(), name)
	if err != nil {
		return nil // Redis is away, in some tests
	}
	found := map[string]map[string]string{}
	for _, r := range all {
		found[r.Key] = r.Fields
	}
	return found
}

// row returns a row of STATE_DB; nil: there is none.
func (l *leaf) row(table, key string) map[string]string {
	fields, err := one(context.Background(), l.state, table, key)
	if err != nil {
		return nil // Redis is away, in some tests
	}
	return fields
}

// one returns the fields of a row, without a scan of all keys; nil: there is none.
func one(ctx context.Context, db *sonicdb.DB, table, key string) (map[string]string, error) {
	found, err := db.Get(ctx, rows.Row{Table: table, Key: key})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0].Fields, nil
}

// await waits until a row of STATE_DB is as wanted, and returns it. After a long wait it looks less
// often: where a CPU is slow, looks take it from those that are waited for.
func (l *leaf) await(table, key string, wanted func(map[string]string) bool) map[string]string {
	l.t.Helper()
	began := time.Now()
	for deadline := time.Now().Add(patience); ; time.Sleep(max(poll, time.Since(began)/50)) {
		fields := l.row(table, key)
		if wanted(fields) {
			return fields
		}
		if time.Now().After(deadline) {
			l.t.Fatalf("%s|%s is %v after %v", table, key, fields, patience)
		}
		select {
		case <-l.sluiced.Done():
			l.t.Fatalf("sluiced ended: %v", l.sluiced.Wait())
		default:
		}
	}
}

// awaitFields waits until fields of a row have values.
func (l *leaf) awaitFields(table, key string, pairs ...string) map[string]string {
	l.t.Helper()
	want := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		want[pairs[i]] = pairs[i+1]
	}
	return l.await(table, key, func(fields map[string]string) bool {
		for name, v := range want {
			if fields[name] != v {
				return false
			}
		}
		return true
	})
}

// enable switches flow labels on, and waits until they are.
func (l *leaf) enable(pairs ...string) {
	l.t.Helper()
	l.labels(pairs...)
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active")
}

// labels writes the row that switches flow labels on.
func (l *leaf) labels(pairs ...string) {
	l.t.Helper()
	l.set("SLUICE_FLOW_LABEL", "global", append([]string{"admin_state", "enabled", "manage_switch_hash", "true"}, pairs...)...)
}

// objects are the ASIC objects of the ledger, by key.
func (l *leaf) objects() map[string]string {
	found := map[string]string{}
	for id, fields := range l.table("SLUICE_ASIC_OBJECT") {
		found[fields["key"]] = id
	}
	return found
}

// in runs a command in the leaf's namespace and returns its standard output.
func (l *leaf) in(command ...string) string {
	l.t.Helper()
	var out, stderr strings.Builder
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = &out, &stderr
	p, err := l.Leaf.Start(cmd)
	if err == nil {
		err = p.Wait()
	}
	if err != nil {
		l.t.Fatalf("%s: %v: %s%s", command, err, &out, &stderr)
	}
	return out.String()
}

var hashSettings = []string{
	"/proc/sys/net/ipv4/fib_multipath_hash_policy", "/proc/sys/net/ipv4/fib_multipath_hash_fields",
	"/proc/sys/net/ipv6/fib_multipath_hash_policy", "/proc/sys/net/ipv6/fib_multipath_hash_fields",
	seedSetting,
}

const seedSetting = "/proc/sys/net/ipv4/fib_multipath_hash_seed" // of both families, since Linux 6.11

// forwarding is what Sluice could have left behind in the leaf: programs on
// ports, and the hash settings.
func (l *leaf) forwarding() string {
	l.t.Helper()
	settings := slices.DeleteFunc(slices.Clone(hashSettings), func(file string) bool {
		_, err := os.Stat(file)
		return err != nil
	})
	return l.in("tc", "filter", "show", "dev", l.LeafA.Name, "ingress") + l.in(append([]string{"cat"}, settings...)...)
}
