// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"sluice/gnmi-server/encoding"
	"sluice/gnmi-server/paths"
)

// Capabilities returns models, encodings and the version of gNMI (specification
// section 3.2).
func (s *Server) Capabilities(_ context.Context, r *gpb.CapabilityRequest) (*gpb.CapabilityResponse, error) {
	if _, err := extensions(r.GetExtension()); err != nil {
		return nil, err
	}
	version, _ := proto.GetExtension(gpb.File_github_com_openconfig_gnmi_proto_gnmi_gnmi_proto.Options(), gpb.E_GnmiService).(string)
	return &gpb.CapabilityResponse{
		SupportedModels:    paths.Models,
		SupportedEncodings: encoding.Supported,
		GNMIVersion:        version,
	}, nil
}

// given are the extensions of a request that matter somewhere.
type given struct {
	depth  uint32
	commit *gnmi_ext.Commit
}

// extensions returns those of a request; allowed names those that the RPC takes.
func extensions(all []*gnmi_ext.Extension, allowed ...string) (given, error) {
	var g given
	seen := make(map[string]bool)
	for _, one := range all {
		var name string
		switch e := one.GetExt().(type) {
		case *gnmi_ext.Extension_Depth:
			name, g.depth = "depth", e.Depth.GetLevel()
		case *gnmi_ext.Extension_Commit:
			name, g.commit = "commit", e.Commit
		case *gnmi_ext.Extension_RegisteredExt:
			// registered by another project; the RPC is the same without it
			continue
		default:
			return g, status.Errorf(codes.Unimplemented, "the extension %s is not supported; there are: depth, commit", extensionName(one))
		}
		if seen[name] {
			return g, status.Errorf(codes.InvalidArgument, "the extension %s appears twice", name)
		}
		seen[name] = true
		if !slices.Contains(allowed, name) {
			return g, status.Errorf(codes.InvalidArgument, "the extension %s is not for this RPC", name)
		}
	}
	return g, nil
}

// extensionName returns the name of an extension in gnmi_ext.proto.
func extensionName(e *gnmi_ext.Extension) string {
	m := e.ProtoReflect()
	if f := m.WhichOneof(m.Descriptor().Oneofs().ByName("ext")); f != nil {
		return string(f.Name())
	}
	return "with an unknown number"
}

// models returns which tables belong to the models of a request (specification section
// 2.6); an empty request means all tables.
func models(wanted []*gpb.ModelData) (func(*paths.Table) bool, error) {
	modules := make(map[string]bool)
	for _, w := range wanted {
		if !slices.ContainsFunc(paths.Models, func(m *gpb.ModelData) bool {
			return m.Name == w.GetName() && (w.GetVersion() == "" || w.GetVersion() == m.Version) &&
				(w.GetOrganization() == "" || w.GetOrganization() == m.Organization)
		}) {
			var names []string
			for _, m := range paths.Models {
				names = append(names, fmt.Sprintf("%s of %s, version %s", m.Name, m.Organization, m.Version))
			}
			return nil, status.Errorf(codes.InvalidArgument, "no model %s of %q, version %q; there are: %s",
				w.GetName(), w.GetOrganization(), w.GetVersion(), strings.Join(names, "; "))
		}
		modules[w.GetName()] = true
	}
	return func(t *paths.Table) bool { return len(modules) == 0 || modules[t.Module] }, nil
}

// peerOf returns the network and address of an RPC's client for the log.
func peerOf(ctx context.Context) string {
	p, ok := peer.FromContext(ctx)
	if !ok {
		return ""
	}
	return p.Addr.Network() + ":" + p.Addr.String()
}
