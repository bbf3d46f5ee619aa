// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"strconv"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// atLeast fails when what began then has taken less. A machine under load delays one update
// more than the next, so that the time between two of them says little.
func atLeast(t *testing.T, what string, began time.Time, least time.Duration) {
	t.Helper()
	if took := time.Since(began); took < least {
		t.Errorf("%s came within %v, want at least %v", what, took, least)
	}
}

// streams are the cases of section 3.5 about STREAM.
var streams = []must{
	{"3.5.1.5.2 ON_CHANGE sends all there is first, then changes", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE)))
		is(t, "initial", values(st.initial()...), map[string]string{
			label + "/admin_state": "disabled", label + "/algorithm": "draft-literal", label + "/rewrite": "zero-only", label + "/manage_switch_hash": "false", label + "/hash_ports": "true", label + "/tunnels": "skip",
		})
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32", "rewrite", "zero-only")
		is(t, "change", values(st.next().GetUpdate()), map[string]string{label + "/algorithm": "crc32"})
	}},
	{"3.5.1.5.2 ON_CHANGE with a heartbeat sends all once an interval", func(t *testing.T, s *server) {
		sub := on(label+"/algorithm", gpb.SubscriptionMode_ON_CHANGE)
		sub.HeartbeatInterval = uint64(200 * time.Millisecond)
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, sub))
		st.initial()
		for range 3 {
			is(t, "heartbeat", values(st.next().GetUpdate()), map[string]string{label + "/algorithm": "draft-literal"})
		}
	}},
	{"3.5.1.5.2 SAMPLE sends the value once an interval", func(t *testing.T, s *server) {
		began := time.Now()
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, sample(label+"/algorithm", 200*time.Millisecond)))
		st.initial()
		for range 6 {
			is(t, "sample", values(st.next().GetUpdate()), map[string]string{label + "/algorithm": "draft-literal"})
		}
		atLeast(t, "6 samples", began, 6*200*time.Millisecond)
	}},
	{"3.5.1.5.2 an interval that is not supported is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		fails(t, "1 ms", s.subscribe(list(gpb.SubscriptionList_STREAM, sample(label, time.Millisecond))).fails(), codes.InvalidArgument)
	}},
	{"3.5.1.5.2 a heartbeat that is not supported is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		for _, mode := range []gpb.SubscriptionMode{gpb.SubscriptionMode_ON_CHANGE, gpb.SubscriptionMode_SAMPLE, gpb.SubscriptionMode_TARGET_DEFINED} {
			sub := on(label, mode)
			sub.HeartbeatInterval = uint64(time.Millisecond)
			fails(t, mode.String(), s.subscribe(list(gpb.SubscriptionList_STREAM, sub)).fails(), codes.InvalidArgument)
			sub.HeartbeatInterval = 1 << 63
			fails(t, mode.String(), s.subscribe(list(gpb.SubscriptionList_STREAM, sub)).fails(), codes.InvalidArgument)
		}
		sub := on(label, 7)
		fails(t, "no mode", s.subscribe(list(gpb.SubscriptionList_STREAM, sub)).fails(), codes.InvalidArgument)
	}},
	{"3.5.1.5.2 a heartbeat shorter than the interval of samples counts", func(t *testing.T, s *server) {
		sub := sample(label+"/algorithm", time.Hour)
		sub.HeartbeatInterval = uint64(150 * time.Millisecond)
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, sub))
		st.initial()
		for range 3 {
			is(t, "heartbeat", values(st.next().GetUpdate()), map[string]string{label + "/algorithm": "draft-literal"})
		}
	}},
	{"3.5.1.5.2 rows come and go while they are sampled", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "8")
		s.sees(path(thresholds))
		all := []*gpb.Subscription{sample(thresholds+"/*/high_bytes", 100*time.Millisecond), sample(thresholds+"/*/high_bytes", 100*time.Millisecond)}
		all[1].SuppressRedundant = true
		for _, sub := range all {
			st := s.subscribe(list(gpb.SubscriptionList_STREAM, sub))
			st.initial()
			for _, v := range []string{"7", "9"} {
				s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", v)
				st.until(map[string]string{threshold + "/high_bytes": v})
				s.remove(s.config, "SLUICE_THRESHOLD|gold")
				s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "1"+v)
				st.until(map[string]string{"/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=iron]/high_bytes": "1" + v})
				s.eventually("the row is gone from the samples", func() bool {
					s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "2"+v) // so that something comes where nothing is sent twice
					_, there := values(st.next().GetUpdate())[threshold+"/high_bytes"]
					s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "3"+v)
					return !there
				})
			}
			st.end()
		}
	}},
	{"3.5.2.3 of one leaf the last value has the last timestamp", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(thresholds, gpb.SubscriptionMode_ON_CHANGE), sample(thresholds+"/*/high_bytes", 100*time.Millisecond)))
		st.initial()
		wrote := make(chan struct{})
		go func() {
			defer close(wrote)
			for i := range 500 {
				s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", strconv.Itoa(i+1))
			}
		}()
		newest, final := int64(0), ""
		for final != "500" {
			n := st.next().GetUpdate()
			if v, ok := values(n)[threshold+"/high_bytes"]; ok && n.Timestamp >= newest { // as collectors keep it
				newest, final = n.Timestamp, v
			}
		}
		<-wrote
	}},
	{"3.5.1.5.2 interval 0 is the shortest there is", func(t *testing.T, s *server) {
		began := time.Now()
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, sample(label+"/algorithm", 0)))
		st.initial()
		for range 11 {
			st.next()
		}
		atLeast(t, "11 samples", began, 11*100*time.Millisecond)
	}},
	{"3.5.1.5.2 suppress_redundant sends only the leaves that changed", func(t *testing.T, s *server) {
		sub := sample(label, 100*time.Millisecond)
		sub.SuppressRedundant = true
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, sub))
		st.initial()
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
		is(t, "update", values(st.next().GetUpdate()), map[string]string{label + "/algorithm": "crc32"})
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32", "rewrite", "always")
		is(t, "update", values(st.next().GetUpdate()), map[string]string{label + "/rewrite": "always"})
	}},
	{"3.5.1.5.2 a heartbeat breaks suppress_redundant", func(t *testing.T, s *server) {
		sub := sample(label+"/algorithm", 100*time.Millisecond)
		sub.SuppressRedundant, sub.HeartbeatInterval = true, uint64(400*time.Millisecond)
		began := time.Now()
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, sub))
		st.initial()
		for range 3 {
			is(t, "heartbeat", values(st.next().GetUpdate()), map[string]string{label + "/algorithm": "draft-literal"})
		}
		atLeast(t, "3 heartbeats", began, 3*400*time.Millisecond)
	}},
	{"3.5.1.5.2 TARGET_DEFINED is ON_CHANGE for a state and SAMPLE for a counter, leaf by leaf", func(t *testing.T, s *server) {
		s.write(s.counter, "SLUICE_STATS|global", "label_written", "1", "cpu_flows", "1")
		s.shows(map[string]string{stats + "/label_written": "1", stats + "/cpu_flows": "1"})
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(stats, gpb.SubscriptionMode_TARGET_DEFINED)))
		st.initial()
		s.write(s.counter, "SLUICE_STATS|global", "label_written", "2", "cpu_flows", "1")
		s.write(s.counter, "SLUICE_STATS|global", "label_written", "3", "cpu_flows", "2")
		notes := st.until(map[string]string{stats + "/cpu_flows": "2"})
		if v, ok := values(notes...)[stats+"/label_written"]; ok && len(notes) < 2 {
			t.Errorf("the counter came with the change, as %s", v)
		}
		st.until(map[string]string{stats + "/label_written": "3"})
	}},
	{"3.5.1.5.2 TARGET_DEFINED with sample_interval is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		sub := on(label, gpb.SubscriptionMode_TARGET_DEFINED)
		sub.SampleInterval = uint64(time.Second)
		fails(t, "Subscribe", s.subscribe(list(gpb.SubscriptionList_STREAM, sub)).fails(), codes.InvalidArgument)
	}},
	{"3.5.2.3 the timestamp is when the change was found", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(label+"/algorithm", gpb.SubscriptionMode_ON_CHANGE)))
		st.initial()
		before := time.Now().UnixNano()
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
		if at := st.next().GetUpdate().Timestamp; at < before || at > time.Now().UnixNano() {
			t.Errorf("%d is not between the write (%d) and now", at, before)
		}
	}},
	{"3.5.2.3 what is gone is deleted", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "low_bytes", "3")
		s.shows(map[string]string{threshold + "/low_bytes": "3"})
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(thresholds, gpb.SubscriptionMode_ON_CHANGE)))
		st.initial()
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		st.until(map[string]string{threshold + "/low_bytes": "deleted"})
		s.remove(s.config, "SLUICE_THRESHOLD|gold")
		st.until(map[string]string{threshold + "/high_bytes": "deleted", threshold + "/name": "deleted", threshold + "/reduction": "deleted"})
	}},
	{"3.5.2.3 a leaf that falls back to its default is updated, not deleted", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
		s.shows(map[string]string{label + "/algorithm": "crc32"})
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE)))
		st.initial()
		s.remove(s.config, "SLUICE_FLOW_LABEL|global")
		for _, n := range st.until(map[string]string{label + "/algorithm": "draft-literal"}) {
			if len(n.GetDelete()) > 0 {
				t.Errorf("a delete: %v", n)
			}
		}
	}},
	{"3.5.2.3 a leaf of an entry that falls back to its default is updated, not deleted", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "reduction", "9")
		s.sees(path(threshold))
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(thresholds, gpb.SubscriptionMode_ON_CHANGE)))
		st.initial()
		s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path(threshold + "/reduction")}})
		for _, n := range st.until(map[string]string{threshold + "/reduction": "50"}) {
			if len(n.GetDelete()) > 0 {
				t.Errorf("a delete: %v", n)
			}
		}
	}},
	{"3.5.2.3 sync_response comes once, after all there is", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE), sample(label+"/algorithm", 100*time.Millisecond)))
		if len(values(st.initial()...)) != 6 {
			t.Error("not all there is came before sync_response")
		}
		for range 5 {
			if st.next().GetSyncResponse() {
				t.Error("a second sync_response")
			}
		}
	}},
}
