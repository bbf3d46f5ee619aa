// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"fmt"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// reads are the cases of sections 2.8, 3.2 and 3.3: Capabilities and Get.
var reads = []must{
	{"2.8 an extension that the server does not know changes nothing", func(t *testing.T, s *server) {
		n := s.get(&gpb.GetRequest{Path: []*gpb.Path{path(label + "/algorithm")}, Extension: []*gnmi_ext.Extension{{
			Ext: &gnmi_ext.Extension_RegisteredExt{RegisteredExt: &gnmi_ext.RegisteredExtension{Id: gnmi_ext.ExtensionID_EID_EXPERIMENTAL, Msg: []byte("x")}},
		}}})
		is(t, "values", values(n...), map[string]string{label + "/algorithm": `"draft-literal"`})
	}},
	{"2.8 an extension that the server does not know changes nothing in Capabilities, Set and Subscribe", func(t *testing.T, s *server) {
		ext := []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_RegisteredExt{RegisteredExt: &gnmi_ext.RegisteredExtension{Id: gnmi_ext.ExtensionID_EID_EXPERIMENTAL, Msg: []byte("x")}}}}
		_, err := s.client().Capabilities(limited(t), &gpb.CapabilityRequest{Extension: ext})
		fails(t, "Capabilities", err, codes.OK)
		s.mustSet(algorithm("crc32", ext))
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}})
		r := list(gpb.SubscriptionList_ONCE, on(label+"/algorithm", 0))
		r.Extension = ext
		is(t, "Subscribe", values(s.subscribe(r).initial()...), map[string]string{label + "/algorithm": "crc32"})
	}},
	{"2.8 an extension that is known and not supported is UNIMPLEMENTED, and named", func(t *testing.T, s *server) {
		ext := []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{}}}}
		_, err := s.set(algorithm("crc32", ext))
		fails(t, "Set", err, codes.Unimplemented)
		is(t, "text", status.Convert(err).Message(), "the extension master_arbitration is not supported; there are: depth, commit")
		is(t, "rows", s.rows(), rowsMap{})
		_, err = s.client().Get(limited(t), &gpb.GetRequest{Extension: append(depth(1), depth(2)...)})
		fails(t, "one twice", err, codes.InvalidArgument)
	}},
	{"3.3.1 without paths, the prefix is the path", func(t *testing.T, s *server) {
		n := s.get(&gpb.GetRequest{Prefix: path(label + "/algorithm"), Encoding: gpb.Encoding_PROTO})
		is(t, "values", values(n...), map[string]string{label + "/algorithm": "draft-literal"})
	}},
	{"3.2 Capabilities has version, models and encodings", func(t *testing.T, s *server) {
		out, err := s.client().Capabilities(limited(t), &gpb.CapabilityRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var models []string
		for _, m := range out.SupportedModels {
			models = append(models, m.Name)
		}
		is(t, "version", out.GNMIVersion, "0.10.0")
		is(t, "models", models, []string{"sonic-sluice", "sonic-sluice-state"})
		is(t, "encodings", out.SupportedEncodings, []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF, gpb.Encoding_PROTO, gpb.Encoding_ASCII})
	}},
	{"3.2 every encoding that Capabilities names works", func(t *testing.T, s *server) {
		for e, want := range map[gpb.Encoding]string{
			gpb.Encoding_JSON: `"draft-literal"`, gpb.Encoding_JSON_IETF: `"draft-literal"`, gpb.Encoding_PROTO: "draft-literal", gpb.Encoding_ASCII: "draft-literal",
		} {
			is(t, e.String(), s.one(label+"/algorithm", e), map[string]string{label + "/algorithm": want})
		}
	}},
	{"3.3 Get has what is true when it is asked", func(t *testing.T, s *server) {
		for _, v := range []string{"starting", "running", "degraded"} {
			s.write(s.state, "SLUICE_STATE|global", "state", v)
			is(t, "state", s.one(state+"/state", gpb.Encoding_PROTO), map[string]string{state + "/state": v})
		}
	}},
	{"3.3.1 an invalid path is INVALID_ARGUMENT", func(t *testing.T, s *server) {
		for what, p := range map[string]*gpb.Path{
			"a nameless element": {Elem: []*gpb.PathElem{{Name: "sonic-sluice"}, {}}},
			"an unknown key":     path("/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[color=gold]"),
			"a key of no list":   path("/sonic-sluice/SLUICE_THRESHOLD[name=gold]"),
		} {
			_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{p}})
			fails(t, what, err, codes.InvalidArgument)
		}
	}},
	{"3.3.1 JSON is the default", func(t *testing.T, s *server) {
		if v := s.get(&gpb.GetRequest{Path: []*gpb.Path{path(label)}})[0].Update[0].Val; v.GetJsonVal() == nil {
			t.Errorf("got %v", v)
		}
	}},
	{"3.3.1 an unsupported encoding is UNIMPLEMENTED", func(t *testing.T, s *server) {
		for _, e := range []gpb.Encoding{gpb.Encoding_BYTES, 99} {
			_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path(label)}, Encoding: e})
			fails(t, e.String(), err, codes.Unimplemented)
			is(t, "text", status.Convert(err).Message(), fmt.Sprintf("encoding %v is not supported; there are: [JSON JSON_IETF PROTO ASCII]", e))
		}
	}},
	{"3.3.1 types: CONFIG, STATE, OPERATIONAL, and all by default", func(t *testing.T, s *server) {
		s.write(s.state, "SLUICE_STATE|global", "state", "running")
		for kind, want := range map[gpb.GetRequest_DataType][2]bool{
			gpb.GetRequest_ALL: {true, true}, gpb.GetRequest_CONFIG: {true, false},
			gpb.GetRequest_STATE: {false, true}, gpb.GetRequest_OPERATIONAL: {false, true},
		} {
			got := values(s.get(&gpb.GetRequest{Path: []*gpb.Path{path("/")}, Type: kind, Encoding: gpb.Encoding_PROTO})...)
			_, config := got[label+"/algorithm"]
			_, is := got[state+"/state"]
			if config != want[0] || is != want[1] {
				t.Errorf("%v: configuration %v, state %v; want %v", kind, config, is, want)
			}
		}
	}},
	{"3.3.1 wildcards: of keys, of a node, of all below", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		s.write(s.config, "SLUICE_THRESHOLD|iron", "high_bytes", "8")
		iron := "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=iron]"
		want := map[string]string{threshold + "/high_bytes": "7", iron + "/high_bytes": "8"}
		for _, p := range []string{
			"/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=*]/high_bytes",
			"/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST/high_bytes",
			"/sonic-sluice/*/*/high_bytes",
			"/*/SLUICE_THRESHOLD/*/high_bytes",
			"/.../high_bytes",
			"/sonic-sluice/.../high_bytes",
		} {
			is(t, p, s.one(p, gpb.Encoding_PROTO), want)
		}
	}},
	{"3.3.2 a Notification a path, none collapsed", func(t *testing.T, s *server) {
		before := time.Now().UnixNano()
		n := s.get(&gpb.GetRequest{Path: []*gpb.Path{path(label + "/algorithm"), path(label + "/rewrite"), path(label + "/algorithm")}, Encoding: gpb.Encoding_PROTO})
		if len(n) != 3 {
			t.Fatalf("%d notifications", len(n))
		}
		for i, want := range []string{"algorithm", "rewrite", "algorithm"} {
			if _, ok := values(n[i])[label+"/"+want]; !ok || len(n[i].Update) != 1 {
				t.Errorf("notification %d is not of %s: %v", i, want, n[i])
			}
			if n[i].Timestamp < before || n[i].Timestamp > time.Now().UnixNano() {
				t.Errorf("notification %d is of %v", i, n[i].Timestamp)
			}
		}
	}},
	{"3.3.4 a default that is in use is returned", func(t *testing.T, s *server) {
		is(t, "no row", s.one(label+"/algorithm", gpb.Encoding_PROTO), map[string]string{label + "/algorithm": "draft-literal"})
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		is(t, "no field", s.one(threshold+"/duration_us", gpb.Encoding_PROTO), map[string]string{threshold + "/duration_us": "40000"})
	}},
	{"3.3.4 what is not there is NOT_FOUND", func(t *testing.T, s *server) {
		for _, p := range []string{threshold, threshold + "/duration_us", state + "/version", thresholds, "/sonic-sluice/SLUICE/global/router_id"} {
			_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path(label), path(p)}})
			fails(t, p, err, codes.NotFound)
		}
	}},
	{"3.3.4 what no model has is UNIMPLEMENTED", func(t *testing.T, s *server) {
		for _, p := range []string{"/interfaces", "/sonic-sluice/SLUICE_PROT", label + "/color", label + "/algorithm/x", "/sonic-port/PORT"} {
			_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path(label), path(p)}})
			fails(t, p, err, codes.Unimplemented)
		}
		p := path(label)
		p.Origin = "cli"
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{p}})
		fails(t, "origin cli", err, codes.Unimplemented)
	}},
	{"2.7 SONiC's ways to name a row", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_PORT|Ethernet0", "role", "edge")
		s.write(s.counter, "SLUICE_PORT_STATS|Ethernet0", "rx_packets", "7")
		for what, r := range map[string]*gpb.GetRequest{
			"origin":            {Path: []*gpb.Path{sonic("/CONFIG_DB/localhost/SLUICE_PORT/Ethernet0")}},
			"origin and target": {Prefix: &gpb.Path{Target: "CONFIG_DB", Origin: "sonic-db"}, Path: []*gpb.Path{path("/CONFIG_DB/localhost/SLUICE_PORT/Ethernet0")}},
			"target":            {Prefix: &gpb.Path{Target: "CONFIG_DB"}, Path: []*gpb.Path{path("/localhost/SLUICE_PORT/Ethernet0")}},
			"target and table":  {Prefix: &gpb.Path{Target: "CONFIG_DB"}, Path: []*gpb.Path{path("/SLUICE_PORT/Ethernet0")}},
		} {
			isJSON(t, what, string(s.get(r)[0].Update[0].GetVal().GetJsonVal()), `{"role":"edge"}`)
		}
		n := s.get(&gpb.GetRequest{Path: []*gpb.Path{sonic("/COUNTERS_DB/localhost/SLUICE_PORT_STATS/*/rx_packets")}, Encoding: gpb.Encoding_PROTO})
		is(t, "counter", values(n...), map[string]string{"/COUNTERS_DB/localhost/SLUICE_PORT_STATS/Ethernet0/rx_packets": "7"})
	}},
}
