// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"
)

func depth(level uint32) []*gnmi_ext.Extension {
	return []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Depth{Depth: &gnmi_ext.Depth{Level: level}}}}
}

func commitOf(id string, wait time.Duration) []*gnmi_ext.Extension {
	return extension(&gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Commit{Commit: &gnmi_ext.CommitRequest{RollbackDuration: durationpb.New(wait)}}})
}

func confirm(id string) []*gnmi_ext.Extension {
	return extension(&gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Confirm{}})
}

func cancel(id string) []*gnmi_ext.Extension {
	return extension(&gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_Cancel{}})
}

func extend(id string, wait time.Duration) []*gnmi_ext.Extension {
	return extension(&gnmi_ext.Commit{Id: id, Action: &gnmi_ext.Commit_SetRollbackDuration{SetRollbackDuration: &gnmi_ext.CommitSetRollbackDuration{RollbackDuration: durationpb.New(wait)}}})
}

func extension(c *gnmi_ext.Commit) []*gnmi_ext.Extension {
	return []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{Commit: c}}}
}

// algorithm makes a Set of one leaf, with extensions.
func algorithm(value string, e []*gnmi_ext.Extension) *gpb.SetRequest {
	return &gpb.SetRequest{Update: []*gpb.Update{update(label+"/algorithm", str(value))}, Extension: e}
}

