// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
)

// errorLength is how long the text of an error may be, in octets: it repeats what
// the client has sent, and clients refuse long trailers (some from 8 KiB on).
const errorLength = 2048

// short returns an error that clients take, whatever it quotes.
func short(err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil || len(s.Message()) <= errorLength {
		return err
	}
	return status.Error(s.Code(), paths.Short(s.Message(), errorLength))
}

// reading returns the status of an error of a Get or Subscribe.
func reading(err error) error { return asStatus(err, codes.Unimplemented) }

// asStatus returns the status of an error; unknown is the code of a path that no
// model has.
func asStatus(err error, unknown codes.Code) error {
	if _, ok := status.FromError(err); ok {
		return err
	}
	code := codes.InvalidArgument
	var path *paths.Error
	switch {
	case errors.As(err, &path) && path.Unknown:
		code = unknown
	case errors.Is(err, encoding.ErrEncoding):
		code = codes.Unimplemented
	}
	return status.Error(code, err.Error())
}
