// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// raw is a codec that leaves what is received as it is, so that clients cost
// little beside the server.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) { return proto.Marshal(v.(proto.Message)) }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data)
	return nil
}

// leavesIn counts the updates of a SubscribeResponse; sync reports whether it is
// a sync_response.
func leavesIn(message []byte) (n int, sync bool) {
	for len(message) > 0 {
		field, kind, size := protowire.ConsumeTag(message)
		message = message[size:]
		if field == 3 {
			return 0, true
		}
		size = protowire.ConsumeFieldValue(field, kind, message)
		if field == 1 {
			note, _ := protowire.ConsumeBytes(message)
			for len(note) > 0 {
				field, kind, size := protowire.ConsumeTag(note)
				note = note[size:]
				if field == 4 {
					n++
				}
				note = note[protowire.ConsumeFieldValue(field, kind, note):]
			}
		}
		message = message[size:]
	}
	return n, false
}

// reader is a STREAM client that counts.
func (s *server) reader(request *gpb.SubscribeRequest, count func(n int)) (synced <-chan struct{}) {
	conn := s.conn("unix:"+s.socket(), insecureOption, grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	ctx, cancel := context.WithCancel(s.t.Context())
	s.t.Cleanup(cancel)
	rpc, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, gpb.GNMI_Subscribe_FullMethodName)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := rpc.SendMsg(request); err != nil {
		s.t.Fatal(err)
	}
	ready := make(chan struct{})
	go func() {
		for {
			var message []byte
			if rpc.RecvMsg(&message) != nil {
				return
			}
			n, synced := leavesIn(message)
			if synced {
				close(ready)
				continue
			}
			count(n)
		}
	}()
	return ready
}

// BenchmarkStreams is how many updates of leaves each of 100 STREAM clients gets
// from Redis by way of the server, and the server's memory.
func BenchmarkStreams(b *testing.B) {
	const clients, rows, leaves = 100, 500, 9
	s := start(b)
	var left sync.WaitGroup
	request := list(gpb.SubscriptionList_STREAM, on("/sonic-sluice-state/SLUICE_FLOW", gpb.SubscriptionMode_ON_CHANGE))
	request.GetSubscribe().UpdatesOnly = true
	var synced []<-chan struct{}
	for range clients {
		synced = append(synced, s.reader(request, func(n int) { left.Add(-n) }))
	}
	for _, c := range synced {
		<-c
	}
	left.Add(clients * rows * (leaves + 1)) // the first time with the key
	if err := s.state.Write(b.Context(), flows(rows, 0)...); err != nil {
		b.Fatal(err)
	}
	left.Wait()
	round := 0
	for b.Loop() {
		round++
		left.Add(clients * rows * leaves)
		if err := s.state.Write(b.Context(), flows(rows, round)...); err != nil {
			b.Fatal(err)
		}
		left.Wait()
	}
	b.ReportMetric(float64(b.N*rows*leaves)/b.Elapsed().Seconds(), "leaves/s")
	b.ReportMetric(float64(s.memory()>>20), "MiB")
}

// BenchmarkSetToStream is the time from a Set until its ON_CHANGE update is there.
func BenchmarkSetToStream(b *testing.B) {
	s := start(b)
	got := make(chan struct{}, 16)
	request := list(gpb.SubscriptionList_STREAM, on(label+"/algorithm", gpb.SubscriptionMode_ON_CHANGE))
	request.GetSubscribe().UpdatesOnly = true
	<-s.reader(request, func(int) { got <- struct{}{} })
	c := s.client()
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		if _, err := c.Set(b.Context(), algorithm([]string{"crc32", "draft-literal"}[len(took)%2], nil)); err != nil {
			b.Fatal(err)
		}
		select {
		case <-got:
		case <-time.After(patience):
			b.Fatal(fmt.Errorf("no update within %v", patience))
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "ms-p99")
}
