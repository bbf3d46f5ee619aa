// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
)

// formats are the cases of chapter 2: messages, paths, values, errors, origins.
var formats = []must{
	{"2.1 a Notification has a timestamp", func(t *testing.T, s *server) {
		for _, n := range append(s.get(&gpb.GetRequest{Path: []*gpb.Path{path("/")}}), s.subscribe(list(gpb.SubscriptionList_ONCE, on("/", 0))).initial()...) {
			if n.Timestamp == 0 {
				t.Errorf("no timestamp in %v", n)
			}
		}
	}},
	{"2.1 the paths of updates are unique", func(t *testing.T, s *server) {
		seen := make(map[string]bool)
		for _, n := range s.subscribe(list(gpb.SubscriptionList_ONCE, on("/", 0), on(label, 0), on(label+"/algorithm", 0))).initial() {
			for p := range values(n) {
				if seen[p] {
					t.Errorf("%s comes twice", p)
				}
				seen[p] = true
			}
		}
		if !seen[label+"/algorithm"] {
			t.Errorf("%s does not come", label)
		}
	}},
	{"2.1.1 an atomic Notification has the complete state of its prefix", func(t *testing.T, s *server) {
		const row = "/sonic-sluice-state/SLUICE_CONFIG_ERROR/SLUICE_CONFIG_ERROR_LIST[key=gold][table=SLUICE_THRESHOLD]"
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold", "reason", "too low", "field", "high_bytes")
		s.shows(map[string]string{row + "/reason": "too low"})
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on("/sonic-sluice-state/SLUICE_CONFIG_ERROR", gpb.SubscriptionMode_ON_CHANGE)))
		st.initial()
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold", "reason", "too high", "field", "high_bytes")
		for _, n := range st.until(map[string]string{row + "/reason": "too high"}) {
			if !n.GetAtomic() {
				t.Errorf("not atomic: %v", n)
			}
			is(t, "the row", values(n), map[string]string{
				row + "/reason": "too high", row + "/field": "high_bytes", row + "/table": "SLUICE_THRESHOLD", row + "/key": "gold",
			})
		}
	}},
	{"2.2.1 timestamps are nanoseconds since 1970", func(t *testing.T, s *server) {
		before := time.Now()
		at := time.Unix(0, s.get(&gpb.GetRequest{Path: []*gpb.Path{path(label)}})[0].Timestamp)
		if at.Before(before) || at.After(time.Now()) {
			t.Errorf("the timestamp is %v", at)
		}
	}},
	{"2.2.2.1 target is reflected in the prefix of every answer", func(t *testing.T, s *server) {
		prefix := &gpb.Path{Target: "leaf1"}
		is(t, "Get", s.get(&gpb.GetRequest{Prefix: prefix, Path: []*gpb.Path{path(label)}})[0].GetPrefix().GetTarget(), "leaf1")
		is(t, "Set", s.mustSet(&gpb.SetRequest{Prefix: prefix, Update: []*gpb.Update{update(label+"/algorithm", str("crc32"))}}).GetPrefix().GetTarget(), "leaf1")
		r := list(gpb.SubscriptionList_ONCE, on(label, 0))
		r.GetSubscribe().Prefix = prefix
		for _, n := range s.subscribe(r).initial() {
			is(t, "Subscribe", n.GetPrefix().GetTarget(), "leaf1")
		}
	}},
	{"2.2.2.1 no target in, no target out", func(t *testing.T, s *server) {
		is(t, "Get", s.get(&gpb.GetRequest{Path: []*gpb.Path{path(label)}})[0].GetPrefix().GetTarget(), "")
		is(t, "Set", s.mustSet(&gpb.SetRequest{}).GetPrefix().GetTarget(), "")
		for _, n := range s.subscribe(list(gpb.SubscriptionList_ONCE, on(label, 0))).initial() {
			is(t, "Subscribe", n.GetPrefix().GetTarget(), "")
		}
	}},
	{"2.2.2.1 target is only in prefixes", func(t *testing.T, s *server) {
		p := path(label)
		p.Target = "leaf1"
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{p}})
		fails(t, "target in a path", err, codes.InvalidArgument)
	}},
	{"2.2.3 the elements of a leaf-list are scalars, and values of their type", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "queues@", "3,4")
		s.write(s.counter, "SLUICE_STATS|global", "label_skipped_percent", "33.3", "label_written", "18446744073709551615")
		want := func(p string, v *gpb.TypedValue) {
			got := s.get(&gpb.GetRequest{Path: []*gpb.Path{path(p)}, Encoding: gpb.Encoding_PROTO})[0].Update[0].Val
			if diff := cmp.Diff(v, got, protocmp.Transform()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", p, diff)
			}
		}
		number := func(n uint64) *gpb.TypedValue { return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: n}} }
		want(threshold+"/queues", &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: &gpb.ScalarArray{Element: []*gpb.TypedValue{number(3), number(4)}}}})
		want(stats+"/label_written", number(1<<64-1))
		want(stats+"/label_skipped_percent", &gpb.TypedValue{Value: &gpb.TypedValue_DoubleVal{DoubleVal: 33.3}})
		want(label+"/manage_switch_hash", &gpb.TypedValue{Value: &gpb.TypedValue_BoolVal{BoolVal: false}})
		want(label+"/algorithm", str("draft-literal"))
	}},
	{"2.3.1 JSON is valid, a leaf bare, a container an object", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "queues@", "3,4")
		is(t, "leaf", s.one(label+"/algorithm", gpb.Encoding_JSON)[label+"/algorithm"], `"draft-literal"`)
		isJSON(t, "row", s.one(threshold, gpb.Encoding_JSON)[threshold],
			`{"name":"gold","high_bytes":7,"queues":[3,4],"action":"pause","average_us":0,"duration_us":40000,"reduction":50}`)
		isJSON(t, "table", s.one(thresholds, gpb.Encoding_JSON)[thresholds],
			`{"SLUICE_THRESHOLD_LIST":[{"name":"gold","high_bytes":7,"queues":[3,4],"action":"pause","average_us":0,"duration_us":40000,"reduction":50}]}`)
	}},
	{"2.3.1 JSON_IETF conforms with RFC 7951, and encodings are not mixed", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "queues@", "3,4")
		n := s.get(&gpb.GetRequest{Path: []*gpb.Path{path(threshold)}, Encoding: gpb.Encoding_JSON_IETF})[0]
		if n.Update[0].GetVal().GetJsonIetfVal() == nil {
			t.Fatalf("no json_ietf_val: %v", n)
		}
		const m = "sonic-sluice:"
		isJSON(t, "row", string(n.Update[0].GetVal().GetJsonIetfVal()),
			`{"`+m+`name":"gold","`+m+`high_bytes":"7","`+m+`queues":[3,4],"`+m+`action":"pause","`+m+`average_us":0,"`+m+`duration_us":40000,"`+m+`reduction":50}`)
		s.write(s.counter, "SLUICE_STATS|global", "label_skipped_percent", "33.3")
		is(t, "decimal", s.one(stats+"/label_skipped_percent", gpb.Encoding_JSON_IETF)[stats+"/label_skipped_percent"], `"33.3"`)
	}},
	{"2.3.1 JSON is supported both ways", func(t *testing.T, s *server) {
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update(label, jsonOf(`{"algorithm":"crc32","manage_switch_hash":true}`))}})
		isJSON(t, "row", s.one(label, gpb.Encoding_JSON)[label],
			`{"algorithm":"crc32","manage_switch_hash":true,"hash_ports":true,"admin_state":"disabled","rewrite":"zero-only","tunnels":"skip"}`)
	}},
	{"2.4.1 the prefix and the path are one path", func(t *testing.T, s *server) {
		n := s.get(&gpb.GetRequest{Prefix: path("/sonic-sluice/SLUICE_FLOW_LABEL"), Path: []*gpb.Path{path("/global/algorithm")}})
		is(t, "values", values(n...), map[string]string{label + "/algorithm": `"draft-literal"`})
	}},
	{"2.4.2 a path means its node and all below", func(t *testing.T, s *server) {
		s.write(s.state, "SLUICE_STATE|global", "state", "running")
		got := s.one("/", gpb.Encoding_PROTO)
		for _, p := range []string{label + "/algorithm", "/sonic-sluice/SLUICE_IPFIX/global/pen", state + "/state"} {
			if _, ok := got[p]; !ok {
				t.Errorf("%s is not below /", p)
			}
		}
	}},
	{"2.5 an error has a canonical code and a text that names what is wrong", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update(threshold, jsonOf(`{"high_bytes":200000,"low_bytes":300000}`))}})
		fails(t, "Set", err, codes.InvalidArgument)
		is(t, "text", status.Convert(err).Message(), `SLUICE_THRESHOLD|gold: low_bytes "300000": low_bytes must be less than high_bytes`)
	}},
	{"2.6 no data outside the models that the client names", func(t *testing.T, s *server) {
		s.write(s.state, "SLUICE_STATE|global", "state", "running")
		only := []*gpb.ModelData{{Name: "sonic-sluice-state"}}
		others := func(got map[string]string) map[string]string { // than what the server counts
			maps.DeleteFunc(got, func(path, _ string) bool { return strings.HasPrefix(path, "/sonic-sluice-state/SLUICE_GNMI_STATS/") })
			return got
		}
		n := s.get(&gpb.GetRequest{Path: []*gpb.Path{path("/")}, UseModels: only, Encoding: gpb.Encoding_PROTO})
		is(t, "Get", others(values(n...)), map[string]string{state + "/state": "running"})
		r := list(gpb.SubscriptionList_ONCE, on("/", 0))
		r.GetSubscribe().UseModels = only
		is(t, "Subscribe", others(values(s.subscribe(r).initial()...)), map[string]string{state + "/state": "running"})
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path("/")}, UseModels: []*gpb.ModelData{{Name: "openconfig-interfaces"}}})
		fails(t, "another model", err, codes.InvalidArgument)
	}},
	{"2.7 origin is not in prefix and path", func(t *testing.T, s *server) {
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Prefix: &gpb.Path{Origin: "sonic-db"}, Path: []*gpb.Path{sonic("/CONFIG_DB/localhost/SLUICE_PORT")}})
		fails(t, "both", err, codes.InvalidArgument)
	}},
	{"2.7 with elements in the prefix, origin is in the prefix", func(t *testing.T, s *server) {
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Prefix: path("/CONFIG_DB/localhost"), Path: []*gpb.Path{sonic("/SLUICE_PORT")}})
		fails(t, "in the path", err, codes.InvalidArgument)
		s.write(s.config, "SLUICE_PORT|Ethernet0", "role", "edge")
		n := s.get(&gpb.GetRequest{Prefix: sonic("/CONFIG_DB/localhost"), Path: []*gpb.Path{path("/SLUICE_PORT/Ethernet0/role")}})
		is(t, "in the prefix", values(n...), map[string]string{"/CONFIG_DB/localhost/SLUICE_PORT/Ethernet0/role": `"edge"`})
		is(t, "origin of the answer", n[0].GetPrefix().GetOrigin(), "sonic-db")
	}},
	{"2.7.3 a Set changes only what its origin and path say", func(t *testing.T, s *server) {
		s.write(s.config, "PORT|Ethernet0", "admin_status", "up")
		s.write(s.config, "SLUICE_PORT|Ethernet0", "role", "edge")
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "admin_state", "enabled")
		s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{sonic("/CONFIG_DB/localhost/SLUICE_PORT")}})
		is(t, "rows", s.rows(), rowsMap{"PORT|Ethernet0": {"admin_status": "up"}, "SLUICE_FLOW_LABEL|global": {"admin_state": "enabled"}})
		s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path("/")}})
		is(t, "rows", s.rows(), rowsMap{"PORT|Ethernet0": {"admin_status": "up"}})
	}},
	{"2.7.4 a Set of two origins is one transaction", func(t *testing.T, s *server) {
		r := &gpb.SetRequest{Update: []*gpb.Update{
			{Path: sonic("/CONFIG_DB/localhost/SLUICE_FLOW_LABEL/global"), Val: jsonOf(`{"algorithm":"crc32"}`)},
			update(label+"/rewrite", str("sometimes")),
		}}
		_, err := s.set(r)
		fails(t, "Set", err, codes.InvalidArgument)
		is(t, "rows", s.rows(), rowsMap{})
		r.Update[1].Val = str("always")
		s.mustSet(r)
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32", "rewrite": "always"}})
	}},
	{"2.7 the databases are shown as they are", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "many", "queues@", "3,4")
		n := s.get(&gpb.GetRequest{Path: []*gpb.Path{sonic("/CONFIG_DB/localhost/SLUICE_THRESHOLD")}})
		isJSON(t, "sonic-db", string(n[0].Update[0].GetVal().GetJsonVal()), `{"gold":{"high_bytes":"many","queues":["3","4"]}}`)
		if got := s.one(threshold, gpb.Encoding_JSON)[threshold]; strings.Contains(got, "many") {
			t.Errorf("a number is shown as %s", got)
		}
	}},
}
