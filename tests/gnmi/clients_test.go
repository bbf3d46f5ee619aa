// SPDX-License-Identifier: Apache-2.0

package gnmi

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"sluice/tests/programs"
)

const python = "/usr/bin/python3" // Debian's, which has grpcio

// The clients are tools with a module file of their own, so that their dependencies
// never choose the versions of Sluice's.
var buildClients = sync.OnceValues(func() (string, error) {
	return programs.Build("-modfile=tools/go.mod", "github.com/openconfig/gnmi/cmd/gnmi_cli", "github.com/fullstorydev/grpcurl/cmd/grpcurl")
})

// TestRealClientsWork has real clients do what operators do.
func TestRealClientsWork(t *testing.T) {
	t.Parallel()
	clients, err := buildClients()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("gnmi_cli", func(t *testing.T) {
		dir := t.TempDir()
		ca := newAuthority(t, dir, "ca")
		ca.leaf("server")
		ca.leaf("alice")
		s := start(t, "--listen", "127.0.0.1:0", "--cert", ca.file("server.pem"), "--key", ca.file("server.key"), "--ca", ca.file("ca.pem"))
		s.write(s.config, "PORT|Ethernet0", "admin_status", "up")
		cli := func(args ...string) (string, error) {
			args = append([]string{"-address", s.address(), "-ca_crt", ca.file("ca.pem"), "-client_crt", ca.file("alice.pem"), "-client_key", ca.file("alice.key")}, args...)
			return runClient(t, filepath.Join(clients, "gnmi_cli"), args...)
		}
		has(t, "-capabilities")(cli("-capabilities"))("sonic-sluice-state", "JSON_IETF", `gNMI_version: "0.10.0"`)
		const role = `path:<elem:<name:"sonic-sluice"> elem:<name:"SLUICE_PORT"> elem:<name:"SLUICE_PORT_LIST" key:<key:"name" value:"Ethernet0">>>`
		has(t, "-set")(cli("-set", "-proto", `update:<`+role+` val:<json_ietf_val:"{\"role\":\"edge\"}">>`))("op: UPDATE")
		is(t, "rows", s.rows("SLUICE_PORT"), rowsMap{"SLUICE_PORT|Ethernet0": {"role": "edge"}})
		has(t, "-get")(cli("-get", "-proto", role+` encoding:JSON_IETF`))(`\"sonic-sluice:role\":\"edge\"`)
		has(t, "once")(cli("-query", "/sonic-sluice/SLUICE_PORT", "-query_type", "once"))(`"Ethernet0"`, "edge")
		out, err := cli("-query", "/sonic-sluice/SLUICE_PORT", "-query_type", "streaming", "-streaming_duration", "2s")
		if err == nil || !strings.Contains(out, "DeadlineExceeded") { // its way to end
			t.Errorf("streaming: %v", err)
		}
		has(t, "streaming")(out, nil)("edge")
		out, err = cli("-set", "-proto", `update:<`+role+` val:<json_ietf_val:"{\"role\":\"core\"}">>`)
		if err == nil || !strings.Contains(out, "must be one of edge, fabric, border") {
			t.Errorf("a wrong role: %v, %s", err, out)
		}
	})
	t.Run("grpcurl", func(t *testing.T) {
		s, ca := secure(t, "--reflection")
		curl := func(user string, args ...string) (string, error) {
			return runClient(t, filepath.Join(clients, "grpcurl"), append([]string{"-cacert", ca.file("ca.pem"), "-H", "username: " + user, "-H", "password: ecila"}, args...)...)
		}
		has(t, "list")(curl("alice", s.address(), "list"))("gnmi.gNMI", "grpc.health.v1.Health")
		has(t, "Capabilities")(curl("alice", s.address(), "gnmi.gNMI/Capabilities"))(`"gNMIVersion": "0.10.0"`)
		has(t, "health")(curl("alice", s.address(), "grpc.health.v1.Health/Check"))("SERVING")
		has(t, "Subscribe")(curl("alice", "-d", `{"subscribe":{"mode":"ONCE","encoding":"PROTO","subscription":[{"path":{"elem":[{"name":"sonic-sluice"},{"name":"SLUICE_FLOW_LABEL"}]}}]}}`,
			s.address(), "gnmi.gNMI/Subscribe"))("draft-literal", `"syncResponse": true`)
		// By messages of a file: reflection would be an RPC or two more with a password to be
		// hashed, and a busy machine takes longer for these than a connection has for its login.
		if out, err := curl("mallory", "-protoset", messages(t), s.address(), "gnmi.gNMI/Capabilities"); err == nil || !strings.Contains(out, codes.Unauthenticated.String()) {
			t.Errorf("an unknown user: %v, %s", err, out)
		}
	})
	t.Run("python3-grpcio", func(t *testing.T) {
		if out, err := exec.Command(python, "-c", "import grpc, google.protobuf").CombinedOutput(); err != nil {
			t.Skipf("python3-grpcio or python3-protobuf is not installed (make deps): %s", out)
		}
		s, ca := secure(t)
		cmd := exec.CommandContext(limited(t), python, "testdata/client.py", messages(t), s.address(), ca.file("ca.pem"), "alice", "ecila")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		is(t, "output", string(out), "get \"crc32\"\nupdate crc32\nsync\nupdate draft-literal\n"+
			"INVALID_ARGUMENT SLUICE_FLOW_LABEL|global: algorithm \"md5\": must be one of draft-literal, crc32\n")
	})
}

func runClient(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return string(out), err
}

// has looks for texts in what a client printed: has(t, what)(client(…))(texts…).
func has(t *testing.T, what string) func(out string, err error) func(texts ...string) {
	return func(out string, err error) func(texts ...string) {
		t.Helper()
		return func(texts ...string) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v\n%s", what, err, out)
			}
			// Where protobuf's text has one space or two depends on the build of the client.
			plain := strings.ReplaceAll(out, ":  ", ": ")
			for _, text := range texts {
				if !strings.Contains(plain, text) {
					t.Errorf("%s: no %q in\n%s", what, text, out)
				}
			}
		}
	}
}

// messages writes a description of gNMI's messages and returns the file.
func messages(t *testing.T) string {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	seen := make(map[string]bool)
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(gpb.File_github_com_openconfig_gnmi_proto_gnmi_gnmi_proto)
	content, err := proto.Marshal(set)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "gnmi.protoset")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
