// SPDX-License-Identifier: Apache-2.0

package subscribe

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
	"sluice/gnmi-server/paths"
	"sluice/gnmi-server/tree"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// said is a message as text: its time since the start, and what it says.
type said struct {
	At   time.Duration
	Says []string
}

// listen runs a stream on simulated time and returns what it says from the
// sync_response on, until the time is over.
func listen(t *testing.T, live *tree.Live, d time.Duration, act func(), subs ...Subscription) []said {
	t.Helper()
	start := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	var all []said
	synced := make(chan struct{})
	s := Stream{Live: live, Limit: 1000, Encoding: gpb.Encoding_PROTO, Subscriptions: subs, Send: func(m *gpb.SubscribeResponse) error {
		if m.GetSyncResponse() {
			close(synced)
			all = nil
			return nil
		}
		n := m.GetUpdate()
		one := said{At: time.Unix(0, n.Timestamp).Sub(start)}
		for _, u := range n.Update {
			one.Says = append(one.Says, u.Path.Elem[len(u.Path.Elem)-1].Name+" "+strconv.FormatUint(u.Val.GetUintVal(), 10)+u.Val.GetStringVal())
		}
		for _, d := range n.Delete {
			one.Says = append(one.Says, paths.Text(d)+" gone")
		}
		all = append(all, one)
		return nil
	}}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	<-synced
	if act != nil {
		act()
	}
	if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return all
}

// Leaves that were found at different times are in Notifications of their own,
// however long they waited together.
func TestBundlesHaveOneTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := tree.NewLive()
		changes := newQueue(100, func(*tree.Cell) bool { return true })
		stop := live.Subscribe(changes, query(t, "/sonic-sluice-state/SLUICE_PORT_STATS/*/rx_packets"))
		defer stop()
		for i := range 3 {
			live.Apply("COUNTERS_DB", port(strconv.Itoa(i), 1))
			live.Apply("COUNTERS_DB", port("x"+strconv.Itoa(i), 1)) // at the same time
			time.Sleep(time.Second)
		}
		var sizes []int
		var times []time.Duration
		first := int64(0)
		s := Stream{Live: live, Encoding: gpb.Encoding_PROTO, Send: func(m *gpb.SubscribeResponse) error {
			n := m.GetUpdate()
			if first == 0 {
				first = n.Timestamp
			}
			sizes = append(sizes, len(n.Update))
			times = append(times, time.Duration(n.Timestamp-first))
			return nil
		}}
		if err := s.changed(changes); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{2, 2, 2}, sizes) + cmp.Diff([]time.Duration{0, time.Second, 2 * time.Second}, times); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// When samples and heartbeats come, on simulated time.
func TestHeartbeatsComeInTime(t *testing.T) {
	const second = time.Second
	for name, tt := range map[string]struct {
		sub  Subscription
		want []time.Duration // seconds in 7, in which the value never changes
	}{
		"ON_CHANGE":                              {Subscription{Mode: OnChange}, nil},
		"ON_CHANGE, heartbeat":                   {Subscription{Mode: OnChange, Heartbeat: 3 * second}, []time.Duration{3, 6}},
		"SAMPLE":                                 {Subscription{Mode: Sample, Interval: 2 * second}, []time.Duration{2, 4, 6}},
		"SAMPLE, longer heartbeat":               {Subscription{Mode: Sample, Interval: 2 * second, Heartbeat: 3 * second}, []time.Duration{2, 4, 6}},
		"SAMPLE, shorter heartbeat":              {Subscription{Mode: Sample, Interval: 5 * second, Heartbeat: 3 * second}, []time.Duration{3, 5, 6}},
		"SAMPLE, suppressed":                     {Subscription{Mode: Sample, Interval: 2 * second, Suppress: true}, nil},
		"SAMPLE, suppressed, heartbeat":          {Subscription{Mode: Sample, Interval: 2 * second, Suppress: true, Heartbeat: 3 * second}, []time.Duration{3, 6}},
		"SAMPLE, suppressed, shorter heartbeat":  {Subscription{Mode: Sample, Interval: 5 * second, Suppress: true, Heartbeat: 2 * second}, []time.Duration{2, 4, 6}},
		"SAMPLE, suppressed, the same heartbeat": {Subscription{Mode: Sample, Interval: 3 * second, Suppress: true, Heartbeat: 3 * second}, []time.Duration{3, 6}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live := tree.NewLive()
				live.Apply("COUNTERS_DB", port("a", 1))
				tt.sub.Query = query(t, counter)
				var got []time.Duration
				for _, s := range listen(t, live, 7*second, nil, tt.sub) {
					got = append(got, s.At/second)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("seconds (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A suppressed sample of two leaves has the one that changed, or came back, and
// nothing of what is gone.
func TestSuppressedSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := tree.NewLive()
		row := func(rx, tx string) {
			b := port("a", 0)
			b.Changes[0].Row.Fields = map[string]string{"rx_packets": rx, "tx_packets": tx}
			live.Apply("COUNTERS_DB", b)
		}
		row("1", "1")
		sub := Subscription{Query: query(t, "/sonic-sluice-state/SLUICE_PORT_STATS"), Mode: Sample, Interval: time.Second, Suppress: true}
		got := listen(t, live, 6500*time.Millisecond, func() {
			time.Sleep(500 * time.Millisecond)
			row("2", "1") // 1 s
			time.Sleep(time.Second)
			row("3", "1")
			row("2", "1") // 2 s: as it was
			time.Sleep(2 * time.Second)
			live.Apply("COUNTERS_DB", sonicdb.Batch{Changes: []sonicdb.Change{{Row: rows.Row{Table: "SLUICE_PORT_STATS", Key: "a"}, Deleted: true}}}) // 4 s
			time.Sleep(2 * time.Second)
			row("2", "1") // 6 s
		}, sub)
		want := []said{
			{1 * time.Second, []string{"rx_packets 2"}},
			{6 * time.Second, []string{"name 0a", "rx_packets 2", "tx_packets 1"}},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestMessagesFitABuffer: messages of flows, whose keys are long, take one of gRPC's smaller buffers
// each. The next larger one has 1 MiB.
func TestMessagesFitABuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := tree.NewLive()
		var changes []sonicdb.Change
		for i := range 100 {
			name := "2001:db8:0:1::" + strconv.Itoa(i) + "-2001:db8:bad:2::" + strconv.Itoa(i) + "-16777215"
			changes = append(changes, sonicdb.Change{Row: rows.Row{Table: "SLUICE_FLOW", Key: name, Fields: map[string]string{
				"src": "2001:db8:0:1::a", "dst": "2001:db8:bad:2::b", "dest_qp": "16777215", "flow_label": "1048575", "packets": "18446744073709551615", "bytes": "18446744073709551615",
			}}})
		}
		live.Apply("STATE_DB", sonicdb.Batch{Initial: true, Changes: changes})
		updates := 0
		s := Stream{Live: live, Encoding: gpb.Encoding_PROTO, Send: func(m *gpb.SubscribeResponse) error {
			if n := proto.Size(m); n > 32<<10 {
				t.Errorf("%d octets with %d updates", n, len(m.GetUpdate().Update))
			}
			updates += len(m.GetUpdate().Update)
			return nil
		}}
		out := s.message(time.Now())
		for _, c := range live.Select(query(t, "/sonic-sluice-state/SLUICE_FLOW/*")) {
			if err := out.add(c, c.State(), 0); err != nil {
				t.Fatal(err)
			}
		}
		if err := out.flush(); err != nil || updates < 600 {
			t.Errorf("%d updates: %v", updates, err)
		}
	})
}
