// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// RefusedError is the answer of a switch that did not do what it was asked for: nothing was written.
type RefusedError struct {
	Code codes.Code
	// Commit is the id of the commit that waits to be confirmed there, where that is the reason.
	Commit string
	Reason string // one line
}

// Error returns the reason.
func (e *RefusedError) Error() string { return e.Reason }

// unknowing are the codes after which a switch may have written what it was asked for: gRPC has them where a connection
// ends before the answer comes, too.
var unknowing = []codes.Code{codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.Unknown}

// Set sends one request to the switch of a number, in the order of the targets, as a single RPC. The error is a
// [RefusedError], after which nothing was written, or the reason why no answer came: then it is not known. patient waits
// for a connection that broke to come back, within the time that an answer may take.
func (f *Fleet) Set(ctx context.Context, i int, r *gpb.SetRequest, patient bool) error {
	m := f.members[i]
	if m.broken != nil {
		return &RefusedError{Code: codes.InvalidArgument, Reason: m.broken.Error()}
	}
	f.places <- struct{}{}
	defer func() { <-f.places }()
	ctx, cancel := f.limitSet(metadata.AppendToOutgoingContext(ctx, m.metadata...))
	defer cancel()
	_, err := gpb.NewGNMIClient(m.conn).Set(ctx, r, grpc.WaitForReady(patient))
	if err == nil {
		return nil
	}
	why := reason(ctx, err)
	s, is := status.FromError(err)
	if !is || slices.Contains(unknowing, s.Code()) || ctx.Err() != nil {
		return why
	}
	return &RefusedError{Code: s.Code(), Commit: waitingCommit(s), Reason: why.Error()}
}

// waitingCommit returns the id of the commit of which a status has the details.
func waitingCommit(s *status.Status) string {
	for _, d := range s.Details() {
		if c, is := d.(*gnmi_ext.Commit); is {
			return c.GetId()
		}
	}
	return ""
}

// ReadOne asks the switch of a number for tables, as [Fleet.Read] asks all.
func (f *Fleet) ReadOne(ctx context.Context, i int, wanted map[string][]string) Reading {
	f.places <- struct{}{}
	defer func() { <-f.places }()
	return f.ask(ctx, f.members[i], newQuestion(wanted))
}

// Endpoints returns the network addresses of all switches, in the order of the targets.
func (f *Fleet) Endpoints() []string {
	var all []string
	for i := range f.members {
		all = append(all, f.Endpoint(i))
	}
	return all
}

// Endpoint returns the network address of the switch of a number, by which it is the same switch
// whatever an inventory calls it.
func (f *Fleet) Endpoint(i int) string {
	network, address := f.members[i].network(f.options.Port)
	if network == "unix" {
		return unixPrefix + address
	}
	return address
}
