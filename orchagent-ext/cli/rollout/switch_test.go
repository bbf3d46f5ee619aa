// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"sluice/orchagent-ext/cli/settings"
	"sluice/orchagent-ext/cli/targets"
	"sluice/yang/rows"
)

// A step is what a Set asks for.
type step string

const (
	begins   step = "begin"
	confirms step = "confirm"
	cancels  step = "cancel"
	plainly  step = "set"
)

// fakeSwitch is a switch of these tests: rows of CONFIG_DB, gNMI's Set with the commit
// extension, and a fault.
type fakeSwitch struct {
	gpb.UnimplementedGNMIServer
	server *grpc.Server
	socket string

	mu     sync.Mutex
	config settings.Config
	commit string          // that waits to be confirmed
	before settings.Config // rows that it takes back
	steps  []step
	// fault is called before a step, with the lock held; handled ends it with the error. nil: there is none.
	fault func(s step) (handled bool, err error)
	// after is called after a step that was carried out; its error is the answer.
	after func(s step) error
	// unread is the error of reading.
	unread error
}

// port0 has the row that the tests change.
var port0 = rows.Row{Table: "SLUICE_PORT", Key: "Ethernet0", Fields: map[string]string{"role": "edge"}}

// serve serves a switch with a port until the test ends.
func serve(t *testing.T, more ...rows.Row) *fakeSwitch {
	t.Helper()
	f := &fakeSwitch{config: settings.NewConfig(append(more, port0, rows.Row{Table: tablePortStats, Key: "Ethernet4", Fields: map[string]string{"rx_packets": "1"}})),
		socket: filepath.Join(t.TempDir(), "s")}
	l, err := net.Listen("unix", f.socket)
	if err != nil {
		t.Fatal(err)
	}
	f.server = grpc.NewServer()
	gpb.RegisterGNMIServer(f.server, f)
	done := make(chan struct{})
	go func() { defer close(done); _ = f.server.Serve(l) }()
	t.Cleanup(func() { f.server.Stop(); <-done })
	return f
}

// Subscribe implements gNMI's service: all rows of the tables that are asked for.
func (f *fakeSwitch) Subscribe(stream grpc.BidiStreamingServer[gpb.SubscribeRequest, gpb.SubscribeResponse]) error {
	r, err := stream.Recv()
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unread != nil {
		return f.unread
	}
	n := &gpb.Notification{Timestamp: time.Now().UnixNano()}
	for _, s := range r.GetSubscribe().GetSubscription() {
		e := s.GetPath().GetElem()
		for _, row := range f.config {
			if row.Table != e[2].GetName() {
				continue
			}
			fields := maps.Clone(row.Fields)
			if len(fields) == 0 {
				fields = map[string]string{"NULL": "NULL"}
			}
			for column, value := range fields {
				p := &gpb.Path{}
				for _, name := range []string{e[0].GetName(), "localhost", row.Table, row.Key, strings.TrimSuffix(column, "@")} {
					p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
				}
				v := &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: value}}
				if strings.HasSuffix(column, "@") {
					list := &gpb.ScalarArray{}
					for one := range strings.SplitSeq(value, ",") {
						list.Element = append(list.Element, &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: one}})
					}
					v.Value = &gpb.TypedValue_LeaflistVal{LeaflistVal: list}
				}
				n.Update = append(n.Update, &gpb.Update{Path: p, Val: v})
			}
		}
	}
	if err := stream.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}}); err != nil {
		return err
	}
	return stream.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
}

