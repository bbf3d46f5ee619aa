// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
)

// sets are the cases of section 3.4: Set.
var sets = []must{
	{"3.4 delete, then replace, then update", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "admin_state", "enabled", "rewrite", "always")
		s.mustSet(&gpb.SetRequest{
			Update:  []*gpb.Update{update(label+"/algorithm", str("crc32"))},
			Replace: []*gpb.Update{update(label, jsonOf(`{"algorithm":"draft-literal","manage_switch_hash":true}`))},
			Delete:  []*gpb.Path{path(label + "/algorithm"), path(label)},
		})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32", "manage_switch_hash": "true"}})
	}},
	{"3.4 union_replace comes alone", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{
			UnionReplace: []*gpb.Update{update(label, jsonOf(`{"algorithm":"crc32"}`))},
			Update:       []*gpb.Update{update(label+"/rewrite", str("always"))},
		})
		fails(t, "union_replace and update", err, codes.InvalidArgument)
		is(t, "rows", s.rows(), rowsMap{})
	}},
	{"3.4.4 union_replace replaces by the union of all contents", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "rewrite", "always")
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		r := &gpb.SetRequest{UnionReplace: []*gpb.Update{
			update("/", jsonOf(`{"sonic-sluice":{"SLUICE_FLOW_LABEL":{"global":{"algorithm":"crc32"}}}}`)),
			{Path: sonic("/CONFIG_DB/localhost/SLUICE_FLOW_LABEL/global"), Val: jsonOf(`{"manage_switch_hash":"true","algorithm":"crc32"}`)},
		}}
		out := s.mustSet(r)
		is(t, "op", out.Response[1].Op, gpb.UpdateResult_UNION_REPLACE)
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32", "manage_switch_hash": "true"}})
		r.UnionReplace[1].Val = jsonOf(`{"algorithm":"draft-literal"}`)
		_, err := s.set(r)
		fails(t, "contents that contradict each other", err, codes.InvalidArgument)
	}},
	{"3.4 of one path given twice the last counts", func(t *testing.T, s *server) {
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update(label+"/algorithm", str("crc32")), update(label+"/algorithm", str("draft-literal"))}})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "draft-literal"}})
	}},
	{"3.4 of one path replaced twice the last counts", func(t *testing.T, s *server) {
		s.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{update(label, jsonOf(`{"algorithm":"crc32","rewrite":"always"}`)), update(label, jsonOf(`{"rewrite":"zero-only"}`))}})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"rewrite": "zero-only"}})
	}},
	{"3.4 a Set without paths is no error", func(t *testing.T, s *server) {
		s.mustSet(&gpb.SetRequest{})
		s.mustSet(&gpb.SetRequest{Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_RegisteredExt{RegisteredExt: &gnmi_ext.RegisteredExtension{}}}}})
	}},
	{"3.4 an UpdateResult an operation, in their order", func(t *testing.T, s *server) {
		before := time.Now().UnixNano()
		out := s.mustSet(&gpb.SetRequest{
			Update:  []*gpb.Update{update(label+"/rewrite", str("always")), update(label+"/algorithm", str("crc32"))},
			Delete:  []*gpb.Path{path(threshold)},
			Replace: []*gpb.Update{update(label, jsonOf(`{"admin_state":"enabled"}`))},
		})
		var ops []gpb.UpdateResult_Operation
		var last []string
		for _, r := range out.Response {
			ops = append(ops, r.Op)
			last = append(last, r.Path.Elem[len(r.Path.Elem)-1].Name)
		}
		is(t, "operations", ops, []gpb.UpdateResult_Operation{gpb.UpdateResult_DELETE, gpb.UpdateResult_REPLACE, gpb.UpdateResult_UPDATE, gpb.UpdateResult_UPDATE})
		is(t, "paths", last, []string{"SLUICE_THRESHOLD_LIST", "global", "rewrite", "algorithm"})
		if out.Timestamp < before || out.Timestamp > time.Now().UnixNano() {
			t.Errorf("timestamp %d", out.Timestamp)
		}
	}},
	{"3.4.2 the answer comes when the change is in force in Redis", func(t *testing.T, s *server) {
		for _, v := range []string{"crc32", "draft-literal", "crc32"} {
			s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update(label+"/algorithm", str(v))}})
			is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": v}})
		}
	}},
	{"3.4.2 a stream that is opened after the answer shows the change", func(t *testing.T, s *server) {
		for _, v := range []string{"crc32", "draft-literal", "crc32", "draft-literal"} {
			s.mustSet(algorithm(v, nil))
			st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(label+"/algorithm", gpb.SubscriptionMode_ON_CHANGE)))
			is(t, "initial", values(st.initial()...), map[string]string{label + "/algorithm": v})
		}
	}},
	{"3.4.3 all or nothing", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "admin_state", "enabled")
		_, err := s.set(&gpb.SetRequest{
			Delete: []*gpb.Path{path(label)},
			Update: []*gpb.Update{update(label+"/rewrite", str("always")), update(threshold, jsonOf(`{"low_bytes":1}`))},
		})
		fails(t, "a row without a mandatory leaf", err, codes.InvalidArgument)
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"admin_state": "enabled"}})
	}},
	{"3.4.3 no update shows a change that was not accepted", func(t *testing.T, s *server) {
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(label, gpb.SubscriptionMode_ON_CHANGE)))
		st.initial()
		_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update(label+"/rewrite", str("always")), update(label+"/algorithm", str("md5"))}})
		fails(t, "Set", err, codes.InvalidArgument)
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update(label+"/algorithm", str("crc32"))}})
		got := values(st.until(map[string]string{label + "/algorithm": "crc32"})...)
		is(t, "updates", got, map[string]string{label + "/algorithm": "crc32"})
	}},
	{"3.4.4 what is not there is created", func(t *testing.T, s *server) {
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update(threshold+"/high_bytes", &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: 7}})}})
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update("/sonic-sluice/SLUICE_PPFC_PEER/SLUICE_PPFC_PEER_LIST[prefix=10.0.0.0/8]", ietf(`{"sonic-sluice:prefix":"10.0.0.0/8"}`))}})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "7"}, "SLUICE_PPFC_PEER|10.0.0.0/8": {}})
	}},
	{"3.4.4 an invalid value changes nothing", func(t *testing.T, s *server) {
		for what, v := range map[string]*gpb.TypedValue{
			"out of range": jsonOf(`{"high_bytes":5,"queues":[8]}`), "of another type": ietf(`{"high_bytes":5}`),
			"no enum": jsonOf(`{"high_bytes":5,"action":"stop"}`), "unknown leaf": jsonOf(`{"high_bytes":5,"color":"red"}`),
			"no JSON": jsonOf(`{"high_bytes":`), "two values": jsonOf(`{"high_bytes":5} {}`), "no object": jsonOf(`7`),
			"must": jsonOf(`{"high_bytes":5,"low_bytes":5}`), "too many digits": jsonOf(`{"high_bytes":18446744073709551616}`),
			"a null leaf": jsonOf(`{"high_bytes":null}`), "no value": nil,
		} {
			_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update(label+"/algorithm", str("crc32")), update(threshold, v)}})
			fails(t, what, err, codes.InvalidArgument)
		}
		_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update("/sonic-sluice/SLUICE_PORT/SLUICE_PORT_LIST[name=Ethernet9]/role", str("edge"))}})
		fails(t, "a port that is not there", err, codes.InvalidArgument)
		is(t, "rows", s.rows(), rowsMap{})
	}},
	{"3.4.4 replace of a collection removes what the value lacks", func(t *testing.T, s *server) {
		for _, p := range []string{thresholds + "/SLUICE_THRESHOLD_LIST", thresholds} {
			s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "reduction", "9")
			s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "8")
			entries := `[{"name":"gold","high_bytes":"9"},{"name":"tin","high_bytes":"2"}]`
			if p == thresholds {
				entries = `{"sonic-sluice:SLUICE_THRESHOLD_LIST":` + entries + `}`
			}
			s.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{update(p, ietf(entries))}})
			is(t, p, s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "9"}, "SLUICE_THRESHOLD|tin": {"high_bytes": "2"}})
		}
	}},
	{"3.4.4 update of a collection adds", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "8")
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update("/", ietf(`{"sonic-sluice:sonic-sluice":{"SLUICE_THRESHOLD":{"SLUICE_THRESHOLD_LIST":[{"name":"gold","high_bytes":"9"}]}}}`))}})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "9"}, "SLUICE_THRESHOLD|iron": {"high_bytes": "8"}})
	}},
	{"3.4.4 replace: a leaf that the value lacks takes its default, or is gone", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "low_bytes", "3", "reduction", "9")
		s.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{update(threshold, jsonOf(`{"name":"gold","high_bytes":7}`))}})
		is(t, "default", s.one(threshold+"/reduction", gpb.Encoding_PROTO), map[string]string{threshold + "/reduction": "50"})
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path(threshold + "/low_bytes")}})
		fails(t, "no default", err, codes.NotFound)
	}},
	{"3.4.4 replace far above: what has a default takes it, what has none is gone", func(t *testing.T, s *server) {
		for _, p := range []string{"/", "/sonic-sluice"} {
			s.write(s.config, "SLUICE|global", "driver", "orchagent", "router_id", "10.0.0.1")
			v := `{"SLUICE_FLOW_LABEL":{"global":{"rewrite":"always"}}}`
			if p == "/" {
				v = `{"sonic-sluice":` + v + `}`
			}
			s.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{update(p, jsonOf(v))}})
			is(t, "a default", s.one("/sonic-sluice/SLUICE/global/driver", gpb.Encoding_PROTO), map[string]string{"/sonic-sluice/SLUICE/global/driver": "sai"})
			_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path("/sonic-sluice/SLUICE/global/router_id")}})
			fails(t, "no default", err, codes.NotFound)
		}
	}},
	{"3.4.4 replace by null, nothing or {} deletes nothing", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		for what, u := range map[string]*gpb.Update{
			"{} for an entry": update(threshold, jsonOf(`{}`)), "null for an entry": update(threshold, jsonOf(`null`)),
			"null for a leaf": update(threshold+"/high_bytes", jsonOf(`null`)), "nothing": update(threshold+"/high_bytes", nil),
		} {
			_, err := s.set(&gpb.SetRequest{Replace: []*gpb.Update{u}})
			fails(t, what, err, codes.InvalidArgument)
		}
		is(t, "rows", s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "7"}})
	}},
	{"3.4.4 update changes only the leaves that it names", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "reduction", "9")
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update(threshold, jsonOf(`{"high_bytes":8,"queues":[1,2]}`))}})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "8", "reduction": "9", "queues@": "1,2"}})
	}},
	{"3.4.5 an update with some keys of several is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update("/sonic-sluice-state/SLUICE_CONFIG_ERROR/SLUICE_CONFIG_ERROR_LIST[table=x]/reason", str("y"))}})
		fails(t, "one key of two", err, codes.InvalidArgument)
		_, err = s.set(&gpb.SetRequest{Update: []*gpb.Update{update("/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST/high_bytes", str("y"))}})
		fails(t, "no key", err, codes.InvalidArgument)
	}},
	{"3.4.5 a key that contradicts the path is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		for what, u := range map[string]*gpb.Update{
			"in the value": update(threshold, jsonOf(`{"name":"iron","high_bytes":7}`)), "as leaf": update(threshold+"/name", str("iron")),
		} {
			_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{u}})
			fails(t, what, err, codes.InvalidArgument)
		}
		is(t, "rows", s.rows(), rowsMap{})
	}},
	{"3.4.6 delete takes all below, and expands wildcards", func(t *testing.T, s *server) {
		for _, p := range []string{thresholds, "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=*]", "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST", "/sonic-sluice/SLUICE_THRESHOLD/*"} {
			s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
			s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "8")
			s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path(p)}})
			is(t, p, s.rows(), rowsMap{})
		}
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "reduction", "9")
		s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "8", "reduction", "9")
		s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path("/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=*]/reduction")}})
		is(t, "a leaf of all", s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "7"}, "SLUICE_THRESHOLD|iron": {"high_bytes": "8"}})
	}},
	{"3.4.6 delete by ... takes what the path names, and no more", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "reduction", "9")
		s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "8", "reduction", "9")
		s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path("/.../reduction")}})
		is(t, "a leaf", s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "7"}, "SLUICE_THRESHOLD|iron": {"high_bytes": "8"}})
		s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path("/.../SLUICE_THRESHOLD_LIST[name=gold]")}})
		is(t, "an entry", s.rows(), rowsMap{"SLUICE_THRESHOLD|iron": {"high_bytes": "8"}})
		_, err := s.set(&gpb.SetRequest{Delete: []*gpb.Path{sonic("/CONFIG_DB/localhost/.../gold")}})
		fails(t, "where a key is an element", err, codes.InvalidArgument)
		is(t, "rows", s.rows(), rowsMap{"SLUICE_THRESHOLD|iron": {"high_bytes": "8"}})
	}},
	{"3.4.6 delete of what is not there is accepted", func(t *testing.T, s *server) {
		s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{path(threshold), path(threshold + "/low_bytes"), path(label + "/algorithm")}})
	}},
	{"3.4.7 a path that cannot be parsed is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{{Path: &gpb.Path{Elem: []*gpb.PathElem{{}}}, Val: str("x")}}})
		fails(t, "Set", err, codes.InvalidArgument)
	}},
	{"3.4.7 a path that is not valid is NOT_FOUND", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update("/sonic-sluice/SLUICE_PROT/x", str("x"))}})
		fails(t, "update", err, codes.NotFound)
		_, err = s.set(&gpb.SetRequest{Replace: []*gpb.Update{update(label+"/color", str("x"))}})
		fails(t, "replace", err, codes.NotFound)
		_, err = s.set(&gpb.SetRequest{UnionReplace: []*gpb.Update{update(label+"/color", str("x"))}})
		fails(t, "union_replace", err, codes.NotFound)
	}},
	{"3.4.7 an encoding that is not supported is UNIMPLEMENTED", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update(label, &gpb.TypedValue{Value: &gpb.TypedValue_ProtoBytes{ProtoBytes: []byte("x")}})}})
		fails(t, "proto_bytes", err, codes.Unimplemented)
	}},
	{"3.4 state is read only", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update(state+"/state", str("running"))}})
		fails(t, "update", err, codes.InvalidArgument)
		_, err = s.set(&gpb.SetRequest{Delete: []*gpb.Path{sonic("/STATE_DB/localhost/SLUICE_STATE")}})
		fails(t, "delete", err, codes.InvalidArgument)
	}},
}
