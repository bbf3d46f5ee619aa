// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"

	"sluice/tests/etcdtest"
)

// A member that starts again has forgotten the tokens that it gave out.
func TestBoardLogsInAgainAfterEtcdRestarts(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, "http")
	config := boardConfig(t, c, "a")
	c.RequirePasswords("correct-horse")
	config.User, config.Password, config.PlaintextPassword = "switch", "correct-horse", true
	b, err := NewBoard(config)
	if err != nil {
		t.Fatal(err)
	}
	is := runBoard(t, b, 3*time.Second, 500*time.Millisecond)
	is.Put([]byte("of a"))
	shared := func(v View) bool { return leads(v) && string(v.Rows["a"]) == "of a" }
	is.await(t, "it leads", shared)
	for range 3 { // now and then the old client got a token
		c.Kill(0)
		is.await(t, "nothing is shared", func(v View) bool { return errors.Is(v.Err, ErrNotShared) })
		c.Start(0)
		is.await(t, "it is shared again", shared)
	}
}

// A key without a lease never ends: a row or a leader that another program wrote there, or
// that came back from a backup, would block this node for ever.
func TestBoardReplacesKeysWithoutALease(t *testing.T) {
	t.Parallel()
	c := etcdtest.Start(t, 1, "http")
	for _, key := range []string{"leader", "row/a"} {
		if _, err := c.Client.Put(t.Context(), "/sluice/"+t.Name()+"/placement/"+key, "ghost"); err != nil {
			t.Fatal(err)
		}
	}
	a := startBoard(t, c, "a")
	a.Put([]byte("of a"))
	a.await(t, "it leads", func(v View) bool { return leads(v) && v.Leader == "a" && string(v.Rows["a"]) == "of a" })
	a.Publish(1, "shape", map[string][]byte{"a": []byte("part")})
	a.await(t, "it publishes", func(v View) bool { return v.Published == 1 })
}

// A refused token ends the connection before the client's own login, for which the call may have no
// time left; a revision that has changed does not, since that login works.
func TestRefusedTokenEndsTheConnection(t *testing.T) {
	for _, tt := range []struct {
		method string
		err    error
		ends   bool
	}{
		{"/etcdserverpb.Lease/LeaseGrant", rpctypes.ErrGRPCInvalidAuthToken, true},
		{"/etcdserverpb.Lease/LeaseGrant", rpctypes.ErrGRPCAuthOldRevision, false},
		{"/etcdserverpb.Auth/Authenticate", rpctypes.ErrGRPCAuthOldRevision, true},
		{"/etcdserverpb.KV/Range", context.DeadlineExceeded, false},
		{"/etcdserverpb.KV/Range", nil, false},
	} {
		ctx, stop := context.WithCancelCause(t.Context())
		invoke := func(context.Context, string, any, any, *grpc.ClientConn, ...grpc.CallOption) error { return tt.err }
		if err := endWithToken(stop)(ctx, tt.method, nil, nil, nil, invoke); !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", tt.method, err, tt.err)
		}
		if ended := errors.Is(context.Cause(ctx), errTokenRefused); ended != tt.ends {
			t.Errorf("%s, %v: the connection ends: %v", tt.method, tt.err, ended)
		}
		stop(nil)
	}
}
