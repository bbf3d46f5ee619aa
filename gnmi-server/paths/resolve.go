// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
)

// Localhost is the namespace in paths of style SonicDB.
const Localhost = "localhost"

// Error is a fault of a path.
type Error struct {
	// Path is the wrong path as text.
	Path string
	// Reason is the fault, with the values that are allowed.
	Reason  string
	Unknown bool // the path is well formed, and outside all models
}

// Error implements [error].
func (e *Error) Error() string { return fmt.Sprintf("path %s: %s", e.Path, e.Reason) }

// recursive is the path element that matches any number of levels (gNMI path conventions,
// wildcards in paths).
const recursive = "..."

// Resolve returns the query of a path below a prefix; each may be nil. The error
// is an *[Error].
func Resolve(prefix, path *gpb.Path) (*Query, error) {
	full := &gpb.Path{Origin: prefix.GetOrigin(), Elem: slices.Concat(prefix.GetElem(), path.GetElem())}
	if path.GetOrigin() != "" {
		full.Origin = path.GetOrigin()
	}
	r := resolver{path: full, text: Short(Text(full), textLength)}
	if err := r.check(prefix, path); err != nil {
		return nil, err
	}
	style, elems, err := r.style(prefix.GetTarget())
	if err != nil {
		return nil, err
	}
	q := &Query{Style: style, Origin: full.Origin, Level: len(elems), text: r.text}
	if q.deep = slices.ContainsFunc(elems, isRecursive); q.deep {
		q.Level = AtLeaf
		// A second "..." matches the same leaves at a multiple of the time.
		elems = slices.CompactFunc(elems, func(a, b *gpb.PathElem) bool { return isRecursive(a) && isRecursive(b) })
	}
	reached := 0
	for _, t := range Tables() {
		nodes := nodesOf(style, t)
		var leaves []string
		for _, leaf := range t.Leaves {
			n := match(elems, append(nodes[:AtRow:AtRow], leaf), style == SonicDB && len(t.Keys) > 0)
			if reached = max(reached, n); n == len(elems) {
				leaves = append(leaves, leaf)
			}
		}
		if leaves == nil {
			continue
		}
		p, err := r.part(q, t, elems)
		if err != nil {
			return nil, err
		}
		// the path names leaves, and not the row
		if match(elems, nodes, style == SonicDB && len(t.Keys) > 0) < len(elems) {
			p.Leaves = leaves
		}
		q.Parts = append(q.Parts, p)
	}
	if q.Parts == nil {
		return nil, r.unknown(style, elems, reached)
	}
	return q, nil
}

// isRecursive reports whether an element is "...".
func isRecursive(e *gpb.PathElem) bool { return e.GetName() == recursive }

// resolver holds a path for errors.
type resolver struct {
	path *gpb.Path
	text string
}

// wrong returns an error of the path, cut to the length that clients accept.
func (r *resolver) wrong(format string, args ...any) *Error {
	return &Error{Path: r.text, Reason: Short(fmt.Sprintf(format, args...), 2*textLength)}
}

// check checks the form of a path, before the schema is used.
func (r *resolver) check(prefix, path *gpb.Path) error {
	switch {
	case prefix.GetOrigin() != "" && path.GetOrigin() != "":
		return r.wrong("origin is in the prefix and in the path; only one of them may have it")
	case path.GetOrigin() != "" && len(prefix.GetElem()) > 0:
		return r.wrong("origin must be in the prefix if the prefix has elements")
	case path.GetTarget() != "":
		return r.wrong("target %q must be in the prefix", path.GetTarget())
	case len(r.path.Elem) == 0 && len(prefix.GetElement())+len(path.GetElement()) > 0: //nolint:staticcheck // looked at to refuse it
		return r.wrong("field element is deprecated since gNMI 0.4.0; use elem")
	}
	for _, e := range r.path.Elem {
		if e.GetName() == "" {
			return r.wrong("an element has no name")
		}
		for k := range e.GetKey() {
			if k == "" {
				return r.wrong("a key of %s has no name", e.GetName())
			}
		}
	}
	return nil
}

