// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/gnmi-server/paths"
)

// configError is a table of state whose rows are atomic.
const configError = "/sonic-sluice-state/SLUICE_CONFIG_ERROR"

// all returns what every way to read answers to the paths: by Get, and by
// Subscribe in each mode, for a STREAM to changes and one of samples.
func (s *server) all(ps ...*gpb.Path) map[string][]*gpb.Notification {
	s.t.Helper()
	got := map[string][]*gpb.Notification{"Get": s.get(&gpb.GetRequest{Path: ps, Encoding: gpb.Encoding_PROTO})}
	subscribe := func(name string, list_ gpb.SubscriptionList_Mode, mode gpb.SubscriptionMode) *stream {
		r := list(list_)
		for _, p := range ps {
			r.GetSubscribe().Subscription = append(r.GetSubscribe().Subscription, &gpb.Subscription{Path: p, Mode: mode})
		}
		st := s.subscribe(r)
		got[name] = st.initial()
		return st
	}
	subscribe("ONCE", gpb.SubscriptionList_ONCE, 0)
	subscribe("POLL", gpb.SubscriptionList_POLL, 0)
	subscribe("ON_CHANGE", gpb.SubscriptionList_STREAM, gpb.SubscriptionMode_ON_CHANGE)
	sampled := subscribe("SAMPLE", gpb.SubscriptionList_STREAM, gpb.SubscriptionMode_SAMPLE)
	if len(got["SAMPLE"]) > 0 {
		got["SAMPLE"] = append(got["SAMPLE"], sampled.next().GetUpdate())
	}
	return got
}

// sees waits until streams show a value, so that all of the ways agree.
func (s *server) sees(p *gpb.Path) {
	s.t.Helper()
	r := list(gpb.SubscriptionList_STREAM, &gpb.Subscription{Path: p, Mode: gpb.SubscriptionMode_ON_CHANGE})
	st := s.subscribe(r)
	defer st.end()
	for len(st.next().GetUpdate().GetUpdate()) == 0 {
	}
}

// shows waits until streams show these values: what was written to Redis just now is
// not in the initial state of a stream otherwise.
func (s *server) shows(want map[string]string) {
	s.t.Helper()
	var all []*gpb.Subscription
	for p := range want {
		all = append(all, on(p, gpb.SubscriptionMode_ON_CHANGE))
	}
	st := s.subscribe(list(gpb.SubscriptionList_STREAM, all...))
	defer st.end()
	st.until(want)
}

