// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"sluice/orchagent-ext/db/sonicdb"
	"sluice/orchagent-ext/testbed/ipfixtest"
	"sluice/yang/rows"
)

// The size of a large leaf.
const (
	leafPorts       = 512 // of 8 queues each
	leafFlows       = 64_000
	leafSubscribers = 128
	leafCollectors  = 10
	leafRests       = 10 * time.Second // for which it is measured
)

// BenchmarkLeafAtRest is the CPU time and memory of sluiced and sluice-gnmi of a large leaf through which
// nothing passes, and the time from the start of sluiced until its labels are active.
func BenchmarkLeafAtRest(b *testing.B) {
	l := newLeaf(b)
	l.morePorts(leafPorts - 5)
	for i := range leafCollectors {
		l.set("SLUICE_IPFIX_COLLECTOR", fmt.Sprint("c", i), "address", "127.0.0.1", "port", l.collector())
	}
	l.set("SLUICE_IPFIX", "global", "admin_state", "enabled", "health", "enabled", "idle_timeout_s", "3600", "active_timeout_s", "3600")
	l.set("SLUICE", "global", "flow_capacity", "131072", "cpu_rate", "200000", "cpu_burst", "100000")
	l.labels()
	began := time.Now()
	l.launch("--sai-profile", withQueues, "--sai-profile", "SLUICE_HIDE=compute")
	l.awaitFields("SLUICE_STATE", "global", "state", "running", "flow_label", "active")
	start := time.Since(began)
	l.manyFlows(leafFlows)
	g := l.serve()
	for range leafSubscribers {
		g.subscribe()
	}
	var busy time.Duration
	rest := 0.0
	var resident int
	for b.Loop() {
		before := usageOf(b, l.sluiced.Pid).cpu + usageOf(b, g.pid).cpu
		time.Sleep(leafRests)
		daemon, server := usageOf(b, l.sluiced.Pid), usageOf(b, g.pid)
		busy, rest = busy+daemon.cpu+server.cpu-before, rest+leafRests.Seconds()
		resident = max(resident, daemon.resident+server.resident)
	}
	if n := l.flowsNow(); n < leafFlows {
		b.Errorf("%d flows have an entry, want %d", n, leafFlows)
	}
	b.ReportMetric(100*busy.Seconds()/rest, "cpu-percent")
	b.ReportMetric(float64(resident), "MiB")
	b.ReportMetric(start.Seconds(), "s-start")
}

// BenchmarkBadRowsAtRest is the CPU time of sluiced beside 50,000 rows that are not valid, and the time
// from its start until labels are active.
func BenchmarkBadRowsAtRest(b *testing.B) {
	const n = 50_000
	l := newLeaf(b)
	l.labels()
	l.badRows(n)
	began := time.Now()
	l.start()
	l.awaitFields("SLUICE_STATE", "global", "flow_label", "active")
	start := time.Since(began)
	l.awaitFields("SLUICE_STATE", "global", "config_errors", fmt.Sprint(n))
	var busy, rest time.Duration
	for b.Loop() {
		before := usageOf(b, l.sluiced.Pid).cpu
		time.Sleep(leafRests)
		busy, rest = busy+usageOf(b, l.sluiced.Pid).cpu-before, rest+leafRests
	}
	b.ReportMetric(100*busy.Seconds()/rest.Seconds(), "cpu-percent")
	b.ReportMetric(start.Seconds(), "s-start")
}

// morePorts gives the leaf n further ports, which lead nowhere.
func (l *leaf) morePorts(n int) {
	l.t.Helper()
	links := &strings.Builder{}
	var all []sonicdb.Change
	for i := range n {
		name := fmt.Sprint("more", i)
		fmt.Fprintf(links, "link add %s up type veth peer name far%d\n", name, i)
		all = append(all,
			sonicdb.Change{Row: rows.Row{Table: "PORT", Key: name, Fields: map[string]string{"lanes": fmt.Sprint(1000 + i), "admin_status": "up"}}},
			sonicdb.Change{Row: rows.Row{Table: "SLUICE_PORT", Key: name, Fields: map[string]string{"role": "edge"}}})
	}
	batch := filepath.Join(l.t.TempDir(), "links")
	if err := os.WriteFile(batch, []byte(links.String()), 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.in("ip", "-batch", batch)
	l.write(all...)
}

// collector listens in the leaf, and returns the port.
func (l *leaf) collector() (port string) {
	l.t.Helper()
	err := l.Leaf.Do(func() error {
		_, port, _ = strings.Cut(ipfixtest.Listen(l.t, "udp", "127.0.0.1:0", nil).Addr, ":")
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return port
}

// subscribe opens a STREAM of state, flows and holds on a connection of its own, and returns once that was sent.
func (g *gnmi) subscribe() {
	g.t.Helper()
	conn, err := grpc.NewClient("unix:"+g.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = conn.Close() })
	var rpc gpb.GNMI_SubscribeClient
	for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
		rpc, err = subscribed(g.t.Context(), gpb.NewGNMIClient(conn))
		if err == nil {
			break
		}
		if status.Code(err) != codes.Unavailable || time.Now().After(deadline) { // it reads the databases at first
			g.t.Fatal(err)
		}
	}
	go func() {
		for {
			if _, err := rpc.Recv(); err != nil {
				return
			}
		}
	}()
}

// subscribed opens a STREAM of state, flows and holds, and returns it once that was sent.
func subscribed(ctx context.Context, c gpb.GNMIClient) (gpb.GNMI_SubscribeClient, error) {
	rpc, err := c.Subscribe(ctx)
	if err != nil {
		return nil, err
	}
	list := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_STREAM, Encoding: gpb.Encoding_PROTO}
	for _, table := range []string{"SLUICE_STATE", "SLUICE_CAPABILITY", "SLUICE_FLOW", "SLUICE_HOLD"} {
		list.Subscription = append(list.Subscription, &gpb.Subscription{
			Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "sonic-sluice-state"}, {Name: table}}}, Mode: gpb.SubscriptionMode_ON_CHANGE,
		})
	}
	err = rpc.Send(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}})
	for err == nil {
		var m *gpb.SubscribeResponse
		if m, err = rpc.Recv(); err == nil && m.GetSyncResponse() {
			return rpc, nil
		}
	}
	return nil, err
}
