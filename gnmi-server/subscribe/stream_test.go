// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/tree"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

func query(t testing.TB, text string) *paths.Query {
	t.Helper()
	p, err := ygot.StringToStructuredPath(text)
	if err != nil {
		t.Fatal(err)
	}
	q, err := paths.Resolve(nil, p)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// port returns a row of counters.
func port(name string, packets int) sonicdb.Batch {
	return sonicdb.Batch{Changes: []sonicdb.Change{{Row: rows.Row{Table: "SLUICE_PORT_STATS", Key: name, Fields: map[string]string{"rx_packets": strconv.Itoa(packets)}}}}}
}

const counter = "/sonic-sluice-state/SLUICE_PORT_STATS/SLUICE_PORT_STATS_LIST[name=a]/rx_packets"

// 10 minutes of samples at 100 ms, while the clock is simulated: each interval is
// within 10 %, and none is missing.
func TestSamplesOnTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := tree.NewLive()
		live.Apply("COUNTERS_DB", port("a", 0))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute+50*time.Millisecond)
		defer cancel()
		var writer sync.WaitGroup
		defer writer.Wait()
		writer.Go(func() { // the counter never rests
			for i := 1; ctx.Err() == nil; i++ {
				live.Apply("COUNTERS_DB", port("a", i))
				time.Sleep(7 * time.Millisecond)
			}
		})
		var at []time.Time
		synced := false
		s := Stream{Live: live, Limit: 10, Encoding: gpb.Encoding_PROTO, Subscriptions: []Subscription{
			{Query: query(t, counter), Mode: Sample, Interval: 100 * time.Millisecond},
		}, Send: func(m *gpb.SubscribeResponse) error {
			if m.GetSyncResponse() {
				synced = true
			} else if synced {
				at = append(at, time.Unix(0, m.GetUpdate().Timestamp))
			}
			time.Sleep(3 * time.Millisecond) // the network
			return nil
		}}
		if err := s.Run(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if len(at) != 6000 {
			t.Errorf("%d samples, want 6000", len(at))
		}
		for i := 1; i < len(at); i++ {
			if d := at[i].Sub(at[i-1]); d < 90*time.Millisecond || d > 110*time.Millisecond {
				t.Fatalf("sample %d came after %v", i, d)
			}
		}
	})
}

// 200,000 changes of 100 leaves, while the client takes nothing: 100 leaves wait,
// and then come as they are now, with the number of what was left out.
func TestStalledClientCoalesces(t *testing.T) {
	live := tree.NewLive()
	const leaves, changes = 100, 200000
	for i := range leaves {
		live.Apply("COUNTERS_DB", port(fmt.Sprint(i), 0))
	}
	gate, synced := make(chan struct{}), make(chan struct{})
	last := make(map[string]uint64)
	var mu sync.Mutex
	var duplicates uint64
	ctx, cancel := context.WithCancel(t.Context())
	s := Stream{Live: live, Limit: leaves, Encoding: gpb.Encoding_PROTO, Subscriptions: []Subscription{
		{Query: query(t, "/sonic-sluice-state/SLUICE_PORT_STATS/*/rx_packets"), Mode: OnChange},
	}, Send: func(m *gpb.SubscribeResponse) error {
		if m.GetSyncResponse() {
			close(synced)
			<-gate
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		for _, u := range m.GetUpdate().GetUpdate() {
			last[paths.Text(u.Path)] = u.Val.GetUintVal()
			duplicates += uint64(u.Duplicates)
		}
		done := len(last) == leaves
		for _, v := range last {
			done = done && v == changes/leaves
		}
		if done {
			cancel()
		}
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-synced
	before := heap()
	for n := 1; n <= changes/leaves; n++ {
		for i := range leaves {
			live.Apply("COUNTERS_DB", port(fmt.Sprint(i), n))
		}
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("memory grew by %d octets", grown)
	}
	close(gate)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if duplicates != changes-leaves {
		t.Errorf("%d duplicates, want %d", duplicates, changes-leaves)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // octets of a test
}

// More leaves change than may wait: the stream ends, and another does not.
func TestFullQueue(t *testing.T) {
	live := tree.NewLive()
	run := func(limit int, gate <-chan struct{}, seen chan<- string) <-chan error {
		s := Stream{Live: live, Limit: limit, Encoding: gpb.Encoding_PROTO, Subscriptions: []Subscription{
			{Query: query(t, "/sonic-sluice-state/SLUICE_PORT_STATS/*/rx_packets"), Mode: OnChange},
		}, Send: func(m *gpb.SubscribeResponse) error {
			if m.GetSyncResponse() {
				seen <- "sync"
				<-gate
			}
			for _, u := range m.GetUpdate().GetUpdate() {
				seen <- u.Path.Elem[2].Key["name"]
			}
			return nil
		}}
		ended := make(chan error, 1)
		go func() { ended <- s.Run(t.Context()) }()
		return ended
	}
	gate, open := make(chan struct{}), make(chan struct{})
	close(open)
	slow, fast := make(chan string, 100), make(chan string, 100)
	ended := run(3, gate, slow)
	run(100, open, fast)
	<-slow
	<-fast
	for i := range 4 {
		live.Apply("COUNTERS_DB", port(fmt.Sprint(i), 1))
	}
	close(gate)
	if err := <-ended; !errors.Is(err, ErrSlow) {
		t.Errorf("the slow one ends with %v", err)
	}
	var got []string
	for range 4 {
		got = append(got, <-fast)
	}
	if diff := cmp.Diff([]string{"0", "1", "2", "3"}, got); diff != "" {
		t.Errorf("the fast one (-want +got):\n%s", diff)
	}
}

// BenchmarkFanOut is a change of 50 leaves to 100 streams.
func BenchmarkFanOut(b *testing.B) {
	live := tree.NewLive()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var sent, ready sync.WaitGroup
	const streams, leaves = 100, 50
	for range streams {
		ready.Add(1)
		s := Stream{Live: live, Limit: 1000, Encoding: gpb.Encoding_PROTO, Subscriptions: []Subscription{
			{Query: query(b, "/sonic-sluice-state/SLUICE_PORT_STATS/*/rx_packets"), Mode: OnChange},
		}, Send: func(m *gpb.SubscribeResponse) error {
			if m.GetSyncResponse() {
				ready.Done()
			}
			for _, u := range m.GetUpdate().GetUpdate() {
				sent.Add(-1 - int(u.Duplicates))
			}
			return nil
		}}
		go func() { _ = s.Run(ctx) }()
	}
	ready.Wait()
	n := 0
	for b.Loop() {
		n++
		batch := sonicdb.Batch{}
		for i := range leaves {
			batch.Changes = append(batch.Changes, port(fmt.Sprint(i), n).Changes...)
		}
		sent.Add(streams * leaves)
		live.Apply("COUNTERS_DB", batch)
		sent.Wait()
	}
	b.ReportMetric(float64(b.N*leaves)/b.Elapsed().Seconds(), "leaves/s/stream")
}
