// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
	"sluice/yang/text"
)

// errorLength is how long the text of an error may be, in octets: it repeats what
// the client has sent, and clients refuse long trailers (some from 8 KiB on).
const errorLength = 2048

// short returns an error that clients take, and that their terminals may show, whatever it
// quotes of the request or of rows.
func short(err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return err
	}
	message := paths.Short(text.Lines(s.Message()), errorLength)
	if message == s.Message() {
		return err
	}
	changed := s.Proto()
	changed.Message = message
	return status.ErrorProto(changed)
}

// reading returns the status of an error of a Get or Subscribe.
func reading(err error) error { return asStatus(err, codes.Unimplemented) }

// asStatus returns the status of an error; unknown is the code of a path outside the
// models.
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
