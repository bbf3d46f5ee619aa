// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestSetTellsWhatIsRefusedFromWhatIsUnknown: after a refusal nothing was written; after an answer
// that was lost it is not known.
func TestSetTellsWhatIsRefusedFromWhatIsUnknown(t *testing.T) {
	waits, err := status.New(codes.FailedPrecondition, "commit \"a\" waits").WithDetails(&gnmi_ext.Commit{Id: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		err     error
		refused bool
		commit  string
		says    string
	}{
		"good":              {nil, false, "", ""},
		"a wrong row":       {status.Error(codes.InvalidArgument, "SLUICE_PORT|a\x1b[2J: no such row"), true, "", "SLUICE_PORT|a·[2J: no such row"},
		"not allowed":       {status.Error(codes.PermissionDenied, "bob may not write"), true, "", "bob may not write"},
		"no user":           {status.Error(codes.Unauthenticated, "no user"), true, "", "no user"},
		"a commit waits":    {waits.Err(), true, "a", `commit "a" waits`},
		"others write":      {status.Error(codes.Aborted, "others keep writing"), true, "", "others keep writing"},
		"Redis is away":     {status.Error(codes.Unavailable, "no Redis"), false, "", "no Redis"},
		"the answer broke":  {status.Error(codes.Unknown, "not known"), false, "", "not known"},
		"without a message": {status.Error(codes.Unavailable, ""), false, "", "Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			f := plainFleet(t, Target{Name: "leaf1", Address: serve(t, &fakeSwitch{set: func(_ context.Context, r *gpb.SetRequest) error {
				if len(r.GetDelete()) == 1 {
					asked++
				}
				return tt.err
			}}, nil)})
			err := f.Set(t.Context(), 0, &gpb.SetRequest{Delete: []*gpb.Path{{}}}, false)
			var refused *RefusedError
			if is := errors.As(err, &refused); (err == nil) != (tt.err == nil) || is != tt.refused || asked != 1 {
				t.Fatalf("asked %d times: %v", asked, err)
			}
			if err != nil && !strings.Contains(err.Error(), tt.says) || refused != nil && (refused.Commit != tt.commit || refused.Code != status.Code(tt.err)) {
				t.Errorf("%v: %+v", err, refused)
			}
		})
	}
}

// TestSetOfASwitchThatIsAway: an error at once, or, where the caller is patient, its change when the
// switch is back; one that cannot be asked at all is a refusal.
func TestSetOfASwitchThatIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	f := plainFleet(t, Target{Name: "leaf1", Address: address}, Target{Name: "leaf2", Address: "leaf2", Login: Login{CA: "/nowhere"}})
	var refused *RefusedError
	if err := f.Set(t.Context(), 0, &gpb.SetRequest{}, false); err == nil || errors.As(err, &refused) {
		t.Errorf("away: %v", err)
	}
	if err := f.Set(t.Context(), 1, &gpb.SetRequest{}, true); !errors.As(err, &refused) || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("a login that cannot be read: %v", err)
	}
	over, end := context.WithCancel(t.Context())
	f.limitSet = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(ctx)
		stop := context.AfterFunc(over, func() { cancel(lateError(SetTimeout)) })
		return ctx, func() { stop(); cancel(nil) }
	}
	end()
	if err := f.Set(t.Context(), 0, &gpb.SetRequest{}, true); err == nil || errors.As(err, &refused) || err.Error() != "deadline exceeded after 10 s" {
		t.Errorf("away for all of its time: %v", err)
	}
}

// TestEndpointIsTheSameUnderEachName of a switch.
func TestEndpointIsTheSameUnderEachName(t *testing.T) {
	f := plainFleet(t, Target{Name: "leaf1", Address: "10.0.0.1"}, Target{Name: "10.0.0.1:50070", Address: "10.0.0.1:50070"}, Target{Name: "b", Address: "unix:/run/gnmi.sock"}, Target{Name: "c", Address: "fe80::1%eth0"})
	got := strings.Join(f.Endpoints(), " ")
	if want := "10.0.0.1:50070 10.0.0.1:50070 unix:/run/gnmi.sock [fe80::1%eth0]:50070"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestReadOneAsksOneSwitch, and the others are left alone.
func TestReadOneAsksOneSwitch(t *testing.T) {
	f := plainFleet(t, Target{Name: "leaf1", Address: silent(t)}, Target{Name: "leaf2", Address: serve(t, running(), nil)})
	if r := f.ReadOne(t.Context(), 1, state); r.Err != nil || r.Target.Name != "leaf2" || len(r.Rows) != 1 {
		t.Errorf("%+v", r)
	}
}