// Set implements gNMI's service.
func (f *fakeSwitch) Set(_ context.Context, r *gpb.SetRequest) (*gpb.SetResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var c *gnmi_ext.Commit
	for _, e := range r.GetExtension() {
		c = e.GetCommit()
	}
	s := plainly
	switch c.GetAction().(type) {
	case *gnmi_ext.Commit_Commit:
		s = begins
	case *gnmi_ext.Commit_Confirm:
		s = confirms
	case *gnmi_ext.Commit_Cancel:
		s = cancels
	}
	f.steps = append(f.steps, s)
	if f.fault != nil {
		if handled, err := f.fault(s); handled {
			return &gpb.SetResponse{}, err
		}
	}
	if err := f.take(s, c.GetId(), r); err != nil {
		return nil, err
	}
	if f.after != nil {
		if err := f.after(s); err != nil {
			return nil, err
		}
	}
	return &gpb.SetResponse{}, nil
}

// take carries out a step.
func (f *fakeSwitch) take(s step, id string, r *gpb.SetRequest) error {
	switch {
	case s == confirms && f.commit == id:
		f.commit = ""
		return nil
	case s == cancels && f.commit == id:
		f.config, f.commit = f.before, ""
		return nil
	case s == confirms, s == cancels:
		return status.Error(codes.FailedPrecondition, "no commit waits to be confirmed")
	case f.commit != "":
		waits, err := status.Newf(codes.FailedPrecondition, "commit %q waits to be confirmed", f.commit).WithDetails(&gnmi_ext.Commit{Id: f.commit})
		if err != nil {
			return err
		}
		return waits.Err()
	case s == begins:
		f.before, f.commit = maps.Clone(f.config), id
	}
	f.config = maps.Clone(f.config)
	for _, p := range r.GetDelete() {
		name := p.GetElem()[2].GetName() + "|" + p.GetElem()[3].GetName()
		row := f.config[name]
		if len(p.GetElem()) == 4 {
			delete(f.config, name)
			continue
		}
		row.Fields = maps.Clone(row.Fields)
		maps.DeleteFunc(row.Fields, func(column, _ string) bool { return strings.TrimSuffix(column, "@") == p.GetElem()[4].GetName() })
		f.config[name] = row
	}
	for _, u := range r.GetUpdate() {
		row := rows.Row{Table: u.GetPath().GetElem()[2].GetName(), Key: u.GetPath().GetElem()[3].GetName()}
		fields := map[string]string{}
		maps.Copy(fields, f.config[row.Name()].Fields)
		if err := json.Unmarshal(u.GetVal().GetJsonVal(), &fields); err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		row.Fields = fields
		f.config[row.Name()] = row
	}
	return nil
}

// at calls f with the lock of the switch.
func (f *fakeSwitch) at(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}

// role returns the role of the port, and the id of the commit that waits.
func (f *fakeSwitch) role() (role, commit string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.config[port0.Name()].Fields["role"], f.commit
}

// took returns the steps that the switch was asked for.
func (f *fakeSwitch) took() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for _, s := range f.steps {
		all = append(all, string(s))
	}
	return strings.Join(all, " ")
}

// fleetOf returns the fleet of switches leaf1, leaf2, and so on. A switch that is away costs its SetTimeout.
func fleetOf(t *testing.T, all ...*fakeSwitch) *targets.Fleet {
	t.Helper()
	var of []targets.Target
	for i, f := range all {
		of = append(of, targets.Target{Name: "leaf" + string(rune('1'+i)), Address: "unix:" + f.socket})
	}
	f, err := targets.NewFleet(of, targets.Options{Timeout: patience, SetTimeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

// patience is how long a switch of these tests may take: the machine may be busy.
const patience = 3 * time.Minute

// toFabric is the change of these tests.
func toFabric(*Switch) (settings.Change, error) {
	return tableOf("SLUICE_PORT").Set("Ethernet0", map[string]string{"role": "fabric"}), nil
}

// tableOf returns a table by its name.
func tableOf(name string) *settings.Table {
	all := settings.Tables()
	return &all[slices.IndexFunc(all, func(t settings.Table) bool { return t.Name == name })]
}

// results returns the results of a plan, one a word with - for blanks.
func results(p *Plan) string {
	var all []string
	for _, s := range p.Switches {
		all = append(all, strings.ReplaceAll(string(s.Result), " ", "-"))
	}
	return strings.Join(all, " ")
}
