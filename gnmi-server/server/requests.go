// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"sluice/gnmi-server/auth"
)

const (
	// partsAtOnce is how many fields a request may have, in all of its messages: a
	// field of 2 octets can take more than 100 in memory.
	partsAtOnce = 1 << 17

	// partsOfOperation is for how many of them an operation of a Set may account.
	partsOfOperation = 32

	// deepest is how many messages may be in one another.
	deepest = 64
)

// raw is a request as it came.
type raw []byte

// Codec is gRPC's, and leaves a raw request as it is, so that it is judged before
// it takes memory.
func Codec() encoding.CodecV2 { return codec{encoding.GetCodecV2(protocodec.Name)} }

// codec leaves requests encoded, so that the server can limit their size in memory before
// it decodes them.
type codec struct{ encoding.CodecV2 }

// Unmarshal implements [encoding.CodecV2].
func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	if r, ok := v.(*raw); ok {
		*r = data.Materialize()
		return nil
	}
	return c.CodecV2.Unmarshal(data, v)
}

// Register registers the service, with methods that judge a request before they
// decode it. It needs a server with [Codec].
func (s *Server) Register(r grpc.ServiceRegistrar) {
	desc := gpb.GNMI_ServiceDesc
	desc.Methods = slices.Clone(desc.Methods)
	for i := range desc.Methods {
		next := desc.Methods[i].Handler
		desc.Methods[i].Handler = func(srv any, ctx context.Context, dec func(any) error, unary grpc.UnaryServerInterceptor) (any, error) {
			return next(srv, ctx, func(m any) error {
				var r raw
				if err := dec(&r); err != nil {
					return err
				}
				err := s.decode(ctx, r, m.(proto.Message))
				if _, is := m.(*gpb.SetRequest); is && err != nil {
					s.refused(ctx, err)
				}
				return err
			}, unary)
		}
	}
	r.RegisterService(&desc, s)
}

// judged is a stream that judges messages before it decodes them.
type judged struct{ grpc.ServerStream }

// RecvMsg implements [grpc.ServerStream]: it decodes a request within the limits.
func (j judged) RecvMsg(m any) error {
	var r raw
	if err := j.ServerStream.RecvMsg(&r); err != nil {
		return err
	}
	return decode(r, m.(proto.Message), partsAtOnce)
}

// decode decodes a request, once its client's permission and its length are checked.
func (s *Server) decode(ctx context.Context, r raw, m proto.Message) error {
	parts := partsAtOnce
	if _, is := m.(*gpb.SetRequest); is {
		if !s.Policy.For(user(ctx), auth.Write).AllowsSome(everything) {
			return status.Errorf(codes.PermissionDenied, "%s may not write anything", user(ctx))
		}
		if n := operationsIn(r); n > s.Operations {
			return status.Errorf(codes.ResourceExhausted, "the Set has %d operations; %d are allowed (--max-operations)", n, s.Operations)
		}
		parts = max(parts, partsOfOperation*s.Operations)
	}
	return decode(r, m, parts)
}

// decode decodes a request of at most so many fields, nested at most deepest levels. The
// error is ResourceExhausted above these, InvalidArgument for octets that are no message.
func decode(r raw, m proto.Message, parts int) error {
	if left := parts; !count(r, m.ProtoReflect().Descriptor(), &left, deepest) {
		return status.Errorf(codes.ResourceExhausted, "the request has more than %d fields, or more than %d messages in one another", parts, deepest)
	}
	if err := proto.Unmarshal(r, m); err != nil {
		return status.Errorf(codes.InvalidArgument, "the request is no %s: %v", m.ProtoReflect().Descriptor().Name(), err)
	}
	return nil
}

// operationsIn counts those of a SetRequest.
func operationsIn(r raw) int {
	fields := (&gpb.SetRequest{}).ProtoReflect().Descriptor().Fields()
	n := 0
	_ = each(r, func(f protowire.Number, _ []byte) bool {
		if d := fields.ByNumber(f); d != nil && d.IsList() && d.Name() != "extension" {
			n++
		}
		return true
	})
	return n
}

// count takes the fields of a message from left; it returns false where there are
// more, or where messages are more than depth deep in one another.
func count(b []byte, of protoreflect.MessageDescriptor, left *int, depth int) bool {
	ok := depth > 0
	err := each(b, func(n protowire.Number, value []byte) bool {
		*left--
		ok = ok && *left >= 0
		if d := of.Fields().ByNumber(n); ok && d != nil && d.Message() != nil && value != nil {
			ok = count(value, d.Message(), left, depth-1)
		}
		return ok
	})
	return ok || err != nil // proto.Unmarshal has the better error
}

// errWire is the error of octets outside protocol buffers' wire format.
var errWire = errors.New("no protocol buffer")

// each calls f for each field of a message until it returns false; value is nil but
// for those with a length.
func each(b []byte, f func(n protowire.Number, value []byte) bool) error {
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errWire
		}
		b = b[size:]
		var value []byte
		if kind == protowire.BytesType {
			if value, size = protowire.ConsumeBytes(b); value == nil {
				value = []byte{}
			}
		} else {
			size = protowire.ConsumeFieldValue(n, kind, b)
		}
		if size < 0 {
			return errWire
		}
		b = b[size:]
		if !f(n, value) {
			return nil
		}
	}
	return nil
}
