// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/orchagent-ext/db/sonicdb"
	"sluice/yang/rows"
)

// Fifty writers race, each with Sets of two rows that must be alike; every other one
// has an error in its last leaf. Another client writes a third leaf of one of the rows
// meanwhile. Whenever Redis is read, the two rows are alike.
func TestFailedSetsWriteNothing(t *testing.T) {
	s := start(t)
	const writers, each = 50, 6
	two := func(n int, action string) *gpb.SetRequest {
		high := jsonOf(strconv.Itoa(n))
		return &gpb.SetRequest{Update: []*gpb.Update{
			update("/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=a]/high_bytes", high),
			update("/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=b]/high_bytes", high),
			update("/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=b]/action", str(action)),
		}}
	}
	s.mustSet(two(3, "pause"))

	done := make(chan struct{})
	var beside sync.WaitGroup
	beside.Go(func() { // another writer, of a leaf that the Sets leave alone
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			all, err := s.config.Read(t.Context(), "SLUICE_THRESHOLD")
			if err != nil || len(all) != 2 {
				t.Errorf("read: %v, %v", all, err)
				return
			}
			next := rows.Row{Table: all[0].Table, Key: all[0].Key, Fields: map[string]string{}}
			for f, v := range all[0].Fields {
				next.Fields[f] = v
			}
			next.Fields["reduction"] = strconv.Itoa(1 + i%63)
			_ = s.config.Swap(t.Context(), all[:1], sonicdb.Change{Row: next}) // or a Set was faster
		}
	})
	beside.Go(func() { // the witness
		for {
			select {
			case <-done:
				return
			default:
			}
			// One more read than rows: SCAN and HGETALL are not one transaction, but a pipeline's are.
			got := s.rows("SLUICE_THRESHOLD")
			n, err := strconv.Atoi(got["SLUICE_THRESHOLD|a"]["high_bytes"])
			if err != nil || n%2 == 0 || got["SLUICE_THRESHOLD|b"]["action"] != "pause" {
				t.Errorf("a Set that failed has written: %v", got)
				return
			}
		}
	})
	var group sync.WaitGroup
	var mu sync.Mutex
	outcome := make(map[codes.Code]int)
	c := s.client()
	for w := range writers {
		group.Go(func() {
			for i := range each {
				n, action := 2*(w*each+i)+3, "pause" // odd: valid
				if w%2 == 1 {
					n, action = n+1, "stop"
				}
				_, err := c.Set(limited(t), two(n, action))
				mu.Lock()
				outcome[status.Code(err)]++
				mu.Unlock()
			}
		})
	}
	group.Wait()
	close(done)
	beside.Wait()
	got := s.rows("SLUICE_THRESHOLD")
	is(t, "the two rows", got["SLUICE_THRESHOLD|a"]["high_bytes"], got["SLUICE_THRESHOLD|b"]["high_bytes"])
	if outcome[codes.InvalidArgument] != writers*each/2 || outcome[codes.OK]+outcome[codes.Aborted] != writers*each/2 || outcome[codes.OK] == 0 {
		t.Errorf("outcomes: %v", outcome)
	}
	t.Logf("outcomes: %v", outcome)
}

// flows makes changes of n rows of SLUICE_FLOW, whose leaves all have a value that
// ends in round.
func flows(n, round int) []sonicdb.Change {
	var changes []sonicdb.Change
	v := strconv.Itoa(round)
	for i := range n {
		changes = append(changes, sonicdb.Change{Row: rows.Row{Table: "SLUICE_FLOW", Key: fmt.Sprintf("::1,::2,%06d", i), Fields: map[string]string{
			"packets": v, "bytes": v, "queue_bytes": v, "rate_mbps": v, "dest_qp": v, "src_qp": v, "flow_label": v,
			"ingress_port": "Ethernet" + v, "egress_port": "Ethernet" + v,
		}}})
	}
	return changes
}