// extensions are the cases of the extensions depth and commit confirmed.
var extensions = []must{
	{"depth 3.1 a level is so many nodes below the path", func(t *testing.T, s *server) {
		for p, levels := range map[string][4]bool{ // levels 0 to 3: is there a leaf?
			"/sonic-sluice":                   {true, false, false, true},
			"/sonic-sluice/SLUICE_FLOW_LABEL": {true, false, true, true},
			label:                             {true, true, true, true},
			label + "/algorithm":              {true, true, true, true},
		} {
			for level, want := range levels {
				_, err := s.client().Get(limited(t), &gpb.GetRequest{Path: []*gpb.Path{path(p)}, Extension: depth(uint32(level))})
				code := codes.OK
				if !want {
					code = codes.NotFound
				}
				fails(t, p, err, code)
				r := list(gpb.SubscriptionList_ONCE, on(p, 0))
				r.Extension = depth(uint32(level))
				if got := len(values(s.subscribe(r).initial()...)) > 0; got != want {
					t.Errorf("ONCE %s level %d: leaves %v, want %v", p, level, got, want)
				}
			}
		}
	}},
	{"depth 3.3 depth is for Get and Subscribe only", func(t *testing.T, s *server) {
		_, err := s.client().Capabilities(limited(t), &gpb.CapabilityRequest{Extension: depth(1)})
		fails(t, "Capabilities", err, codes.InvalidArgument)
		_, err = s.set(&gpb.SetRequest{Extension: depth(1)})
		fails(t, "Set", err, codes.InvalidArgument)
	}},
	{"commit 3.2.1 what is not confirmed is taken back", func(t *testing.T, s *server) {
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "draft-literal")
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		r := algorithm("crc32", commitOf("a", 300*time.Millisecond))
		r.Delete = []*gpb.Path{path(threshold)}
		r.Update = append(r.Update, update("/sonic-sluice/SLUICE_PFCM/global/admin_state", str("enabled")))
		s.mustSet(r)
		before := rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "draft-literal"}, "SLUICE_THRESHOLD|gold": {"high_bytes": "7"}}
		s.eventually("the commit is taken back", func() bool { return len(s.rows()) == 2 && s.rows()["SLUICE_THRESHOLD|gold"] != nil })
		is(t, "rows", s.rows(), before)
		s.mustSet(algorithm("crc32", nil))
	}},
	{"commit 3.2.1 while one waits, another and a plain Set are FAILED_PRECONDITION", func(t *testing.T, s *server) {
		s.mustSet(algorithm("crc32", commitOf("a", time.Hour)))
		_, err := s.set(algorithm("draft-literal", commitOf("b", time.Hour)))
		fails(t, "another", err, codes.FailedPrecondition)
		_, err = s.set(algorithm("draft-literal", nil))
		fails(t, "a plain Set", err, codes.FailedPrecondition)
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}})
	}},
	{"commit 3.2.1 while one waits, a Set of nothing is FAILED_PRECONDITION, and one may read", func(t *testing.T, s *server) {
		s.mustSet(algorithm("crc32", commitOf("a", time.Hour)))
		_, err := s.set(&gpb.SetRequest{})
		fails(t, "Set", err, codes.FailedPrecondition)
		is(t, "Get", s.one(label+"/algorithm", gpb.Encoding_PROTO), map[string]string{label + "/algorithm": "crc32"})
	}},
	{"commit 3.2.1 a commit of nothing waits like any", func(t *testing.T, s *server) {
		s.mustSet(&gpb.SetRequest{Extension: commitOf("a", 300*time.Millisecond)})
		s.mustSetSoon(algorithm("crc32", nil))
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}})
	}},
	{"commit 3.2.1 what others wrote meanwhile into other rows stays", func(t *testing.T, s *server) {
		s.mustSet(algorithm("crc32", commitOf("a", time.Hour)))
		s.write(s.config, "SLUICE_THRESHOLD|gold", "high_bytes", "7")
		s.write(s.config, "SLUICE_FLOW_LABEL|global", "algorithm", "crc32", "rewrite", "always")
		s.mustSet(&gpb.SetRequest{Extension: cancel("a")})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_THRESHOLD|gold": {"high_bytes": "7"}})
	}},
	{"commit 3.1 an id is needed, and an action that makes sense", func(t *testing.T, s *server) {
		for what, e := range map[string][]*gnmi_ext.Extension{
			"commit": commitOf("", time.Hour), "confirm": confirm(""), "cancel": cancel(""), "set_rollback_duration": extend("", time.Hour),
			"no action": extension(&gnmi_ext.Commit{Id: "a"}), "a duration that has passed": commitOf("a", -time.Second), "no duration": commitOf("a", 0),
			"two": append(commitOf("a", time.Hour), confirm("a")...), "a change with confirm": confirm("a"),
		} {
			_, err := s.set(algorithm("crc32", e))
			fails(t, what, err, codes.InvalidArgument)
		}
		is(t, "rows", s.rows(), rowsMap{})
	}},
	{"commit 3.2.2 confirm keeps the change", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Extension: confirm("a")})
		fails(t, "nothing waits", err, codes.FailedPrecondition)
		s.mustSet(algorithm("crc32", commitOf("a", time.Hour)))
		_, err = s.set(&gpb.SetRequest{Extension: confirm("b")})
		fails(t, "another id", err, codes.InvalidArgument)
		s.mustSet(&gpb.SetRequest{Extension: confirm("a")})
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}})
		s.mustSet(algorithm("draft-literal", nil))
	}},
	{"commit 3.2.3 cancel takes the change back", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Extension: cancel("a")})
		fails(t, "nothing waits", err, codes.FailedPrecondition)
		s.mustSet(algorithm("crc32", commitOf("a", time.Hour)))
		_, err = s.set(&gpb.SetRequest{Extension: cancel("b")})
		fails(t, "another id", err, codes.InvalidArgument)
		s.mustSet(&gpb.SetRequest{Extension: cancel("a")})
		is(t, "rows", s.rows(), rowsMap{})
	}},
	{"commit 3.2.4 the rollback duration can be set again", func(t *testing.T, s *server) {
		_, err := s.set(&gpb.SetRequest{Extension: extend("a", time.Hour)})
		fails(t, "nothing waits", err, codes.FailedPrecondition)
		s.mustSet(algorithm("crc32", commitOf("a", time.Hour)))
		_, err = s.set(&gpb.SetRequest{Extension: extend("b", time.Hour)})
		fails(t, "another id", err, codes.InvalidArgument)
		_, err = s.set(&gpb.SetRequest{Extension: extend("a", 0)})
		fails(t, "0", err, codes.InvalidArgument)
		s.mustSet(&gpb.SetRequest{Extension: extend("a", 200*time.Millisecond)})
		s.eventually("the commit is taken back", func() bool { return len(s.rows()) == 0 })
	}},
	{"commit 3.2.1 a commit that fails waits for nothing", func(t *testing.T, s *server) {
		_, err := s.set(algorithm("md5", commitOf("a", time.Hour)))
		fails(t, "Set", err, codes.InvalidArgument)
		s.mustSet(algorithm("crc32", nil))
	}},
	{"commit 3.2.1 a commit is taken back by the next server, when this one dies", func(t *testing.T, s *server) {
		s.mustSet(algorithm("crc32", commitOf("a", 2*time.Second)))
		s.kill()
		is(t, "rows", s.rows(), rowsMap{"SLUICE_FLOW_LABEL|global": {"algorithm": "crc32"}})
		s.run()
		s.eventually("the commit is taken back", func() bool { return len(s.rows()) == 0 })
	}},
}
