// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A request is judged by its fields before it is decoded: how many there are, and
// how deep.
func TestLimitOfFields(t *testing.T) {
	deep := &gpb.TypedValue{}
	for range deepest {
		deep = &gpb.TypedValue{Value: &gpb.TypedValue_LeaflistVal{LeaflistVal: &gpb.ScalarArray{Element: []*gpb.TypedValue{deep}}}}
	}
	encode := func(m proto.Message) raw {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	get := &gpb.GetRequest{Prefix: &gpb.Path{Target: "x"}, Path: []*gpb.Path{{Elem: []*gpb.PathElem{{Name: "a", Key: map[string]string{"k": "v"}}}}, {}}}
	for name, tt := range map[string]struct {
		r    raw
		of   proto.Message
		most int
		want codes.Code
	}{
		"as many as may be":   {encode(get), &gpb.GetRequest{}, 9, codes.OK},
		"one more":            {encode(get), &gpb.GetRequest{}, 8, codes.ResourceExhausted},
		"many empty paths":    {bytes.Repeat([]byte{0x12, 0}, 1000), &gpb.GetRequest{}, 999, codes.ResourceExhausted},
		"many empty strings":  {append([]byte{0x12, 0xd0, 0x0f}, bytes.Repeat([]byte{0x0a, 0}, 1000)...), &gpb.GetRequest{}, 1000, codes.ResourceExhausted},
		"deep":                {encode(&gpb.SetRequest{Update: []*gpb.Update{{Val: deep}}}), &gpb.SetRequest{}, 1 << 20, codes.ResourceExhausted},
		"no protocol buffer":  {raw{0xff}, &gpb.GetRequest{}, 9, codes.InvalidArgument},
		"it ends too early":   {raw{0x12, 9}, &gpb.GetRequest{}, 9, codes.InvalidArgument},
		"fields of no schema": {bytes.Repeat([]byte{0x98, 0x06, 1}, 10), &gpb.GetRequest{}, 10, codes.OK},
	} {
		t.Run(name, func(t *testing.T) {
			if err := decode(tt.r, tt.of, tt.most); status.Code(err) != tt.want {
				t.Errorf("%v, want %v", err, tt.want)
			}
		})
	}
	if !proto.Equal(get, func() proto.Message {
		m := &gpb.GetRequest{}
		if err := decode(encode(get), m, 9); err != nil {
			t.Error(err)
		}
		return m
	}()) {
		t.Error("what is decoded is not what was sent")
	}
	set := &gpb.SetRequest{Prefix: &gpb.Path{}, Delete: []*gpb.Path{{}, {}}, Replace: []*gpb.Update{{}}, Update: []*gpb.Update{{}}, UnionReplace: []*gpb.Update{{}}, Extension: []*gnmi_ext.Extension{{}}}
	if n := operationsIn(encode(set)); n != 5 {
		t.Errorf("%d operations", n)
	}
}
