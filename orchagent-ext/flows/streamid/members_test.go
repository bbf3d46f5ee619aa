// SPDX-License-Identifier: Apache-2.0

package streamid

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/tests/etcdtest"
)

// TestMembersDie kills members of etcd while nodes allocate, the leader too, and
// at last all of them.
func TestMembersDie(t *testing.T) {
	t.Parallel() // it waits most of its time
	c := etcdtest.Start(t, 3, "http")
	var nodes []*node
	for i := range 3 {
		// a machine under load elects a leader late, and a node that has lost its lease claims all again
		nodes = append(nodes, runFor(t, 4*testValidity, fmt.Sprint("n", i), c.URLs(), nil))
		nodes[i].leased(t, true)
	}
	watch(t, nodes...)
	const flows = 400 // of each step and node, half of them shared
	step := 0
	during := func(what string, do func()) {
		began := time.Now()
		var all sync.WaitGroup
		for i, n := range nodes {
			all.Go(func() { n.allocate(t, 10_000*step, 10_000*step+flows/2) })
			all.Go(func() { n.allocate(t, 10_000*step+1000*(i+1), 10_000*step+1000*(i+1)+flows/2) })
		}
		do()
		all.Wait()
		step++
		for _, n := range nodes {
			n.settled(t, step*flows)
		}
		agree(t, c.Client, nodes...)
		t.Logf("%s: %d flows on each node in %s, leases lost so far: %d %d %d", what, flows, time.Since(began).Round(time.Millisecond),
			nodes[0].Stats().Lost, nodes[1].Stats().Lost, nodes[2].Stats().Lost)
	}
	follower := (c.Leader() + 1) % 3
	during("a follower dies", func() { c.Kill(follower) })
	during("it comes back", func() { c.Start(follower) })
	leader := c.Leader()
	during("the leader dies", func() { c.Kill(leader) })
	during("it comes back", func() { c.Start(leader) })

	before := nodes[0].allocate(t, 0, flows/2)
	for i := range c.Members {
		c.Kill(i)
	}
	gone := time.Now()
	for _, n := range nodes {
		n.leased(t, false)
	}
	t.Logf("without etcd the nodes say lost after %s", time.Since(gone).Round(10*time.Millisecond))
	over, cancel := context.WithCancel(t.Context())
	cancel() // who waits for etcd says this
	if _, err := nodes[0].Allocate(over, testKey(0)); !errors.Is(err, ErrLost) {
		t.Errorf("allocated without etcd: %v", err)
	}
	if _, ok := nodes[0].ID(testKey(0)); ok {
		t.Error("an id is valid without etcd")
	}
	for i := range c.Members {
		c.Start(i)
	}
	during("all come back", func() {})
	same(t, before, nodes[0].allocate(t, 0, flows/2))
}

// TestNodeLogsInAsUser lets a node speak as a user of etcd, who may write below /sluice/ only.
func TestNodeLogsInAsUser(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, "http")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	const password = "correct-horse"
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(c.Client.UserAdd(ctx, "root", "x"))
	do(c.Client.UserGrantRole(ctx, "root", "root"))
	do(c.Client.RoleAdd(ctx, "sluice"))
	do(c.Client.RoleGrantPermission(ctx, "sluice", "/sluice/", "/sluice0", 2)) // read and write
	do(c.Client.UserAdd(ctx, "switch", password))
	do(c.Client.UserGrantRole(ctx, "switch", "sluice"))
	do(c.Client.AuthEnable(ctx))

	n := startNode(t, "n", c.URLs(), func(c *Config) { c.User, c.Password, c.PlaintextPassword = "switch", password, true })
	n.must(t, testKey(1))
	refused(t, c.URLs(), "authentication failed", "wrong-pony", func(c *Config) { c.User, c.Password, c.PlaintextPassword = "switch", "wrong-pony", true })
	refused(t, c.URLs(), "user name is empty", password, nil)

	// A node connects by its files, and again when they change.
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		t.Helper()
		do(nil, os.WriteFile(file+".new", []byte(text), 0o600))
		do(nil, os.Rename(file+".new", file))
	}
	write("wrong-pony\n")
	n = runNode(t, "by-file", c.URLs(), func(c *Config) { c.User, c.PasswordFile, c.PlaintextPassword = "switch", file, true })
	etcdtest.Eventually(t, patience, "the reason", func() error {
		if err := n.Err(); err == nil || !strings.Contains(err.Error(), "authentication failed") {
			return fmt.Errorf("%w", err)
		}
		return nil
	})
	write(password)
	n.leased(t, true)
	write(password + "\n# since today\n")
	etcdtest.Eventually(t, patience, "a second lease", func() error {
		if s := n.Stats(); s.Leases != 2 || s.Lost != 0 {
			return fmt.Errorf("%+v", s)
		}
		return nil
	})
	n.leased(t, true)
}

// A member that starts again has forgotten the tokens that it gave out.
func TestNodeLogsInAgainAfterEtcdRestarts(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, "http")
	c.RequirePasswords("correct-horse")
	n := startNode(t, "n", c.URLs(), func(c *Config) { c.User, c.Password, c.PlaintextPassword = "switch", "correct-horse", true })
	id := n.must(t, testKey(1))
	for range 2 {
		c.Kill(0)
		n.leased(t, false)
		c.Start(0)
		n.leased(t, true)
		if is := n.must(t, testKey(1)); is != id {
			t.Errorf("the flow has id %d, want %d as before", is, id)
		}
	}
}
