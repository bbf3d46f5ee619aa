// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/protobuf/types/known/durationpb"

	"sluice/orchagent-ext/cli/settings"
)

// path returns the path of a row of CONFIG_DB by the origin sonic-db, or of a field of it.
func path(table, key string, field ...string) *gpb.Path {
	p := &gpb.Path{Origin: "sonic-db"}
	for _, name := range append([]string{"CONFIG_DB", "localhost", table, key}, field...) {
		p.Elem = append(p.Elem, &gpb.PathElem{Name: name})
	}
	return p
}

// request returns the Set that makes edits: of the fields that differ alone, so that values
// of others in other fields stay.
func request(edits []settings.Edit) (*gpb.SetRequest, error) {
	r := &gpb.SetRequest{}
	for _, e := range edits {
		if e.After == nil {
			r.Delete = append(r.Delete, path(e.Table, e.Key))
			continue
		}
		values := map[string]string{}
		for _, column := range e.Changed() {
			if value, there := e.After[column]; there {
				values[column] = value
				continue
			}
			r.Delete = append(r.Delete, path(e.Table, e.Key, strings.TrimSuffix(column, "@")))
		}
		if len(values) == 0 && e.Before != nil {
			continue
		}
		text, err := json.Marshal(values)
		if err != nil {
			return nil, err
		}
		r.Update = append(r.Update, &gpb.Update{Path: path(e.Table, e.Key), Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: text}}})
	}
	return r, nil
}

// extension returns the extension of a commit.
func extension(c *gnmi_ext.Commit) []*gnmi_ext.Extension {
	return []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{Commit: c}}}
}

// committed adds to a Set that it is taken back after a time, unless it is confirmed.
func committed(r *gpb.SetRequest, id string, wait time.Duration) *gpb.SetRequest {
	r.Extension = extension(&gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Commit{Commit: &gnmi_ext.CommitRequest{RollbackDuration: durationpb.New(wait)}}})
	return r
}

// confirm returns the request that keeps a commit.
func confirm(id string) *gpb.SetRequest {
	return &gpb.SetRequest{Extension: extension(&gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Confirm{Confirm: &gnmi_ext.CommitConfirm{}}})}
}

// cancel returns the request that takes a commit back.
func cancel(id string) *gpb.SetRequest {
	return &gpb.SetRequest{Extension: extension(&gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Cancel{Cancel: &gnmi_ext.CommitCancel{}}})}
}