// names are the cases of how things are named: prefixes, targets, keys.
var names = []must{
	{"2.1.1 what the schema calls atomic is never sent otherwise", func(t *testing.T, s *server) {
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold", "reason", "too low", "field", "high_bytes")
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|iron", "reason", "too high")
		s.sees(path(configError))
		for way, notes := range s.all(path(configError), path(configError+"/*/reason")) {
			for _, n := range notes {
				if way != "Get" && (!n.GetAtomic() || len(n.GetPrefix().GetElem()) != 3) {
					t.Errorf("%s: not atomic, or not of a row: %v", way, n)
				}
			}
		}
	}},
	{"2.1.1 an atomic row that is gone, or what is subscribed of it, is deleted by its prefix", func(t *testing.T, s *server) {
		const row = configError + "/SLUICE_CONFIG_ERROR_LIST[key=gold][table=SLUICE_THRESHOLD]"
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold", "reason", "too low", "field", "high_bytes")
		s.sees(path(configError))
		whole := s.subscribe(list(gpb.SubscriptionList_STREAM, on(configError, gpb.SubscriptionMode_ON_CHANGE)))
		part := s.subscribe(list(gpb.SubscriptionList_STREAM, on(configError+"/*/field", gpb.SubscriptionMode_ON_CHANGE)))
		whole.initial()
		part.initial()
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold", "reason", "too low")
		n := whole.next().GetUpdate()
		is(t, "the row without a leaf", values(n), map[string]string{row + "/reason": "too low", row + "/key": "gold", row + "/table": "SLUICE_THRESHOLD"})
		part.until(map[string]string{row: "deleted"})
		s.remove(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold")
		whole.until(map[string]string{row: "deleted"})
	}},
	{"2.2.2 every path that is sent is absolute and names one leaf", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold", "reason", "too low")
		s.sees(path(threshold))
		s.sees(path(configError))
		for way, notes := range s.all(path("/"), path("/sonic-sluice/*/*"), path(".../reason"), sonic("/CONFIG_DB/localhost/*/*/*"), sonic("/STATE_DB")) {
			for _, n := range notes {
				for _, u := range n.GetUpdate() {
					q, err := paths.Resolve(n.GetPrefix(), u.GetPath())
					if err != nil || q.Wild() || q.Level != paths.AtLeaf {
						t.Errorf("%s: %v behind %v: %v", way, u.GetPath(), n.GetPrefix(), err)
					}
				}
			}
		}
	}},
	{"2.2.2.1 target is in the prefix of every Notification of every mode, atomic or not", func(t *testing.T, s *server) {
		s.write(s.state, "SLUICE_CONFIG_ERROR|SLUICE_THRESHOLD|gold", "reason", "too low")
		s.sees(path(configError))
		for _, mode := range []gpb.SubscriptionMode{gpb.SubscriptionMode_ON_CHANGE, gpb.SubscriptionMode_SAMPLE, gpb.SubscriptionMode_TARGET_DEFINED} {
			for _, target := range []string{"leaf1", ""} {
				r := list(gpb.SubscriptionList_STREAM, on(configError, mode), on(label, mode))
				r.GetSubscribe().Prefix = &gpb.Path{Target: target}
				st := s.subscribe(r)
				notes := st.initial()
				if mode == gpb.SubscriptionMode_SAMPLE {
					notes = append(notes, st.next().GetUpdate(), st.next().GetUpdate())
				}
				for _, n := range notes {
					is(t, mode.String(), n.GetPrefix().GetTarget(), target)
					for _, u := range n.GetUpdate() {
						is(t, mode.String()+", in a path", u.GetPath().GetTarget(), "")
					}
				}
				st.end()
			}
		}
	}},
	{"2.7 origin in prefix and path, or behind elements, is INVALID_ARGUMENT in every RPC", func(t *testing.T, s *server) {
		for what, r := range map[string]struct{ prefix, path *gpb.Path }{
			"in both":                {&gpb.Path{Origin: "sonic-db"}, sonic("/CONFIG_DB/localhost/SLUICE_PORT")},
			"in both, the same name": {&gpb.Path{Origin: "openconfig"}, &gpb.Path{Origin: "openconfig", Elem: path(label).Elem}},
			"behind elements":        {path("/CONFIG_DB/localhost"), sonic("/SLUICE_PORT")},
		} {
			_, err := s.client().Get(limited(t), &gpb.GetRequest{Prefix: r.prefix, Path: []*gpb.Path{r.path}})
			fails(t, "Get, "+what, err, codes.InvalidArgument)
			_, err = s.set(&gpb.SetRequest{Prefix: r.prefix, Delete: []*gpb.Path{r.path}})
			fails(t, "Set, "+what, err, codes.InvalidArgument)
			list := list(gpb.SubscriptionList_ONCE, &gpb.Subscription{Path: r.path})
			list.GetSubscribe().Prefix = r.prefix
			fails(t, "Subscribe, "+what, s.subscribe(list).fails(), codes.InvalidArgument)
		}
	}},
	{"2.7 two origins in one request, each with its own answers", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		s.sees(path(threshold))
		for way, notes := range s.all(path(threshold+"/high_bytes"), sonic("/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/high_bytes")) {
			got := make(map[string]string)
			for _, n := range notes {
				for p := range values(n) {
					got[p] = n.GetPrefix().GetOrigin()
				}
			}
			if way == "SAMPLE" { // two timers: the last message is of either
				continue
			}
			is(t, way, got, map[string]string{threshold + "/high_bytes": "", "/CONFIG_DB/localhost/SLUICE_THRESHOLD/gold/high_bytes": "sonic-db"})
		}
	}},
	{"2.7 target and path that name different databases are INVALID_ARGUMENT", func(t *testing.T, s *server) {
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Prefix: &gpb.Path{Target: "STATE_DB", Origin: "sonic-db"}, Path: []*gpb.Path{path("/CONFIG_DB/localhost/SLUICE_PORT")}})
		fails(t, "Get", err, codes.InvalidArgument)
	}},
	{"2.7.3 replace at the root replaces what the models have, and nothing else", func(t *testing.T, s *server) {
		s.write(s.config, "PORT|Ethernet0", "admin_status", "up")
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "admin_state", "enabled")
		s.write(s.state, "SLUICE_STATE|global", "state", "running")
		s.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{update("/", jsonOf(`{"sonic-sluice":{"SLUICE_PFCM":{"global":{"admin_state":"enabled"}}}}`))}})
		is(t, "rows", s.rows(), rowsMap{"PORT|Ethernet0": {"admin_status": "up"}, "SLUICE_PFCM|global": {"admin_state": "enabled"}})
		s.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{{Path: sonic("/CONFIG_DB/localhost/SLUICE_FLOW_LABEL"), Val: jsonOf(`{"global":{"rewrite":"always"}}`)}}})
		is(t, "rows", s.rows(), rowsMap{"PORT|Ethernet0": {"admin_status": "up"}, "SLUICE_PFCM|global": {"admin_state": "enabled"}, "SLUICE_FLOW_LABEL|global": {"rewrite": "always"}})
		is(t, "state", s.one(state+"/state", gpb.Encoding_PROTO), map[string]string{state + "/state": "running"})
	}},
	{"2.7 the root and a database of sonic-db, read and written back", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7", "queues@", "3,4")
		s.write(s.config, "SLUICE_PPFC_PEER|10.0.0.0/8")
		before := s.rows()
		for p, answers := range map[string]string{"/": "/", "/CONFIG_DB": "/CONFIG_DB/localhost", "/CONFIG_DB/localhost": "/CONFIG_DB/localhost"} {
			u := s.get(&gpb.GetRequest{Path: []*gpb.Path{sonic(p)}, Type: gpb.GetRequest_CONFIG})[0].Update[0]
			is(t, "path of the answer", paths.Text(u.Path), answers)
			u.Path.Origin = "sonic-db"
			s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{sonic(p)}})
			is(t, "rows that are left", s.rows(), rowsMap{})
			s.mustSet(&gpb.SetRequest{Replace: []*gpb.Update{u}})
			is(t, "rows", s.rows(), before)
		}
	}},
	{"2.2.2 a key may have marks, spaces and letters of any script", func(t *testing.T, s *server) {
		for _, key := range []string{`a]b[c=d]`, `back\slash/slash`, "two words", "ключ 鍵 🔑", `"quoted" 'key' <&>`, "a...b", "sonic-sluice:x"} {
			s.write(s.config, "PORT|"+key, "admin_status", "up")
			entry := &gpb.Path{Elem: []*gpb.PathElem{{Name: "sonic-sluice"}, {Name: "SLUICE_PORT"}, {Name: "SLUICE_PORT_LIST", Key: map[string]string{"name": key}}}}
			row := &gpb.Path{Origin: "sonic-db", Elem: []*gpb.PathElem{{Name: "CONFIG_DB"}, {Name: "localhost"}, {Name: "SLUICE_PORT"}, {Name: key}}}
			for _, p := range []*gpb.Path{entry, row} {
				st := s.subscribe(list(gpb.SubscriptionList_STREAM, &gpb.Subscription{Path: p, Mode: gpb.SubscriptionMode_ON_CHANGE}))
				st.initial()
				s.mustSet(&gpb.SetRequest{Update: []*gpb.Update{{Path: p, Val: jsonOf(`{"role":"edge"}`)}}})
				is(t, "rows", s.rows("SLUICE_PORT"), rowsMap{"SLUICE_PORT|" + key: {"role": "edge"}})
				u := s.get(&gpb.GetRequest{Path: []*gpb.Path{p}})[0].Update[0]
				is(t, "path of the answer", strings.TrimPrefix(paths.Text(p), "sonic-db:"), paths.Text(u.Path))
				want := paths.Text(u.Path) + "/role"
				st.until(map[string]string{want: "edge"})
				s.mustSet(&gpb.SetRequest{Delete: []*gpb.Path{p}})
				st.until(map[string]string{want: "deleted"})
				st.end()
			}
			s.remove(s.config, "PORT|"+key)
		}
		is(t, "rows", s.rows(), rowsMap{})
	}},
	{"2.5 the text of an error is short, however long the request", func(t *testing.T, s *server) {
		long := strings.Repeat("x", 1<<20)
		_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{{Elem: []*gpb.PathElem{{Name: long}}}}})
		fails(t, "a path", err, codes.Unimplemented)
		_, setErr := s.set(algorithm(long, nil))
		fails(t, "a value", setErr, codes.InvalidArgument)
		subscribeErr := s.subscribe(list(gpb.SubscriptionList_ONCE, &gpb.Subscription{Path: &gpb.Path{Origin: long}})).fails()
		fails(t, "an origin", subscribeErr, codes.Unimplemented)
		for _, err := range []error{err, setErr, subscribeErr} {
			if n := len(status.Convert(err).Message()); n > 4096 {
				t.Errorf("an error of %d octets", n)
			}
		}
	}},
}
