// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Fifty writers set rows of their own while streams of every kind are opened, read for
// a while, and left, some before they have answered. The server keeps nothing of them.
func TestStreamsComeAndGo(t *testing.T) {
	s := start(t, "--max-streams", "128") // those that were left may take a moment to end
	const writers, readers, streams, rounds = 50, 20, 12, 2
	ctx := t.Context()
	writing, reading := s.client(), s.client()
	kinds := []*gpb.SubscribeRequest{
		list(gpb.SubscriptionList_STREAM, on("/sonic-sluice", gpb.SubscriptionMode_ON_CHANGE)),
		list(gpb.SubscriptionList_STREAM, sample(thresholds+"/*/high_bytes", 100*time.Millisecond), on(label, gpb.SubscriptionMode_TARGET_DEFINED)),
		list(gpb.SubscriptionList_ONCE, on("/", 0)),
		list(gpb.SubscriptionList_POLL, on(thresholds, 0)),
	}
	round := func(n int) {
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				row := fmt.Sprintf("/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=w%d]", w)
				for i := range 3 {
					_, err := writing.Set(ctx, &gpb.SetRequest{Update: []*gpb.Update{update(row, jsonOf(`{"high_bytes":`+strconv.Itoa(1000*n+i+2)+`}`))}})
					if err == nil && i == 2 {
						_, err = writing.Set(ctx, &gpb.SetRequest{Delete: []*gpb.Path{path(row)}})
					}
					if err != nil {
						t.Errorf("writer %d: %v", w, err)
						return
					}
				}
			})
		}
		for r := range readers {
			group.Go(func() {
				for i := range streams {
					if err := readSome(ctx, reading, kinds[(r+i)%len(kinds)], i%4); err != nil {
						t.Errorf("reader %d: %v", r, err)
						return
					}
				}
			})
		}
		group.Wait()
		s.eventually("no stream is open", func() bool {
			all, err := s.counter.Read(ctx, "SLUICE_GNMI_STATS")
			return err == nil && len(all) == 1 && all[0].Fields["streams"] == "0"
		})
	}
	round(0)
	before := s.memory()
	for n := range rounds {
		round(n + 1)
	}
	after := s.memory()
	t.Logf("memory of the server: %d MiB after %d streams, %d MiB after %d more", before>>20, readers*streams, after>>20, rounds*readers*streams)
	if after > before+memoryBound/4 {
		t.Errorf("the server has grown from %d to %d MiB", before>>20, after>>20)
	}
	is(t, "rows", s.rows(), rowsMap{})
}

// readSome opens a stream, reads at most n messages, and cancels it.
func readSome(ctx context.Context, c gpb.GNMIClient, r *gpb.SubscribeRequest, n int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	rpc, err := c.Subscribe(ctx)
	if err != nil {
		return err
	}
	if err := rpc.Send(r); err != nil {
		return err
	}
	if r.GetSubscribe().GetMode() == gpb.SubscriptionList_POLL {
		if err := rpc.Send(pollMessage()); err != nil {
			return err
		}
	}
	for range n {
		m, err := rpc.Recv()
		if err != nil {
			return err
		}
		if m.GetSyncResponse() {
			return nil // it depends on others whether more comes
		}
	}
	return nil
}

// Redis dies while a leaf is sampled, and comes back with another value: the
// samples go on, and show it.
func TestSamplesWithoutRedis(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
	s.shows(map[string]string{label + "/algorithm": "crc32"})
	st := s.subscribe(list(gpb.SubscriptionList_STREAM, sample(label+"/algorithm", 100*time.Millisecond)))
	st.until(map[string]string{label + "/algorithm": "crc32"})
	s.redis.Kill()
	last := st.next().GetUpdate().GetTimestamp()
	for range 5 {
		n := st.next().GetUpdate()
		is(t, "while Redis is down", values(n), map[string]string{label + "/algorithm": "crc32"})
		if n.Timestamp < last {
			t.Errorf("timestamp %d comes after %d", n.Timestamp, last)
		}
		last = n.Timestamp
	}
	if err := s.redis.Restart(true); err != nil {
		t.Fatal(err)
	}
	s.mustSetSoon(algorithm("draft-literal", nil))
	st.until(map[string]string{label + "/algorithm": "draft-literal"})
}
