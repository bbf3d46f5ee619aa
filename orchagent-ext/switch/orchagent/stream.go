// SPDX-License-Identifier: Apache-2.0

package orchagent

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"sluice/orchagent-ext/switch/engine"
	"sluice/orchagent-ext/switch/hft"
	sai "sluice/sai-shim"
	"sluice/yang/rows"
)

// Rows of High Frequency Telemetry (HFT), by which the switch streams counters of queues. They are in
// CONFIG_DB, where the kernel has the family of the stream.
const (
	tableProfile = "HIGH_FREQUENCY_TELEMETRY_PROFILE"
	tableStream  = "HIGH_FREQUENCY_TELEMETRY_GROUP"
	tableSession = "HIGH_FREQUENCY_TELEMETRY_SESSION_TABLE" // of STATE_DB
	nameProfile  = "sluice"
	nameStream   = nameProfile + separator + "QUEUE"
)

// streamInterval is the time between two readings by the switch, and streamFresh how long the last one
// counts.
const (
	streamInterval = 10 * time.Millisecond
	streamFresh    = 10 * streamInterval
)

// streamObjects are the rows of a stream of queues.
func streamObjects(d engine.Depths) []engine.Object {
	if len(d.Queues) == 0 {
		return nil
	}
	profile := rowObject(rows.Row{Table: tableProfile, Key: nameProfile, Fields: map[string]string{
		"stream_state": "enabled", "poll_interval": fmt.Sprint(streamInterval.Microseconds()), // YANG of 202605 says ms, and orchagent takes µs
	}})
	var counters []string
	for _, c := range queueCounters {
		counters = append(counters, strings.TrimPrefix(c, "SAI_QUEUE_STAT_"))
	}
	group := rowObject(rows.Row{Table: tableStream, Key: nameStream, Fields: map[string]string{
		"object_names@": strings.ReplaceAll(strings.Join(d.Queues, ","), ":", separator), "object_counters@": strings.Join(counters, ","),
	}}, profile.Key)
	return []engine.Object{profile, group}
}

// streamLeft returns the rows of a stream that an earlier process left, as objects.
func (d *store) streamLeft() ([]engine.Object, error) {
	there, err := d.read(rows.Row{Table: tableStream, Key: nameStream})
	if err != nil || there == nil {
		return nil, err
	}
	return streamObjects(engine.Depths{Queues: list(strings.ReplaceAll(there["object_names@"], separator, ":"))}), nil
}

// stream is the reader of a stream, and whether it has all queues.
type stream struct {
	hft.Listener
	runs, whole atomic.Bool
}

// begin reads messages in a goroutine of its own until ctx is done.
func (s *stream) begin(ctx context.Context) {
	if !s.runs.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.runs.Store(false)
		_ = s.Run(ctx) // without a socket depths are those that syncd polls
	}()
}

// follow takes the session that orchagent has made, and the names of queues.
func (r *Depths) follow() error {
	session, err := getOne(r.state, rows.Row{Table: tableSession, Key: nameStream})
	if err != nil {
		return err
	}
	if session["stream_status"] != "enabled" {
		session = nil
	}
	r.stream.Begin(session["session_config"], session["object_names"], session["object_ids"])
	ids, err := getOne(r.counters, rows.Row{Table: mapQueues})
	if err != nil {
		return err
	}
	r.names = make(map[string]string, len(ids))
	for name, id := range ids {
		r.names[id] = strings.Replace(name, ":", separator, 1)
	}
	return nil
}

// streamed replaces the depths of queues that the stream has.
func (r *Depths) streamed(queues []sai.ObjectID, all []Depth, now time.Time) {
	whole := len(queues) > 0
	for i, id := range queues {
		c, ok := r.stream.Latest(r.names[id.String()], now.Add(-streamFresh))
		if whole = whole && ok; ok {
			all[i] = Depth{Octets: c.Octets, Packets: c.Packets, Left: c.Left, Dropped: c.Dropped, Slow: all[i].Slow}
		}
	}
	r.stream.whole.Store(whole)
}
