// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"

	"github.com/openconfig/ygot/ygot"
	"sluice/gnmi-server/paths"
	"sluice/orchagent-ext/host/login"
)

// Policy is the list of users and groups that may read and write paths. The rule that
// counts for a leaf is the one with the longest path; of those the one with more keys,
// then the one for the user before one for a group before one for everybody, then the one
// that denies. Without any, the leaf is denied.
type Policy struct {
	file *login.File[*rules]
}

// Mode is the access that a rule governs.
type Mode string

// The modes. Permission to read is apart from that to write.
const (
	Read  Mode = "read"
	Write Mode = "write"
)

// rules is the file.
type rules struct {
	Groups map[string][]string `json:"groups"` // users of each
	Rules  []*rule             `json:"rules"`
}

// rule is an element of the policy's file, as JSON.
type rule struct {
	// User: at most one of user and group; neither: everybody
	User   string `json:"user"`
	Group  string `json:"group"` //
	Path   string `json:"path"`
	Mode   Mode   `json:"mode"`
	Action string `json:"action"` // permit or deny

	query *paths.Query
	keys  int // that the path names
}

// OpenPolicy reads a policy: a JSON object with groups and rules. It is read again when
// the file changes. The error names the member, path or group that is unknown.
func OpenPolicy(path string, log *slog.Logger) (*Policy, error) {
	f, err := login.Open(log, func() (*rules, error) { return readPolicy(path) }, path)
	if err != nil {
		return nil, err
	}
	return &Policy{f}, nil
}

// readPolicy reads a policy. Unknown members, paths and groups are errors, since a
// misspelled rule would permit too much.
func readPolicy(path string) (*rules, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	var all rules
	from := json.NewDecoder(bytes.NewReader(text))
	from.DisallowUnknownFields()
	if err := from.Decode(&all); err != nil {
		return nil, fmt.Errorf("policy: %s: %w", path, err)
	}
	for i, r := range all.Rules {
		if err := r.complete(&all); err != nil {
			return nil, fmt.Errorf("policy: %s: rule %d: %w", path, i+1, err)
		}
	}
	slices.SortStableFunc(all.Rules, func(a, b *rule) int { return -compare(a, b) })
	return &all, nil
}

// complete checks a rule and resolves its path.
func (r *rule) complete(all *rules) error {
	switch {
	case r.Mode != Read && r.Mode != Write:
		return fmt.Errorf("mode %q must be read or write", r.Mode)
	case r.Action != "permit" && r.Action != "deny":
		return fmt.Errorf("action %q must be permit or deny", r.Action)
	case r.User != "" && r.Group != "":
		return fmt.Errorf("user %q and group %q: only one of them can be named", r.User, r.Group)
	case r.Group != "" && all.Groups[r.Group] == nil:
		return fmt.Errorf("there is no group %q", r.Group)
	}
	p, err := ygot.StringToStructuredPath(r.Path)
	if err != nil {
		return fmt.Errorf("path %q: %w", r.Path, err)
	}
	if r.query, err = paths.Resolve(nil, p); err != nil {
		return err
	}
	for _, part := range r.query.Parts {
		for _, k := range part.Keys {
			if k != paths.Any {
				r.keys++
			}
		}
	}
	return nil
}

// compare is positive where a counts before b.
func compare(a, b *rule) int {
	who := func(r *rule) int {
		switch {
		case r.User != "":
			return 2
		case r.Group != "":
			return 1
		}
		return 0
	}
	denies := func(r *rule) int {
		if r.Action == "deny" {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.query.Level, b.query.Level), cmp.Compare(a.keys, b.keys),
		cmp.Compare(who(a), who(b)), cmp.Compare(denies(a), denies(b)))
}

// Access has the permissions of one user in a mode, by the rules in force when For was
// called. A nil *Access permits everything.
type Access struct {
	rules []*rule // the first that has a leaf counts
}

// For returns the permissions of a user in a mode. A nil policy permits everything. A
// user needs a rule for each access.
func (p *Policy) For(user string, m Mode) *Access {
	if p == nil {
		return nil
	}
	all := p.file.Get()
	a := &Access{}
	for _, r := range all.Rules {
		mine := r.User == user || r.User == "" && (r.Group == "" || slices.Contains(all.Groups[r.Group], user))
		if r.Mode == m && mine {
			a.rules = append(a.rules, r)
		}
	}
	return a
}

// Equal reports whether two users, or one before and after the policy changed, may
// do the same.
func (a *Access) Equal(b *Access) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.rules, b.rules, func(x, y *rule) bool {
		return x.Path == y.Path && x.Mode == y.Mode && x.Action == y.Action
	})
}

// Allows reports whether the user may reach a leaf. The first rule that has the leaf
// decides; without one it is false.
func (a *Access) Allows(t *paths.Table, key, leaf string) bool {
	if a == nil {
		return true
	}
	for _, r := range a.rules {
		if r.query.Has(t, key, leaf) {
			return r.Action == "permit"
		}
	}
	return false
}

// AllowsSome reports whether a query can select a leaf that the user may reach. It may be
// true where all leaves that exist are denied: leaves are checked one by one later.
func (a *Access) AllowsSome(q *paths.Query) bool {
	if a == nil {
		return true
	}
	for i, r := range a.rules {
		if r.Action == "permit" && q.Meets(r.query) && !slices.ContainsFunc(a.rules[:i], func(before *rule) bool {
			return before.Action == "deny" && (before.query.Covers(q) || before.query.Covers(r.query))
		}) {
			return true
		}
	}
	return false
}