// style returns the style of a path, by origin and target, and its elements with the
// names of modules, namespace and target removed.
func (r *resolver) style(target string) (Style, []*gpb.PathElem, error) {
	inDB := slices.Contains(Databases, target)
	switch r.path.Origin {
	case "", "openconfig":
		elems := plain(r.path.Elem)
		byModule := len(elems) > 0 && slices.ContainsFunc(Tables(), func(t *Table) bool { return t.Module == elems[0].Name })
		if !inDB || byModule || r.path.Origin != "" {
			return YANG, elems, nil
		}
	case "sonic-db":
	default:
		e := r.wrong("no origin %q here; there are: none or openconfig for the models, sonic-db for the databases", r.path.Origin)
		e.Unknown = true
		return 0, nil, e
	}
	elems := slices.Clone(r.path.Elem)
	for _, e := range elems {
		switch {
		case len(e.Key) > 0:
			return 0, nil, r.wrong("%s has keys in brackets; with origin sonic-db a row's key is an element of its own", e.Name)
		case isRecursive(e): // before a key it could mean every row
			return 0, nil, r.wrong("... is not for origin sonic-db; use * for each element")
		}
	}
	if inDB {
		if len(elems) == 0 || !slices.Contains(Databases, elems[0].Name) {
			if len(elems) > 0 && elems[0].Name == Localhost {
				elems = elems[1:]
			}
			return SonicDB, append([]*gpb.PathElem{{Name: target}}, elems...), nil
		}
		if elems[0].Name != target {
			return 0, nil, r.wrong("target is %s and the path begins with %s", target, elems[0].Name)
		}
	}
	if len(elems) > 1 {
		if elems[1].Name != Localhost && elems[1].Name != Any {
			return 0, nil, r.wrong("after %s the namespace must be %s", elems[0].Name, Localhost)
		}
		elems = slices.Delete(elems, 1, 2)
	}
	return SonicDB, elems, nil
}

// plain returns elements with the names of modules removed.
func plain(elems []*gpb.PathElem) []*gpb.PathElem {
	out := slices.Clone(elems)
	for i, e := range elems {
		if module, name, ok := strings.Cut(e.Name, ":"); ok && slices.ContainsFunc(Tables(), func(t *Table) bool { return t.Module == module }) {
			out[i] = &gpb.PathElem{Name: name, Key: e.Key}
		}
	}
	return out
}

// part returns the keys that the path gives for a table that it reaches.
func (r *resolver) part(q *Query, t *Table, elems []*gpb.PathElem) (Part, error) {
	p := Part{Table: t}
	for range t.Keys {
		p.Keys = append(p.Keys, Any)
	}
	given := 0
	for i, e := range elems {
		isRow := len(t.Keys) > 0 && (i == AtRow-1 && q.Level >= AtRow && elems[0].Name != recursive && elems[1].Name != recursive || e.Name == t.Row)
		if !isRow {
			if len(e.Key) > 0 {
				return p, r.wrong("%s is not a list and has no key", e.Name)
			}
			continue
		}
		if q.Style == SonicDB {
			if e.Name == Any {
				continue
			}
			values, ok := t.Split(e.Name)
			if !ok {
				return p, r.wrong("key %q of %s must be %s", e.Name, t.Name, strings.Join(t.Keys, KeySeparator))
			}
			p.Keys = values
			given = len(values)
			continue
		}
		for k, v := range e.Key {
			at := slices.Index(t.Keys, k)
			if at < 0 {
				return p, r.wrong("%s has no key %q; it has: %s", t.Row, k, strings.Join(t.Keys, ", "))
			}
			if v == "" {
				return p, r.wrong("key %s of %s is empty", k, t.Row)
			}
			p.Keys[at] = v
			given++
		}
		if given > 0 && given < len(t.Keys) {
			q.Missing = t.Keys[slices.Index(p.Keys, Any)]
		}
	}
	p.Keys = t.canonical(p.Keys)
	q.Every = q.Level == AtRow && len(t.Keys) > 0 && given == 0
	return p, nil
}
