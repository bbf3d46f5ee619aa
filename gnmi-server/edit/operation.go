// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"errors"
	"fmt"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
)

// ErrReadOnly means that an operation would change state.
var ErrReadOnly = errors.New("is state, and can be read only")

// ErrMixed means that union_replace stands beside other operations.
var ErrMixed = errors.New("union_replace cannot be combined with delete, replace or update")

// Operation is one of a SetRequest.
type Operation struct {
	Kind  gpb.UpdateResult_Operation
	Path  *gpb.Path // as the request has it
	Query *paths.Query

	assignments []encoding.Assignment
}

// Operations returns the operations of a request in the order in which they are
// applied: delete, union_replace, replace, update. The error of an operation
// names it by kind and path.
func Operations(r *gpb.SetRequest) ([]Operation, error) {
	if len(r.UnionReplace) > 0 && len(r.Delete)+len(r.Replace)+len(r.Update) > 0 {
		return nil, ErrMixed
	}
	var all []Operation
	add := func(kind gpb.UpdateResult_Operation, path *gpb.Path, v *gpb.TypedValue) error {
		o, err := newOperation(kind, r.Prefix, path, v)
		if err != nil {
			return o.wrong(err)
		}
		all = append(all, o)
		return nil
	}
	for _, p := range r.Delete {
		if err := add(gpb.UpdateResult_DELETE, p, nil); err != nil {
			return nil, err
		}
	}
	for _, of := range []struct {
		kind gpb.UpdateResult_Operation
		all  []*gpb.Update
	}{{gpb.UpdateResult_UNION_REPLACE, r.UnionReplace}, {gpb.UpdateResult_REPLACE, r.Replace}, {gpb.UpdateResult_UPDATE, r.Update}} {
		for _, u := range of.all {
			if err := add(of.kind, u.GetPath(), u.GetVal()); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

func newOperation(kind gpb.UpdateResult_Operation, prefix, path *gpb.Path, v *gpb.TypedValue) (Operation, error) {
	o := Operation{Kind: kind, Path: path}
	var err error
	if o.Query, err = paths.Resolve(prefix, path); err != nil {
		return o, err
	}
	q := o.Query
	if kind != gpb.UpdateResult_DELETE && q.Missing != "" {
		return o, fmt.Errorf("key %s is missing; %s needs all of its keys", q.Missing, q.Parts[0].Table.Row)
	}
	if !q.Within(func(t *paths.Table) bool { return t.Config }) {
		return o, ErrReadOnly
	}
	if q.Level == paths.AtLeaf && kind != gpb.UpdateResult_UPDATE && !q.Wild() && q.Parts[0].Table.IsKey(q.Parts[0].Leaves[0]) {
		return o, errors.New("is in the key, and goes with its row only")
	}
	if kind == gpb.UpdateResult_DELETE {
		return o, nil
	}
	if q.Wild() && !q.Every {
		return o, errors.New("wildcards are for delete only; a value needs one node")
	}
	if o.assignments, err = encoding.Decode(q, v); err != nil {
		return o, err
	}
	return o, o.check()
}

// check looks at what a value says as a whole.
func (o *Operation) check() error {
	for _, a := range o.assignments {
		if !a.Table.Config {
			return fmt.Errorf("%s: %w", a.Table.Name, ErrReadOnly)
		}
	}
	// {} for an entry of a list would take its keys away (section 3.4.4).
	q := o.Query
	emptied := len(o.assignments) == 1 && o.assignments[0].Name == "" && q.Level == paths.AtRow && !q.Every
	if emptied && q.Style == paths.YANG && o.Kind != gpb.UpdateResult_UPDATE {
		return errors.New("the value has no key; to remove the row, delete it")
	}
	return nil
}

func (o *Operation) wrong(err error) error {
	var of *paths.Error
	if errors.As(err, &of) { // which names the path
		return fmt.Errorf("%s: %w", kindNames[o.Kind], err)
	}
	return fmt.Errorf("%s %s: %w", kindNames[o.Kind], o.Query, err)
}

var kindNames = map[gpb.UpdateResult_Operation]string{
	gpb.UpdateResult_DELETE:        "delete",
	gpb.UpdateResult_UNION_REPLACE: "union_replace",
	gpb.UpdateResult_REPLACE:       "replace",
	gpb.UpdateResult_UPDATE:        "update",
}

// String returns kind and path, for logs.
func (o *Operation) String() string { return kindNames[o.Kind] + " " + o.Query.String() }
