// SPDX-License-Identifier: Apache-2.0

package targets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"sluice/yang/rows"
	"sluice/yang/text"
)

// Bounds of an answer, octets. One of 512 ports with 1000 flows sends some 4 MB.
const (
	mostMessage = 4 << 20
	mostReply   = 16 << 20
)

// localhost is the namespace in paths of sonic-db.
const localhost = "localhost"

// lent are SONiC's tables that Sluice's commands read and sluice-gnmi does not serve. Their keys
// are those of other tables: sluiced counts at each port of PORT.
var lent = map[string][]string{
	"PORT":        {"SLUICE_PORT", "SLUICE_PORT_STATS"},
	"PORTCHANNEL": {"SLUICE_PORT"},
}

// question is the tables that switches are asked for.
type question struct {
	request *gpb.SubscribeRequest
	// asked has the tables of the request with the database of each, wanted those that a
	// command wants.
	asked  map[string]string
	wanted map[string]bool
}

// newQuestion returns the question for tables by the database that they are in.
func newQuestion(wanted map[string][]string) *question {
	q := &question{asked: map[string]string{}, wanted: map[string]bool{}}
	for database, tables := range wanted {
		for _, name := range tables {
			all := []string{name}
			if begin, is := strings.CutSuffix(name, "*"); is {
				all = slices.DeleteFunc(rows.Tables(database), func(t string) bool { return !strings.HasPrefix(t, begin) })
			}
			for _, table := range all {
				q.wanted[table] = true
				for _, table := range append([]string{table}, lent[table]...) {
					if d, known := rows.Describe(table); known {
						q.asked[table] = d.Database
					}
				}
			}
		}
	}
	list := &gpb.SubscriptionList{Mode: gpb.SubscriptionList_ONCE, Encoding: gpb.Encoding_PROTO, Prefix: &gpb.Path{Origin: "sonic-db"}}
	for _, table := range slices.Sorted(maps.Keys(q.asked)) {
		path := &gpb.Path{}
		for _, name := range []string{q.asked[table], localhost, table} {
			path.Elem = append(path.Elem, &gpb.PathElem{Name: name})
		}
		list.Subscription = append(list.Subscription, &gpb.Subscription{Path: path})
	}
	q.request = &gpb.SubscribeRequest{Request: &gpb.SubscribeRequest_Subscribe{Subscribe: list}}
	return q
}

// name is that of a row.
type name struct{ table, key string }

// reply collects the answer of a switch.
type reply struct {
	*question
	fields map[name]map[string]string
	size   int   // octets so far
	at     int64 // time of the first message, ns since 1970
}

// read asks a question with one RPC, and takes the answer to its end.
func (a *reply) read(ctx context.Context, c gpb.GNMIClient) error {
	ctx, cancel := context.WithCancel(ctx) // ends the RPC on each way out
	defer cancel()
	a.fields = map[name]map[string]string{}
	stream, err := c.Subscribe(ctx)
	if err != nil {
		return err
	}
	if err := stream.Send(a.request); err != nil && !errors.Is(err, io.EOF) { // Recv has the reason
		return err
	}
	for {
		r, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return errors.New("the answer ends before it is whole")
		case err != nil:
			return err
		case r.GetSyncResponse():
			return nil
		}
		if a.size += proto.Size(r); a.size > mostReply {
			return fmt.Errorf("the answer has more than %d MiB", mostReply>>20)
		}
		if err := a.add(r.GetUpdate()); err != nil {
			return err
		}
	}
}

// add takes a notification.
func (a *reply) add(n *gpb.Notification) error {
	if a.at == 0 {
		a.at = n.GetTimestamp()
	}
	for _, u := range n.GetUpdate() {
		elems := slices.Concat(n.GetPrefix().GetElem(), u.GetPath().GetElem())
		const depth = 5 // database, namespace, table, key, leaf
		if len(elems) != depth || a.asked[elems[2].GetName()] != elems[0].GetName() {
			return fmt.Errorf("the answer has what was not asked for: %s", pathText(elems))
		}
		of := name{elems[2].GetName(), elems[3].GetName()}
		if a.fields[of] == nil {
			a.fields[of] = map[string]string{}
		}
		column, value, err := field(elems[4].GetName(), u.GetVal())
		if err != nil {
			return fmt.Errorf("%s: %w", pathText(elems), err)
		}
		if column != null {
			a.fields[of][column] = value
		}
	}
	return nil
}

// null is name and value of the field of a row without fields.
const null = "NULL"

// field returns a leaf as the database has it: a leaf-list has @ behind its name, and its
// values have commas between.
func field(leaf string, v *gpb.TypedValue) (column, value string, err error) {
	switch v := v.GetValue().(type) {
	case *gpb.TypedValue_StringVal:
		return leaf, v.StringVal, nil
	case *gpb.TypedValue_LeaflistVal:
		var all []string
		for _, e := range v.LeaflistVal.GetElement() {
			s, is := e.GetValue().(*gpb.TypedValue_StringVal)
			if !is {
				return "", "", errNoText
			}
			all = append(all, s.StringVal)
		}
		return leaf + "@", strings.Join(all, ","), nil
	}
	return "", "", errNoText
}

// errNoText is of a value that no database of SONiC has.
var errNoText = errors.New("the value must be a text or a list of texts")

// longestPath is how much of a path an error has, octets.
const longestPath = 256

// pathText returns a path for an error.
func pathText(elems []*gpb.PathElem) string {
	var b strings.Builder
	for _, e := range elems[:min(len(elems), 8)] {
		b.WriteString("/" + e.GetName())
	}
	return text.Printable(text.Cut(b.String(), longestPath))
}

// rows returns the rows of the tables that were wanted, sorted by name, with those that are
// lent.
func (a *reply) rows() []rows.Row {
	all := []rows.Row{}
	there := map[name]bool{}
	for of, fields := range a.fields {
		if a.wanted[of.table] {
			all = append(all, rows.Row{Table: of.table, Key: of.key, Fields: fields})
		}
		for table, from := range lent {
			borrowed := name{table, of.key}
			if !a.wanted[table] || !slices.Contains(from, of.table) || there[borrowed] ||
				rows.IsPortChannel(of.key) != (table == "PORTCHANNEL") {
				continue
			}
			there[borrowed] = true
			all = append(all, rows.Row{Table: table, Key: of.key})
		}
	}
	slices.SortFunc(all, func(a, b rows.Row) int { return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.Key, b.Key)) })
	return all
}

// reason returns why an RPC failed, in one line that people can read: the cause where its
// deadline is over, else the message of the status less the layers of gRPC.
func reason(ctx context.Context, err error) error {
	if cause := (lateError)(0); errors.As(context.Cause(ctx), &cause) {
		return cause
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s, is := status.FromError(err)
	if !is {
		return err
	}
	m := s.Message()
	for _, layer := range []string{`desc = "`, "transport: ", "Error while dialing: ", "authentication handshake failed: "} {
		if _, below, is := strings.Cut(m, layer); is {
			m = strings.TrimSuffix(below, `"`)
		}
	}
	if m == "" {
		m = s.Code().String()
	}
	return errors.New(text.Printable(text.Cut(m, longestReason)))
}

// longestReason is how much of a switch's own words an error has, octets.
const longestReason = 512
