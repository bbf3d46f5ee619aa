// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/ygot/ygot"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sluice/gnmi-server/paths"
)

// Paths that many cases use.
const (
	threshold  = "/sonic-sluice/SLUICE_THRESHOLD/SLUICE_THRESHOLD_LIST[name=gold]"
	thresholds = "/sonic-sluice/SLUICE_THRESHOLD"
	label      = "/sonic-sluice/SLUICE_FLOW_LABEL/global"
	state      = "/sonic-sluice-state/SLUICE_STATE/global"
	stats      = "/sonic-sluice-state/SLUICE_STATS/global"
)

type rowsMap = map[string]map[string]string

func path(text string) *gpb.Path {
	p, err := ygot.StringToStructuredPath(text)
	if err != nil {
		panic(err)
	}
	return p
}

func sonic(text string) *gpb.Path {
	p := path(text)
	p.Origin = "sonic-db"
	return p
}

func jsonOf(text string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(text)}}
}

func ietf(text string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}
}

func str(text string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: text}}
}

func update(p string, v *gpb.TypedValue) *gpb.Update { return &gpb.Update{Path: path(p), Val: v} }

// values returns updates by path, as text: JSON as it came, other values as they
// are.
func values(notes ...*gpb.Notification) map[string]string {
	all := make(map[string]string)
	for _, n := range notes {
		for _, u := range n.GetUpdate() {
			full := &gpb.Path{Elem: append(append([]*gpb.PathElem{}, n.GetPrefix().GetElem()...), u.GetPath().GetElem()...)}
			all[paths.Text(full)] = value(u.GetVal())
		}
	}
	return all
}

func value(v *gpb.TypedValue) string {
	switch v := v.GetValue().(type) {
	case *gpb.TypedValue_JsonVal:
		return string(v.JsonVal)
	case *gpb.TypedValue_JsonIetfVal:
		return string(v.JsonIetfVal)
	case *gpb.TypedValue_StringVal:
		return v.StringVal
	case *gpb.TypedValue_UintVal:
		return fmt.Sprint(v.UintVal)
	case *gpb.TypedValue_BoolVal:
		return fmt.Sprint(v.BoolVal)
	case *gpb.TypedValue_DoubleVal:
		return fmt.Sprint(v.DoubleVal)
	case *gpb.TypedValue_AsciiVal:
		return v.AsciiVal
	}
	return v.String()
}

func is(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// isJSON compares what JSON texts mean.
func isJSON(t *testing.T, what, got, want string) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(got), &a); err != nil {
		t.Fatalf("%s: %v in %s", what, err, got)
	}
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	is(t, what, a, b)
}

// fails checks the code of an error, which must have a text.
func fails(t *testing.T, what string, err error, want codes.Code) {
	t.Helper()
	if s := status.Convert(err); s.Code() != want || want != codes.OK && s.Message() == "" {
		t.Errorf("%s: got %v %q, want %v and a text", what, s.Code(), s.Message(), want)
	}
}

// get returns the notifications of a Get.
func (s *server) get(r *gpb.GetRequest) []*gpb.Notification {
	s.t.Helper()
	out, err := s.client().Get(limited(s.t), r)
	if err != nil {
		s.t.Fatal(err)
	}
	return out.GetNotification()
}

// one returns what a Get of one path says, by path.
func (s *server) one(p string, e gpb.Encoding) map[string]string {
	s.t.Helper()
	return values(s.get(&gpb.GetRequest{Path: []*gpb.Path{path(p)}, Encoding: e})...)
}

func (s *server) set(r *gpb.SetRequest) (*gpb.SetResponse, error) {
	return s.client().Set(limited(s.t), r)
}

func (s *server) mustSet(r *gpb.SetRequest) *gpb.SetResponse {
	s.t.Helper()
	out, err := s.set(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}
