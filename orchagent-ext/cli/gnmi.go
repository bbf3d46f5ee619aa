// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"sluice/orchagent-ext/cli/targets"
	"sluice/orchagent-ext/cli/trace"
	"sluice/yang/text"
)

// gnmiTimeout is how long one switch may take to answer.
const gnmiTimeout = 10 * time.Second

// gnmiFlags are the flags by which the sluice-gnmi of other switches is reached.
type gnmiFlags struct {
	port     uint16
	login    targets.Login
	switches []string
	names    []string // of these flags
}

// loginFlags are the names of the flags of a login.
var loginFlags = []string{"gnmi-port", "gnmi-ca", "gnmi-cert", "gnmi-key", "gnmi-user", "gnmi-password-file"}

// loginFlag returns the name of the flag of a field of a login.
func loginFlag(key string) string { return "--gnmi-" + key }

// addLogin adds the flags of connections to other switches' sluice-gnmi, which go with another
// flag. Their defaults are variables of the environment, and so is the password.
func addLogin(flags *pflag.FlagSet, with string) *gnmiFlags {
	g := &gnmiFlags{login: targets.Login{Password: os.Getenv("SLUICE_TARGET_PASSWORD")}, names: slices.Clone(loginFlags)}
	flags.Uint16Var(&g.port, "gnmi-port", targets.Port, "port of sluice-gnmi, with "+with)
	file := func(value *string, name, variable, usage string) {
		flags.StringVar(value, name, os.Getenv(variable), usage+" ("+variable+")")
	}
	file(&g.login.CA, "gnmi-ca", "SLUICE_TARGET_CA", "PEM `file` of the CAs that may have signed the switches' certificates; default: those of this machine")
	file(&g.login.Cert, "gnmi-cert", "SLUICE_TARGET_CERT", "PEM `file` of the certificate to show to switches")
	file(&g.login.Key, "gnmi-key", "SLUICE_TARGET_KEY", "PEM `file` of its key")
	file(&g.login.User, "gnmi-user", "SLUICE_TARGET_USER", "user of the switches' sluice-gnmi; SLUICE_TARGET_PASSWORD may have the password")
	file(&g.login.PasswordFile, "gnmi-password-file", "SLUICE_TARGET_PASSWORD_FILE", "`file` whose first line is the user's password")
	return g
}

// addSwitches adds --switch, by which --trace finds the sluice-gnmi of other switches.
func addSwitches(flags *pflag.FlagSet, g *gnmiFlags) {
	g.names = append(g.names, "switch")
	flags.StringArrayVar(&g.switches, "switch", nil, "`NAME=ADDRESS[:PORT]` of a switch's sluice-gnmi, with --trace; may be given again")
}

// check judges the flags as a whole. They go with another flag, which may be used or not.
func (g *gnmiFlags) check(flags *pflag.FlagSet, with string, used bool) error {
	for _, name := range g.names {
		if flagIn(flags, name) && !used {
			return fmt.Errorf("--%s goes with %s", name, with)
		}
	}
	if g.port == 0 {
		return errors.New("--gnmi-port 0: 1 to 65535 are possible")
	}
	for _, s := range g.switches {
		if name, address, ok := strings.Cut(s, "="); !ok || name == "" || address == "" {
			return fmt.Errorf("--switch %q is not NAME=ADDRESS or NAME=ADDRESS:PORT", s)
		}
	}
	return nil
}

// gnmiClient asks switches.
type gnmiClient struct {
	*gnmiFlags
	*targets.Credentials
}

// client reads the files that the flags name.
func (g *gnmiFlags) client() (*gnmiClient, error) {
	read, err := g.login.Load(loginFlag)
	return &gnmiClient{g, read}, err
}

// where is the address of a switch's sluice-gnmi: of its flag, of management, or by its
// name.
func (g *gnmiFlags) where(name, management string) string {
	// SONiC may have the length of a prefix there
	address, _, _ := strings.Cut(management, "/")
	for _, s := range g.switches {
		if of, is, _ := strings.Cut(s, "="); of == name {
			if _, _, err := net.SplitHostPort(is); err == nil {
				return is
			}
			address = strings.Trim(is, "[]")
		}
	}
	if address == "" {
		address = name
	}
	return net.JoinHostPort(address, strconv.Itoa(int(g.port)))
}

// ask reads the rows that a switch publishes of its path to the flow's
// destination.
func (g *gnmiClient) ask(ctx context.Context, name, management string, q *pathQuery) (*trace.Switch, error) {
	at := g.where(name, management)
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, g.Metadata...), gnmiTimeout)
	defer cancel()
	identity := g.TLS.Clone()
	identity.ServerName = name
	// a target cannot have a zone of IPv6
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "tcp", at)
	}
	conn, err := grpc.NewClient("passthrough:///switch", grpc.WithContextDialer(dial), grpc.WithTransportCredentials(credentials.NewTLS(identity)))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	c := gpb.NewGNMIClient(conn)
	hops, err := read(ctx, c, trace.TableNextHop)
	if err != nil {
		return nil, fmt.Errorf("sluice-gnmi at %s: %w", at, err)
	}
	if len(hops) == 0 {
		return nil, errNoNextHops
	}
	hashes, err := read(ctx, c, trace.TableHash)
	if err != nil {
		return nil, fmt.Errorf("sluice-gnmi at %s: %w", at, err)
	}
	s, err := trace.FromRows(hops, hashes, q.dst)
	if err != nil {
		return nil, err
	}
	id := fmt.Sprintf("%v,%v,%06x", q.src, q.dst, q.dstQP)
	flows, err := read(ctx, c, trace.TableFlow, id)
	if err != nil {
		return nil, fmt.Errorf("sluice-gnmi at %s: %w", at, err)
	}
	if label, err := strconv.ParseUint(flows[id]["flow_label"], 10, 20); err == nil {
		s.Written = uint32(label)
	}
	return s, nil
}

// read returns the rows of a table of a switch's STATE_DB, or one of them; an
// empty result is fine.
func read(ctx context.Context, c gpb.GNMIClient, table string, key ...string) (trace.Rows, error) {
	path := &gpb.Path{Origin: "sonic-db"}
	for _, name := range append([]string{"STATE_DB", "localhost", table}, key...) {
		path.Elem = append(path.Elem, &gpb.PathElem{Name: name})
	}
	r, err := c.Get(ctx, &gpb.GetRequest{Path: []*gpb.Path{path}, Encoding: gpb.Encoding_JSON})
	if status.Code(err) == codes.NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, errors.New(text.Printable(status.Convert(err).Message()))
	}
	all := trace.Rows{}
	for _, n := range r.GetNotification() {
		for _, u := range n.GetUpdate() {
			into := any(&all)
			if len(key) > 0 {
				row := map[string]string{}
				all[key[0]], into = row, &row
			}
			if err := json.Unmarshal(u.GetVal().GetJsonVal(), into); err != nil {
				return nil, fmt.Errorf("the answer for %s cannot be read: %w", table, err)
			}
		}
	}
	return all, nil
}
