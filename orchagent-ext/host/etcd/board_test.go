// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"sluice/tests/etcdtest"
)

const patience = time.Minute

// testBoard is a board that runs, until the test ends or it is stopped.
type testBoard struct {
	*Board
	stop func() // returns when Run has
}

func boardConfig(t *testing.T, c *etcdtest.Cluster, node string) BoardConfig {
	return BoardConfig{
		Config: Config{Endpoints: c.URLs(), Domain: strings.ReplaceAll(t.Name(), "/", "_")}, Name: "placement", Node: node,
		MostRows: 4, MostOctets: 100, MostTotal: 250, Log: slog.New(slog.DiscardHandler),
	}
}

func startBoard(t *testing.T, c *etcdtest.Cluster, node string) *testBoard {
	t.Helper()
	return startBoardOf(t, c, node, 3*time.Second, boardAttempt)
}

func startBoardOf(t *testing.T, c *etcdtest.Cluster, node string, lease, attempt time.Duration) *testBoard {
	t.Helper()
	b, err := NewBoard(boardConfig(t, c, node))
	if err != nil {
		t.Fatal(err)
	}
	return runBoard(t, b, lease, attempt)
}

func runBoard(t *testing.T, b *Board, lease, attempt time.Duration) *testBoard {
	b.lease, b.every, b.attempt = lease, 100*time.Millisecond, attempt
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := b.Run(ctx); err != nil {
			t.Error(err)
		}
	}()
	is := &testBoard{Board: b, stop: func() { cancel(); <-done }}
	t.Cleanup(is.stop)
	return is
}

// await waits for a view, and returns it.
func (b *testBoard) await(t *testing.T, what string, good func(View) bool) (v View) {
	t.Helper()
	etcdtest.Eventually(t, patience, what, func() error {
		if v = b.View(); !good(v) {
			return fmt.Errorf("%s: %+v", b.config.Node, v)
		}
		return nil
	})
	return v
}

func leads(v View) bool { return v.Err == nil && v.Leads }

// Nodes see each other's rows; one leads, and what it publishes comes to each, whole. A
// leader that ends is followed by another.
func TestBoardSharesRowsAndLeads(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, "http")
	a := startBoard(t, c, "a")
	a.Put([]byte("of a"))
	a.await(t, "the first leads", leads)
	b := startBoard(t, c, "b")
	b.Put([]byte("of b"))
	for _, is := range []*testBoard{a, b} {
		is.await(t, "rows", func(v View) bool {
			return v.Err == nil && string(v.Rows["a"]) == "of a" && string(v.Rows["b"]) == "of b" && v.Leader == "a" && v.Leads == (is == a)
		})
	}
	before := b.View().Number
	a.Put([]byte("other"))
	if v := b.await(t, "another row", func(v View) bool { return string(v.Rows["a"]) == "other" }); v.Number == before {
		t.Error("the rows have the number of other rows")
	}

	b.Publish(1, "by b", map[string][]byte{"a": []byte("no")}) // it does not lead
	a.Publish(7, "shape", map[string][]byte{"a": []byte("for a"), "b": []byte("for b")})
	for name, is := range map[string]*testBoard{"a": a, "b": b} {
		is.await(t, "the part", func(v View) bool {
			return v.Published == 7 && v.About == "shape" && string(v.Part) == "for "+name
		})
	}

	// A leader that dies between two parts: others go on with what was published.
	prefix := "/sluice/" + t.Name() + "/placement/"
	for key, value := range map[string]string{"part/0000000000000008/b": "half", "part/0000000000000003/b": "older"} {
		if _, err := c.Client.Put(t.Context(), prefix+key, value); err != nil {
			t.Fatal(err)
		}
	}
	a.stop()
	b.await(t, "the other leads, and the row is gone", func(v View) bool {
		return leads(v) && v.Rows["a"] == nil && v.Published == 7 && string(v.Part) == "for b"
	})
	b.Publish(8, "next", map[string][]byte{"c": []byte("for c")})
	b.await(t, "nothing of it is for b", func(v View) bool { return v.Published == 8 && v.Part == nil })
	all, err := c.Client.Get(t.Context(), prefix+"part/", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || len(all.Kvs) != 1 || string(all.Kvs[0].Key) != prefix+"part/0000000000000008/c" {
		t.Errorf("parts are left: %v, %v", all, err)
	}

	// What another program removes comes back, and what it writes does no harm.
	for _, key := range []string{"row/b", "leader"} {
		if _, err := c.Client.Delete(t.Context(), prefix+key); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string][]byte{"row/large": bytes.Repeat([]byte("x"), 101), "published": []byte("soon")} {
		if _, err := c.Client.Put(t.Context(), prefix+key, string(value)); err != nil {
			t.Fatal(err)
		}
	}
	b.await(t, "the row is there again", func(v View) bool {
		return leads(v) && string(v.Rows["b"]) == "of b" && v.Aside["large"] != nil && v.Published == 0 && v.Aside[prefix+"published"] != nil
	})
	for i, key := range []string{"c", "d", "e"} {
		if _, err := c.Client.Put(t.Context(), prefix+"row/"+key, strings.Repeat("x", 90+i)); err != nil {
			t.Fatal(err)
		}
	}
	b.await(t, "more rows, and more octets, than are possible", func(v View) bool {
		return len(v.Rows) == 3 && v.Aside["e"] != nil && v.Aside["…"] != nil
	})
}

