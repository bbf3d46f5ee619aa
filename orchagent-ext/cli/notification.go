// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sluice/orchagent-ext/cli/kit"
	"sluice/orchagent-ext/wire/notify"
)

// notification has the fields of a message, and the verdict of the receive rules.
type notification struct {
	// Verdict: accepted, refused, or passing
	Verdict string `json:"verdict"`
	// Reason: why it is refused: the label of the counter
	Reason string `json:"reason,omitempty"`
	// Fields: absent where it could not be read
	Fields notify.Fields `json:"fields,omitempty"`

	why string // the reason for people
}

// newNotification judges the result of Parse. It returns nil where the packet was
// another one than a notification.
func newNotification(p *notify.Packet, err error) *notification {
	if err == notify.ErrNotNotification { // nearly all
		return nil
	}
	var refused *notify.Error // on the heap
	switch {
	case err == nil:
		return &notification{Verdict: "accepted", Fields: p.Fields()}
	case !errors.As(err, &refused) || refused.Kind == notify.KindNone:
		return nil
	}
	n := &notification{Verdict: "refused", Reason: refused.Reason.Label(), why: refused.Reason.String()}
	if p.Kind == notify.KindNone {
		n.Fields = notify.Fields{{Name: "message", Value: refused.Kind.String()}}
	} else {
		n.Fields = p.Fields()
	}
	return n
}

// String is the verdict for people.
func (n *notification) String() string {
	if n.why == "" {
		return n.Verdict
	}
	return n.Verdict + ": " + n.why
}

// says returns the fields after the message's name, as text.
func (n *notification) says() string { return n.Fields[1:].String() }

// envelopeFields are in other columns of the table of packets.
var envelopeFields = []string{"message", "eth_dst", "eth_src", "dscp", "ecn", "flow_label", "src", "dst", "sport", "dest_qp"}

// cell returns verdict and message for the table of packets; "" for nil.
func (n *notification) cell() string {
	if n == nil {
		return ""
	}
	var body notify.Fields
	for _, f := range n.Fields {
		if !slices.Contains(envelopeFields, f.Name) {
			body = append(body, f)
		}
	}
	return n.String() + "  " + body.String()
}

// kind returns the name of the message, which is the first of its fields.
func (n *notification) kind() string { return fmt.Sprint(n.Fields[0].Value) }

// verdicts counts notifications by verdict, the refused ones by reason.
type verdicts struct {
	total   int
	by      map[string]int
	reasons map[string]int
}

// add counts a notification by its verdict and by the reason of a refusal.
func (v *verdicts) add(n *notification) {
	if v.by == nil {
		v.by, v.reasons = map[string]int{}, map[string]int{}
	}
	v.total++
	v.by[n.Verdict]++
	if n.Reason != "" {
		v.reasons[n.Reason]++
	}
}

// String sums up, such as "3 notifications: 2 accepted, 1 refused (hop-limit: 1)".
func (v *verdicts) String() string {
	parts := []string{fmt.Sprintf("%d accepted", v.by["accepted"]), fmt.Sprintf("%d refused", v.by["refused"])}
	if len(v.reasons) > 0 {
		var list []string
		for _, r := range slices.Sorted(maps.Keys(v.reasons)) {
			list = append(list, fmt.Sprintf("%s: %d", r, v.reasons[r]))
		}
		parts[1] += " (" + strings.Join(list, "; ") + ")"
	}
	if n := v.by["passing"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d passing", n))
	}
	return fmt.Sprintf("%s: %s", kit.Plural(v.total, "notification"), strings.Join(parts, ", "))
}
