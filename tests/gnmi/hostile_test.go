// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
)

// elems makes a path of n elements, whose names come in turns.
func elems(n int, names ...string) *gpb.Path {
	p := &gpb.Path{}
	for i := range n {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: names[i%len(names)]})
	}
	return p
}

// hostile are the cases of bad rows in Redis and of hostile requests.
var hostile = []must{
	{"2.2.2 what is sent is UTF-8, whatever Redis holds", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "action", "pau\xffse")
		s.write(s.config, "SLUICE_THRESHOLD|\xff\xfe", "high_bytes", "8")
		s.write(s.state, "SLUICE_CONFIG_ERROR|t|k", "reason", "\xc3\x28", "value", "a\x00b")
		s.sees(path(threshold))
		s.sees(path(configError))
		want := map[string]string{threshold + "/high_bytes": "7", threshold + "/name": "gold", threshold + "/reduction": "50"}
		for way, notes := range s.all(path(thresholds), path(configError), sonic("/CONFIG_DB"), sonic("/STATE_DB")) {
			if way == "SAMPLE" {
				notes = notes[:len(notes)-1]
			}
			got := values(notes...)
			for p, v := range want {
				is(t, way+" "+p, got[p], v)
			}
			is(t, way, got[threshold+"/action"], "")
			is(t, way, got["/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/action"], "pau\uFFFDse")
			is(t, way, got["/STATE_DB/localhost/SLUICE_CONFIG_ERROR/t|k/reason"], "\uFFFD(")
			is(t, way, got["/STATE_DB/localhost/SLUICE_CONFIG_ERROR/t|k/value"], "a\x00b")
		}
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, on(thresholds, gpb.SubscriptionMode_ON_CHANGE)))
		st.initial()
		s.write(s.config, "SLUICE_THRESHOLD|\xff\xfe", "high_bytes", "9")
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "action", "reduce")
		is(t, "the stream goes on", values(st.next().GetUpdate()), map[string]string{threshold + "/action": "reduce"})
	}},
	{"2.3.1 JSON is valid, whatever Redis holds", func(t *testing.T, s *server) {
		c := s.client()
		for _, v := range []string{"007", "+5", "-0", "1e3", "NaN", "Inf", "0x10", "1_0", ".5", "5.", " 5", "", "\"", "{}", "-1", "18446744073709551616"} {
			s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", v, "reduction", v, "queues@", v, "action", v)
			s.write(s.config, "SLUICE_FLOW_LABEL|global", "manage_switch_hash", v)
			s.write(s.counter, "SLUICE_STATS|global", "label_skipped_percent", v, "label_written", v)
			for _, e := range []gpb.Encoding{gpb.Encoding_JSON, gpb.Encoding_JSON_IETF} {
				for _, p := range []*gpb.Path{path("/"), path(threshold), path(thresholds + "/*/*"), path(stats), sonic("/"), sonic("/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/queues")} {
					out, err := c.Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{p}, Encoding: e})
					if err != nil && p.Elem != nil && p.Elem[len(p.Elem)-1].Name == "global" { // neither of the leaves is there
						fails(t, v, err, codes.NotFound)
						continue
					}
					if err != nil {
						t.Fatalf("with %q: %v", v, err)
					}
					for _, u := range out.GetNotification()[0].GetUpdate() {
						if text := value(u.GetVal()); !json.Valid([]byte(text)) {
							t.Errorf("with %q there is %s", v, text)
						}
					}
				}
			}
		}
	}},
	{"3.3.4 a row that is wrong is shown without what is wrong in it, and as it is by sonic-db", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "rewrite", "sometimes", "algorithm", "crc32", "color", "red")
		is(t, "YANG", s.one(label, gpb.Encoding_PROTO), map[string]string{label + "/algorithm": "crc32", label + "/admin_state": "disabled", label + "/manage_switch_hash": "false", label + "/hash_ports": "true", label + "/tunnels": "skip"})
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path(label + "/rewrite")}})
		fails(t, "the leaf", err, codes.NotFound)
		n := s.get(&gpb.GetRequest{Path: []*gpb.Path{sonic("/CONFIG_DB/localhost/SLUICE_FLOW_LABEL/global")}})
		isJSON(t, "sonic-db", string(n[0].Update[0].GetVal().GetJsonVal()), `{"rewrite":"sometimes","algorithm":"crc32"}`)
		_, err = s.set(algorithm("draft-literal", nil))
		fails(t, "a Set that leaves it wrong", err, codes.InvalidArgument)
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{update("/sonic-sluice/SLUICE_PFCM/global/admin_state", str("enabled"))}}) // of another row
		s.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{update(label, jsonOf(`{"algorithm":"crc32"}`))}})
		is(t, "rows", s.rows("SLUICE_FLOW_LABEL"), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}})
	}},
	{"3.3.4 a row of another name beside a container hides nothing", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_FLOW_LABEL|local", "rewrite", "always")
		s.sees(path(label))
		for way, notes := range s.all(path("/sonic-sluice/SLUICE_FLOW_LABEL/*/rewrite")) {
			is(t, way, values(notes...), map[string]string{label + "/rewrite": "zero-only"})
		}
	}},
	{"3.3.4 a row without fields is shown by sonic-db as SONiC writes it", func(t *testing.T, s *server) {
		const peers = "/CONFIG_DB/localhost/SLUICE_PPFC_PEER"
		s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{{Path: sonic(peers), Val: jsonOf(`{"10.0.0.0/8":{"NULL":"NULL"}}`)}}})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_PPFC_PEER|10.0.0.0/8": {}})
		u := s.get(&gpb.GetRequest{Path: []*gpb.Path{sonic(peers)}})[0].Update[0]
		isJSON(t, "Get", value(u.Val), `{"10.0.0.0/8":{"NULL":"NULL"}}`)
		st := s.subscribe(list(gpb.SubscriptionList_STREAM, &gpb.Subscription{Path: sonic(peers), Mode: gpb.SubscriptionMode_ON_CHANGE}))
		is(t, "STREAM", values(st.initial()...), map[string]string{peers + "/10.0.0.0/8/NULL": "NULL"})
		s.remove(s.config, "SLUICE_PPFC_PEER|10.0.0.0/8")
		st.until(map[string]string{peers + "/10.0.0.0/8/NULL": "deleted"})
	}},
	{"2.5 long and deep requests are answered at once, and the server lives", func(t *testing.T, s *server) {
		began := time.Now()
		for what, p := range map[string]*gpb.Path{
			"...": elems(20000, "..."), "*": elems(20000, "*"), "... and *": elems(20000, "...", "*"), "known names": elems(20000, "sonic-sluice", "SLUICE_PORT"),
		} {
			_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{p}})
			code := codes.Unimplemented
			if what == "..." {
				code = codes.OK
			}
			fails(t, what, err, code)
			_, err = s.set(&gpb.SetRequest{Delete: []*gpb.Path{p}})
			code = codes.NotFound
			if what == "..." {
				code = codes.OK
			}
			fails(t, what+", deleted", err, code)
		}
		deep := jsonOf(strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000))
		for what, v := range map[string]*gpb.TypedValue{
			"deep": deep, "deep list": jsonOf(strings.Repeat("[", 1<<20)), "digits": jsonOf(strings.Repeat("9", 1<<20)), "name": jsonOf(`{"` + strings.Repeat("x", 1<<20) + `":1}`),
		} {
			_, err := s.set(&gpb.SetRequest{Update: []*gpb.Update{update(threshold, v)}})
			fails(t, what, err, codes.InvalidArgument)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("it took %v", took)
		}
	}},
	{"2.5 more paths than are allowed are RESOURCE_EXHAUSTED", func(t *testing.T, s *server) {
		many := make([]*gpb.Path, 5000)
		r := list(gpb.SubscriptionList_STREAM)
		for i := range many {
			many[i] = path(label)
			r.GetSubscribe().Subscription = append(r.GetSubscribe().Subscription, sample(label, time.Hour))
		}
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: many})
		fails(t, "Get", err, codes.ResourceExhausted)
		fails(t, "Subscribe", s.subscribe(r).fails(), codes.ResourceExhausted)
		r.GetSubscribe().Subscription = r.GetSubscribe().Subscription[:4096]
		s.subscribe(r).initial()
		root := make([]*gpb.Path, 4096)
		for i := range root {
			root[i] = &gpb.Path{}
		}
		if err := s.state.Write(t.Context(), flows(1000, 0)...); err != nil {
			t.Fatal(err)
		}
		_, err = s.client().Get(limited(t), &gpb.GetRequest{Path: root})
		fails(t, "an answer that is too long", err, codes.ResourceExhausted)
	}},
}
