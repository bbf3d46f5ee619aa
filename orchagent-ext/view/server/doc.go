// SPDX-License-Identifier: Apache-2.0

// Package server serves the page of sluice view and the pictures that it shows, of any
// [frame.Source]. It only reads: GET and HEAD. Each picture goes to all clients that wait for
// one; a slow client gets the newest when it can take one, and skips those between.
//
//	/             the page and its parts
//	/api/span     the times that can be asked for
//	/api/picture  the picture of a time: at=RFC 3339, find=QUERY
//	/api/stream   server-sent events: a picture for each new frame; find=QUERY
//
// On loopback it answers requests to names of loopback alone, so that a page from elsewhere whose
// name leads here (DNS rebinding) is refused. Beyond loopback it is served over TLS to users
// with a password.
package server