// Two nodes of one name: the second one shares nothing, and says why. Without etcd nothing
// is shared, and it is told.
func TestBoardThatIsNotShared(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, "http")
	const lease, attempt = 2 * time.Second, 500 * time.Millisecond // each is waited for
	b := startBoardOf(t, c, "b", lease, attempt)
	b.Put([]byte("of b"))
	b.await(t, "it leads", func(v View) bool { return leads(v) && string(v.Rows["b"]) == "of b" })
	twin := startBoardOf(t, c, "b", lease, attempt)
	twin.Put([]byte("of its twin"))
	twin.await(t, "the reason", func(v View) bool {
		return v.Err != nil && strings.Contains(v.Err.Error(), `another switch is called "b"`)
	})
	if v := b.View(); string(v.Rows["b"]) != "of b" {
		t.Errorf("the row of b is %s", v.Rows["b"])
	}
	twin.stop()

	c.Kill(0)
	b.await(t, "nothing is shared", func(v View) bool {
		return errors.Is(v.Err, ErrNotShared) && len(v.Rows) == 0 && v.Part == nil
	})
	c.Start(0)
	b.await(t, "it comes back", func(v View) bool { return leads(v) && string(v.Rows["b"]) == "of b" })
	b.stop()
	if len(b.former) == 0 {
		t.Error("the lease that was lost is not remembered as this board's")
	}
}

// What a board wrote under a lease that it lost, while etcd was away, is its own: it goes on
// at once, before that lease ends, and others never see it gone. Keys of any other lease
// stay.
func TestBoardTakesOverWhatIsUnderItsFormerLease(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, "http")
	prefix := "/sluice/" + t.Name() + "/placement/"
	leave := func(seconds int64, keys ...string) clientv3.LeaseID {
		lease, err := c.Client.Grant(t.Context(), seconds)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			if _, err := c.Client.Put(t.Context(), prefix+key, "b", clientv3.WithLease(lease.ID)); err != nil {
				t.Fatal(err)
			}
		}
		return lease.ID
	}
	const longerThanTheTest = 3600
	former := leave(longerThanTheTest, "row/b", "leader")
	leave(longerThanTheTest, "row/other")

	b, err := NewBoard(boardConfig(t, c, "b"))
	if err != nil {
		t.Fatal(err)
	}
	b.former = []clientv3.LeaseID{12345, former}
	is := runBoard(t, b, 3*time.Second, boardAttempt)
	is.Put([]byte("of b"))
	is.await(t, "it goes on", func(v View) bool { return leads(v) && string(v.Rows["b"]) == "of b" })
	is.Publish(3, "shape", map[string][]byte{"b": []byte("part")})
	is.await(t, "it publishes", func(v View) bool { return v.Published == 3 && string(v.Part) == "part" })
	for _, key := range []string{"row/b", "leader"} {
		got, err := c.Client.Get(t.Context(), prefix+key)
		if err != nil || len(got.Kvs) != 1 || got.Kvs[0].Version < 2 || clientv3.LeaseID(got.Kvs[0].Lease) == former {
			t.Errorf("%s: %v, %v: the key of before is to go on, under the lease of now", key, got, err)
		}
	}

	other, err := NewBoard(boardConfig(t, c, "other"))
	if err != nil {
		t.Fatal(err)
	}
	other.former = []clientv3.LeaseID{former}
	twin := runBoard(t, other, 3*time.Second, boardAttempt)
	twin.Put([]byte("mine?"))
	twin.await(t, "the reason", func(v View) bool {
		return v.Err != nil && strings.Contains(v.Err.Error(), `another switch is called "other"`)
	})
}

// A publication is written in transactions that etcd takes, and put in force by the last.
func TestPublicationIsPutInForceLast(t *testing.T) {
	s := &boardSession{Board: &Board{}, keys: "/sluice/d/placement/", view: View{Published: 4}}
	p := &publication{number: 5, about: "x", parts: map[string][]byte{}}
	for i := range 200 {
		p.parts[fmt.Sprint("leaf", i)] = make([]byte, 10<<10)
	}
	all := s.writes(p)
	puts := 0
	for i, ops := range all {
		octets := 0
		for _, op := range ops {
			if octets += len(op.ValueBytes()); op.IsPut() {
				puts++
			}
			if last := i == len(all)-1; strings.HasSuffix(string(op.KeyBytes()), "published") != (last && op.IsPut()) {
				t.Errorf("transaction %d of %d writes %s", i, len(all), op.KeyBytes())
			}
		}
		if len(ops) > mostPuts || octets > mostPayload {
			t.Errorf("a transaction has %d operations of %d octets", len(ops), octets)
		}
	}
	if puts != 201 {
		t.Errorf("%d puts, want one for each leaf and the number", puts)
	}
}

func TestPublishedIsParsed(t *testing.T) {
	for text, good := range map[string]bool{
		publishedText(1<<61, "shape of it"): true, "0000000000000007": true, "": false, "x": false, "-1 a": false, "4000000000000000 a": false,
		"1 " + strings.Repeat("x", 256): false,
	} {
		if n, about, err := parsePublished(text); (err == nil) != good || good && n == 0 || err != nil && (n != 0 || about != "") {
			t.Errorf("%q is %d, %q, %v", text, n, about, err)
		}
	}
}

func TestNodesAreNamed(t *testing.T) {
	for _, node := range []string{"", "a/b", strings.Repeat("x", 256)} {
		if _, err := NewBoard(BoardConfig{Config: Config{Endpoints: []string{"http://a:1"}}, Node: node}); err == nil {
			t.Errorf("node %.10q is accepted", node)
		}
	}
}