// A client stops reading, while 200,000 updates are due to it. The server's
// memory stays where it was; when more leaves wait than may, the client gets
// RESOURCE_EXHAUSTED; another one misses nothing.
func TestStalledClient(t *testing.T) {
	t.Parallel()
	const flowsAtOnce, rounds, leaves = 1000, 23, 9
	s := start(t, "--max-queue", "12000", "--max-stall", "1h")
	if err := s.state.Write(t.Context(), flows(flowsAtOnce, 0)...); err != nil {
		t.Fatal(err)
	}
	r := list(gpb.SubscriptionList_STREAM, on("/sonic-sluice-state/SLUICE_FLOW/*/rate_mbps", gpb.SubscriptionMode_ON_CHANGE))
	all := list(gpb.SubscriptionList_STREAM, on("/sonic-sluice-state/SLUICE_FLOW", gpb.SubscriptionMode_ON_CHANGE))
	stalled, reader := s.subscribe(all), s.subscribe(r)
	stalled.next()
	rates := make(map[string]uint64)
	follow := func(n, round int) {
		t.Helper()
		for done := 0; done < n; {
			for _, u := range reader.next().GetUpdate().GetUpdate() {
				rates[u.Path.Elem[2].Key["id"]] = u.Val.GetUintVal()
			}
			done = 0
			for _, v := range rates {
				if v == uint64(round) {
					done++
				}
			}
		}
	}
	follow(flowsAtOnce, 0)
	before := s.memory()
	for round := 1; round <= rounds; round++ {
		if err := s.state.Write(t.Context(), flows(flowsAtOnce, round)...); err != nil {
			t.Fatal(err)
		}
		follow(flowsAtOnce, round)
	}
	after := s.memory()
	t.Logf("memory of the server: %d MiB before, %d MiB after %d updates", before>>20, after>>20, rounds*flowsAtOnce*leaves)
	if after > before+memoryBound {
		t.Errorf("the server has grown from %d to %d MiB", before>>20, after>>20)
	}
	if s.log.find("stream ended") != nil {
		t.Error("a stream has ended, and not more leaves waited than may")
	}
	if err := s.state.Write(t.Context(), flows(2*flowsAtOnce, rounds+1)...); err != nil {
		t.Fatal(err)
	}
	follow(2*flowsAtOnce, rounds+1)
	fails(t, "the stalled client", stalled.fails(), codes.ResourceExhausted)
}

// A client that takes nothing for too long gets RESOURCE_EXHAUSTED, even when
// little waits for it.
func TestStallEnds(t *testing.T) {
	t.Parallel()
	s := start(t, "--max-stall", "300ms")
	if err := s.state.Write(t.Context(), flows(2000, 0)...); err != nil { // more than gRPC takes ahead
		t.Fatal(err)
	}
	c := s.client()
	s.eventually("the rows are there", func() bool {
		st := s.subscribeWith(c, list(gpb.SubscriptionList_STREAM, on("/sonic-sluice-state/SLUICE_FLOW/*/rate_mbps", gpb.SubscriptionMode_ON_CHANGE)))
		defer st.end()
		return len(values(st.initial()...)) == 2000
	})
	stalled := s.subscribeWith(c, list(gpb.SubscriptionList_STREAM, on("/sonic-sluice-state/SLUICE_FLOW", gpb.SubscriptionMode_ON_CHANGE)))
	s.eventually("the server ends the stream", func() bool { return s.log.find("has taken nothing for 300ms") != nil })
	fails(t, "the stalled client", stalled.fails(), codes.ResourceExhausted)
}

// memory returns the server's resident set in octets.
func (s *server) memory() int64 {
	s.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.process.Process.Pid))
	if err != nil {
		s.t.Fatal(err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// Redis is killed and comes back with other rows: a stream gets the differences.
func TestRedisRestarts(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
	s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
	st := s.subscribe(list(gpb.SubscriptionList_STREAM, on("/sonic-sluice", gpb.SubscriptionMode_ON_CHANGE)))
	if values(st.initial()...)[threshold+"/high_bytes"] == "" {
		st.until(map[string]string{threshold + "/high_bytes": "7"})
	}
	if err := s.redis.Restart(true); err != nil {
		t.Fatal(err)
	}
	s.mustSetSoon(algorithm("draft-literal", nil))
	st.until(map[string]string{threshold + "/high_bytes": "deleted", label + "/algorithm": "draft-literal"})
}

// mustSetSoon sets when Redis is back.
func (s *server) mustSetSoon(r *gpb.SetRequest) {
	s.t.Helper()
	s.eventually("a Set", func() bool {
		_, err := s.set(r)
		return err == nil
	})
}
