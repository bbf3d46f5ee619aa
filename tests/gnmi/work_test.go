// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// sendRaw sends an RPC whose only message is octets, and returns the error.
func (s *server) sendRaw(ctx context.Context, method string, message []byte) error {
	conn := s.conn("unix:"+s.socket(), insecureOption, grpc.WithDefaultCallOptions(grpc.ForceCodec(ready{})))
	rpc, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		return err
	}
	_ = rpc.SendMsg(message) // RecvMsg has the error
	_ = rpc.CloseSend()
	return rpc.RecvMsg(nil)
}

// A request is refused before it costs anything: 1.6 MB of deletes by a user who
// may not write, and by one who may; and what else is small on the wire and large
// in memory.
func TestLimitOfARequest(t *testing.T) {
	reader := `{"rules": [{"path": "/", "mode": "read", "action": "permit"}]}`
	writer := `{"rules": [{"path": "/", "mode": "read", "action": "permit"}, {"path": "/", "mode": "write", "action": "permit"}]}`
	elsewhere := `{"rules": [{"path": "/sonic-sluice/SLUICE_THRESHOLD", "mode": "write", "action": "permit"}]}`
	empty := func(field byte, n int) []byte { return bytes.Repeat([]byte{field<<3 | 2, 0}, n) }
	inside := func(field byte, of []byte) []byte {
		n := len(of)
		return append([]byte{field<<3 | 2, byte(n)&0x7f | 0x80, byte(n>>7)&0x7f | 0x80, byte(n>>14)&0x7f | 0x80, byte(n >> 21)}, of...)
	}
	for name, tt := range map[string]struct {
		policy, method string
		message        []byte
		want           codes.Code
	}{
		"800,000 deletes, and no right to write":        {reader, gpb.GNMI_Set_FullMethodName, empty(2, 800_000), codes.PermissionDenied},
		"800,000 deletes, and a right elsewhere":        {elsewhere, gpb.GNMI_Set_FullMethodName, empty(2, 800_000), codes.ResourceExhausted},
		"800,000 deletes":                               {writer, gpb.GNMI_Set_FullMethodName, empty(2, 800_000), codes.ResourceExhausted},
		"an update with 2,000,000 elements in its path": {writer, gpb.GNMI_Set_FullMethodName, inside(4, inside(1, empty(3, 2_000_000))), codes.ResourceExhausted},
		"a Get of 2,000,000 paths":                      {writer, gpb.GNMI_Get_FullMethodName, empty(2, 2_000_000), codes.ResourceExhausted},
		"2,000,000 models in Capabilities":              {writer, gpb.GNMI_Capabilities_FullMethodName, empty(1, 2_000_000), codes.ResourceExhausted},
		"2,000,000 subscriptions":                       {writer, gpb.GNMI_Subscribe_FullMethodName, inside(1, empty(2, 2_000_000)), codes.ResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "policy.json")
			if err := os.WriteFile(file, []byte(tt.policy), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, "--policy", file)
			fails(t, "first", capabilities(limited(t), s.client()), codes.OK)
			before, cpu, began := s.peak(), s.cpu(), time.Now()
			err := s.sendRaw(limited(t), tt.method, tt.message)
			took := time.Since(began)
			fails(t, name, err, tt.want)
			t.Logf("%d octets: %v after %v, %v of CPU, %d KiB more memory: %s", len(tt.message), status.Code(err), took.Round(time.Millisecond), s.cpu()-cpu, (s.peak()-before)>>10, status.Convert(err).Message())
			if s.peak()-before > requestBound {
				t.Errorf("it took %d MiB", (s.peak()-before)>>20)
			}
			if tt.method == gpb.GNMI_Set_FullMethodName {
				s.eventually("it is counted", func() bool { return s.stat("sets_refused") == 1 })
				s.eventually("the log says it", func() bool { return s.log.find(`msg="set refused" user=local`) != nil })
			}
			is(t, "rows", s.rows(), rowsMap{})
		})
	}
}

// The operations of a Set are limited as --max-operations says.
func TestLimitOfOperations(t *testing.T) {
	s := start(t, "--max-operations", "3")
	r := &gpb.SetRequest{Delete: []*gpb.Path{path(threshold), path(label)}, Update: []*gpb.Update{update(label+"/algorithm", str("crc32"))}}
	s.mustSet(r)
	r.Replace = []*gpb.Update{update(threshold, jsonOf(`{"name":"gold","high_bytes":7}`))}
	_, err := s.set(r)
	fails(t, "a fourth", err, codes.ResourceExhausted)
	is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}})
}

// One client has 4,096 samples of everything, ten times a second: it gets what a
// client may have, the rest waits, and others are served as before.
func TestLimitOfSamples(t *testing.T) {
	const burst, seconds = 10, 5
	leaves, samples := 50000.0, 4096 // the defaults
	if raceFlag == "-race" {
		leaves, samples = 2000, 256 // the detector makes the server some ten times slower
	}
	s := start(t, "--max-leaves", fmt.Sprint(int(leaves)))
	r := list(gpb.SubscriptionList_STREAM)
	for range samples {
		r.GetSubscribe().Subscription = append(r.GetSubscribe().Subscription, sample("/", 100*time.Millisecond))
	}
	got := make(chan int, 1<<20)
	<-s.reader(r, func(n int) { got <- n })
	s.eventually("the client has to wait", func() bool { return s.stat("reads_delayed") > 0 })
	s.eventually("the log says it", func() bool {
		return s.log.find(`msg="a client exceeds its limit of leaves a second and waits" user=local`) != nil
	})
	for len(got) > 0 {
		<-got
	}
	cpu, began, n := s.cpu(), time.Now(), 0
	for end, latest := time.Now().Add(seconds*time.Second), time.Now().Add(patience); time.Now().Before(end) || n == 0 && time.Now().Before(latest); {
		select {
		case more := <-got:
			n += more
		case <-time.After(time.Millisecond):
		}
	}
	took := time.Since(began).Seconds()
	t.Logf("%.0f leaves a second are sent of %.0f; the server uses %.0f %% of a core", float64(n)/took, leaves, 100*(s.cpu()-cpu).Seconds()/took)
	if most := leaves * (took + burst); n == 0 || float64(n) > most {
		t.Errorf("%d leaves in %.1f s, want some and at most %.0f", n, took, most)
	}
	began = time.Now()
	fails(t, "another client", capabilities(limited(t), s.client()), codes.OK)
	s.mustSet(algorithm("crc32", nil))
	t.Logf("a Set takes %v", time.Since(began).Round(time.Millisecond))
}
