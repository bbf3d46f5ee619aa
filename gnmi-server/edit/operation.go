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

// ErrMixed means that union_replace is beside other operations.
var ErrMixed = errors.New("union_replace cannot be combined with delete, replace or update")

// Operation is one of a SetRequest.
type Operation struct {
	// Kind is delete, union_replace, replace or update.
	Kind gpb.UpdateResult_Operation
	Path *gpb.Path // as the request has it
	// Query has the nodes that the path names.
	Query *paths.Query

	assignments []encoding.Assignment
}

// Operations returns the operations of a request in the order in which they are
// applied: delete, union_replace, replace, update. The error of an operation
// names it by kind and path; those before it are returned, too. Allowed is asked
// before the work for an operation begins, if it is not nil; its error is returned
// as it is.
func Operations(r *gpb.SetRequest, allowed func(*paths.Query) error) ([]Operation, error) {
	if len(r.UnionReplace) > 0 && len(r.Delete)+len(r.Replace)+len(r.Update) > 0 {
		return nil, ErrMixed
	}
	var all []Operation
	add := func(kind gpb.UpdateResult_Operation, path *gpb.Path, v *gpb.TypedValue) error {
		o := Operation{Kind: kind, Path: path}
		var err error
		if o.Query, err = paths.Resolve(r.Prefix, path); err != nil {
			return o.wrong(err)
		}
		if allowed != nil {
			if err := allowed(o.Query); err != nil {
				return err
			}
		}
		if err := o.decode(v); err != nil {
			return o.wrong(err)
		}
		all = append(all, o)
		return nil
	}
	for _, p := range r.Delete {
		if err := add(gpb.UpdateResult_DELETE, p, nil); err != nil {
			return all, err
		}
	}
	for _, of := range []struct {
		kind gpb.UpdateResult_Operation
		all  []*gpb.Update
	}{{gpb.UpdateResult_UNION_REPLACE, r.UnionReplace}, {gpb.UpdateResult_REPLACE, r.Replace}, {gpb.UpdateResult_UPDATE, r.Update}} {
		for _, u := range of.all {
			if err := add(of.kind, u.GetPath(), u.GetVal()); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// decode takes the value of an operation whose path is resolved.
func (o *Operation) decode(v *gpb.TypedValue) error {
	q := o.Query
	if o.Kind != gpb.UpdateResult_DELETE && q.Missing != "" {
		return fmt.Errorf("key %s is missing; %s needs all of its keys", q.Missing, q.Parts[0].Table.Row)
	}
	if !q.Within(func(t *paths.Table) bool { return t.Config }) {
		return ErrReadOnly
	}
	if q.Level == paths.AtLeaf && o.Kind != gpb.UpdateResult_UPDATE && !q.Wild() && q.Parts[0].Table.IsKey(q.Parts[0].Leaves[0]) {
		return errors.New("is in the key, and goes with its row only")
	}
	if o.Kind == gpb.UpdateResult_DELETE {
		return nil
	}
	if q.Wild() && !q.Every {
		return errors.New("wildcards are for delete only; a value needs one node")
	}
	var err error
	if o.assignments, err = encoding.Decode(q, v); err != nil {
		return err
	}
	return o.check()
}

// check judges the assignments of a value together.
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

// wrong adds the kind and the path of the operation to an error.
func (o *Operation) wrong(err error) error {
	var of *paths.Error
	if errors.As(err, &of) { // which names the path
		return fmt.Errorf("%s: %w", kindNames[o.Kind], err)
	}
	return fmt.Errorf("%s %s: %w", kindNames[o.Kind], o.Query, err)
}

// kindNames are the names of operations in errors, as in a SetRequest.
var kindNames = map[gpb.UpdateResult_Operation]string{
	gpb.UpdateResult_DELETE:        "delete",
	gpb.UpdateResult_UNION_REPLACE: "union_replace",
	gpb.UpdateResult_REPLACE:       "replace",
	gpb.UpdateResult_UPDATE:        "update",
}

// String returns kind and path, for logs.
func (o *Operation) String() string { return kindNames[o.Kind] + " " + o.Query.String() }
