// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

func pollMessage() *gpb.SubscribeRequest {
	return &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Poll{Poll: &gpb.Poll{}}}
}

// subscriptions are the cases of section 3.5 that all modes share, of ONCE and POLL.
var subscriptions = []must{
	{"3.5 an update is one leaf and its value", func(t *testing.T, s *server) {
		r := list(gpb.SubscriptionList_ONCE, on("/sonic-sluice", 0))
		r.GetSubscribe().AllowAggregation = true // nothing in the models may be aggregated
		r.GetSubscribe().Encoding = gpb.Encoding_JSON
		for p, v := range values(s.subscribe(r).initial()...) {
			if v[0] == '{' {
				t.Errorf("%s is an object: %s", p, v)
			}
		}
	}},
	{"3.5.1.1 a first message without a list is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		fails(t, "poll", s.subscribe(pollMessage()).fails(), codes.InvalidArgument)
		fails(t, "nothing", s.subscribe(&gpb.SubscribeRequest{}).fails(), codes.InvalidArgument)
	}},
	{"3.5.1.1 a second list is INVALID_ARGUMENT, and no other RPC is touched", func(t *testing.T, s *server) {
		c := s.client()
		other := s.subscribeWith(c, list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE)))
		other.initial()
		for _, mode := range []gpb.SubscriptionList_Mode{gpb.SubscriptionList_STREAM, gpb.SubscriptionList_POLL} {
			st := s.subscribeWith(c, list(mode, on(label, gpb.SubscriptionMode_ON_CHANGE)))
			if err := st.rpc.Send(list(mode, on(label, gpb.SubscriptionMode_ON_CHANGE))); err != nil {
				t.Fatal(err)
			}
			fails(t, mode.String(), st.fails(), codes.InvalidArgument)
		}
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
		other.until(map[string]string{label + "/algorithm": "crc32"})
	}},
	{"3.5.1.2 an empty list is an error", func(t *testing.T, s *server) {
		fails(t, "Subscribe", s.subscribe(list(gpb.SubscriptionList_ONCE)).fails(), codes.InvalidArgument)
	}},
	{"3.5.1.2 STREAM is the default mode", func(t *testing.T, s *server) {
		st := s.subscribe(&gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: &gpb.SubscriptionList{
			Subscription: []*gpb.Subscription{{Path: path(label + "/algorithm")}}, Encoding: gpb.Encoding_PROTO,
		}}})
		st.initial()
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
		st.until(map[string]string{label + "/algorithm": "crc32"})
	}},
	{"3.5.1.2 updates_only sends sync_response and then changes only", func(t *testing.T, s *server) {
		for _, mode := range []gpb.SubscriptionList_Mode{gpb.SubscriptionList_ONCE, gpb.SubscriptionList_STREAM} {
			r := list(mode, on(label, gpb.SubscriptionMode_ON_CHANGE))
			r.GetSubscribe().UpdatesOnly = true
			st := s.subscribe(r)
			if m := st.next(); !m.GetSyncResponse() {
				t.Errorf("%v: the first message is %v", mode, m)
			}
			if mode == gpb.SubscriptionList_STREAM {
				s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
				is(t, "update", values(st.next().GetUpdate()), map[string]string{label + "/algorithm": "crc32"})
			}
		}
	}},
	{"3.5.1.2 updates_only of a SAMPLE sends the next sample, of a POLL nothing but sync_response", func(t *testing.T, s *server) {
		r := list(gpb.SubscriptionList_STREAM, sample(label+"/algorithm", 100*time.Millisecond))
		r.GetSubscribe().UpdatesOnly = true
		st := s.subscribe(r)
		if m := st.next(); !m.GetSyncResponse() {
			t.Errorf("SAMPLE: the first message is %v", m)
		}
		is(t, "sample", values(st.next().GetUpdate()), map[string]string{label + "/algorithm": "draft-literal"})
		r = list(gpb.SubscriptionList_POLL, on(label, 0))
		r.GetSubscribe().UpdatesOnly = true
		st = s.subscribe(r)
		for range 2 {
			if m := st.next(); !m.GetSyncResponse() {
				t.Errorf("POLL: a message is %v", m)
			}
			if err := st.rpc.Send(pollMessage()); err != nil {
				t.Fatal(err)
			}
		}
	}},
	{"3.5.1.3 ONCE and POLL of a path without data send sync_response, and are no error", func(t *testing.T, s *server) {
		r := list(gpb.SubscriptionList_ONCE, on(threshold, 0), on(label+"/algorithm", 0))
		is(t, "ONCE", values(s.subscribe(r).initial()...), map[string]string{label + "/algorithm": "draft-literal"})
		st := s.subscribe(list(gpb.SubscriptionList_POLL, on(threshold+"/high_bytes", 0)))
		is(t, "POLL, at first", values(st.initial()...), map[string]string{})
		for i, want := range []map[string]string{{}, {threshold + "/high_bytes": "7"}, {}} {
			if i == 1 {
				s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
			} else {
				s.remove(s.config, "SLUICE_THRESHOLD|gold")
			}
			if err := st.rpc.Send(pollMessage()); err != nil {
				t.Fatal(err)
			}
			is(t, "POLL", values(st.initial()...), want)
		}
	}},
	{"3.5.1.2 use_models of a STREAM holds for its changes, too", func(t *testing.T, s *server) {
		r := list(gpb.SubscriptionList_STREAM, on("/", gpb.SubscriptionMode_ON_CHANGE))
		r.GetSubscribe().UseModels = []*gpb.ModelData{{Name: "sonic-sluice-state"}}
		st := s.subscribe(r)
		notes := st.initial()
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32")
		s.shows(map[string]string{label + "/algorithm": "crc32"})
		s.write(s.state, "SLUICE_STATE|global", "state", "running")
		for p := range values(append(notes, st.until(map[string]string{state + "/state": "running"})...)...) {
			if !strings.HasPrefix(p, "/sonic-sluice-state/") {
				t.Errorf("there is %s", p)
			}
		}
	}},
	{"3.5.1.3 a path without data is no error, and comes when there is some", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(threshold, gpb.SubscriptionMode_ON_CHANGE)))
		if n := st.initial(); len(n) > 0 {
			t.Errorf("initially there is %v", n)
		}
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		st.until(map[string]string{threshold + "/high_bytes": "7", threshold + "/name": "gold", threshold + "/reduction": "50"})
	}},
	{"3.5.1.5.1 ONCE sends all, sync_response, and closes", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_ONCE, on(label, 0)))
		is(t, "values", values(st.initial()...), map[string]string{
			label + "/admin_state": "disabled", label + "/algorithm": "draft-literal", label + "/rewrite": "zero-only", label + "/manage_switch_hash": "false", label + "/hash_ports": "true", label + "/tunnels": "skip",
		})
		if err := st.fails(); !errors.Is(err, io.EOF) {
			t.Errorf("the RPC ends with %v", err)
		}
	}},
	{"3.5.1.5.3 POLL answers the subscription and each poll with all and sync_response", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_POLL, on(label+"/algorithm", 0)))
		is(t, "values at first", values(st.initial()...), map[string]string{label + "/algorithm": "draft-literal"})
		for _, v := range []string{"crc32", "draft-literal", "draft-literal"} {
			s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", v)
			if err := st.rpc.Send(pollMessage()); err != nil {
				t.Fatal(err)
			}
			is(t, "values", values(st.initial()...), map[string]string{label + "/algorithm": v})
		}
		if err := st.rpc.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if err := st.fails(); !errors.Is(err, io.EOF) {
			t.Errorf("the RPC ends with %v", err)
		}
	}},
	{"3.5.1.1 a poll of a STREAM is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE)))
		st.initial()
		if err := st.rpc.Send(pollMessage()); err != nil {
			t.Fatal(err)
		}
		fails(t, "poll", st.fails(), codes.InvalidArgument)
	}},
	{"3.5.2.4 what no model has is UNIMPLEMENTED, what is malformed INVALID_ARGUMENT", func(t *testing.T, s *server) {
		for mode := range gpb.SubscriptionList_Mode_name {
			m := gpb.SubscriptionList_Mode(mode)
			fails(t, m.String(), s.subscribe(list(m, on("/interfaces", gpb.SubscriptionMode_ON_CHANGE))).fails(), codes.Unimplemented)
			fails(t, m.String(), s.subscribe(list(m, on("/sonic-sluice[a=b]", gpb.SubscriptionMode_ON_CHANGE))).fails(), codes.InvalidArgument)
		}
	}},
	{"3.5.1.2 an encoding that is not supported is UNIMPLEMENTED", func(t *testing.T, s *server) {
		r := list(gpb.SubscriptionList_ONCE, on(label, 0))
		r.GetSubscribe().Encoding = gpb.Encoding_BYTES
		fails(t, "BYTES", s.subscribe(r).fails(), codes.Unimplemented)
	}},
	{"3.5.2.5 a part of an atomic row is atomic, and only the part", func(t *testing.T, s *server) {
		const row = "/sonic-sluice-state/SLUICE_CONFIG_ERROR/SLUICE_CONFIG_ERROR_LIST[key=gold][table=SLUICE_THRESHOLD]"
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold", "reason", "too low", "field", "high_bytes")
		notes := s.subscribe(list(gpb.SubscriptionList_ONCE, on("/sonic-sluice-state/SLUICE_CONFIG_ERROR/SLUICE_CONFIG_ERROR_LIST/reason", 0))).initial()
		is(t, "values", values(notes...), map[string]string{row + "/reason": "too low"})
		if len(notes) != 1 || !notes[0].GetAtomic() || len(notes[0].GetPrefix().GetElem()) != 3 {
			t.Errorf("notifications: %v", notes)
		}
	}},
	{"3.5.2.3 SONiC's paths are streamed, too", func(t *testing.T, s *server) {
		r := list(gpb.SubscriptionList_STREAM, &gpb.Subscription{Path: path("/CONFIG_DB/localhost/SLUICE_THRESHOLD"), Mode: gpb.SubscriptionMode_ON_CHANGE})
		r.GetSubscribe().Prefix = &gpb.Path{Target: "CONFIG_DB", Origin: "sonic-db"}
		st := s.subscribe(r)
		st.initial()
		const row = "/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold"
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		notes := st.until(map[string]string{row + "/high_bytes": "7"})
		is(t, "no defaults", values(notes...), map[string]string{row + "/high_bytes": "7"})
		is(t, "prefix", [2]string{notes[0].GetPrefix().GetOrigin(), notes[0].GetPrefix().GetTarget()}, [2]string{"sonic-db", "CONFIG_DB"})
		s.remove(s.config, "SLUICE_THRESHOLD|gold")
		st.until(map[string]string{row + "/high_bytes": "deleted"})
	}},
	{"3.5 ONCE of everything is what Get has", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		s.write(s.state, "SLUICE_STATE|global", "state", "running")
		// The server counts the very streams of this case, and writes that when it likes.
		others := func(v map[string]string) map[string]string {
			maps.DeleteFunc(v, func(path, _ string) bool { return strings.Contains(path, "/SLUICE_GNMI_STATS/") })
			return v
		}
		got := others(values(s.subscribe(list(gpb.SubscriptionList_ONCE, on("/", 0))).initial()...))
		is(t, "values", got, others(s.one("/", gpb.Encoding_PROTO)))
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on("/", gpb.SubscriptionMode_ON_CHANGE)))
		streamed := others(values(st.initial()...))
		if !maps.Equal(streamed, got) { // it may be a moment behind
			maps.Copy(streamed, others(values(st.until(map[string]string{threshold + "/high_bytes": "7", state + "/state": "running"})...)))
			is(t, "STREAM", streamed, got)
		}
	}},
}
