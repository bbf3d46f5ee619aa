// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
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

	"sluice/orchagent-ext/cli/trace"
	"sluice/yang/text"
)

// gnmiTimeout is how long one switch may take to answer.
const gnmiTimeout = 10 * time.Second

// gnmiFlags are the flags by which the sluice-gnmi of other switches is reached.
type gnmiFlags struct {
	port           uint16
	ca, cert, key  string
	user, password string // password: the file whose first line it is
	switches       []string
}

// addGNMI adds the flags of the connections to other switches' sluice-gnmi, for --trace.
func addGNMI(flags *pflag.FlagSet) *gnmiFlags {
	g := &gnmiFlags{}
	flags.Uint16Var(&g.port, "gnmi-port", 50070, "port of sluice-gnmi, with --trace")
	flags.StringVar(&g.ca, "gnmi-ca", "", "PEM `file` of the CAs that may have signed the switches' certificates; default: those of this machine")
	flags.StringVar(&g.cert, "gnmi-cert", "", "PEM `file` of the certificate to show to switches")
	flags.StringVar(&g.key, "gnmi-key", "", "PEM `file` of its key")
	flags.StringVar(&g.user, "gnmi-user", "", "user of the switches' sluice-gnmi")
	flags.StringVar(&g.password, "gnmi-password-file", "", "`file` whose first line is the user's password")
	flags.StringArrayVar(&g.switches, "switch", nil, "`NAME=ADDRESS[:PORT]` of a switch's sluice-gnmi; may be given again")
	return g
}

// check judges the flags as a whole.
func (g *gnmiFlags) check(flags *pflag.FlagSet, used bool) error {
	for _, name := range []string{"gnmi-port", "gnmi-ca", "gnmi-cert", "gnmi-key", "gnmi-user", "gnmi-password-file", "switch"} {
		if flags.Changed(name) && !used {
			return fmt.Errorf("--%s goes with --trace", name)
		}
	}
	switch {
	case (g.cert == "") != (g.key == ""):
		return errors.New("--gnmi-cert and --gnmi-key go together")
	case (g.user == "") != (g.password == ""):
		return errors.New("--gnmi-user and --gnmi-password-file go together")
	case g.port == 0:
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
	tls   tls.Config
	login []string // of the metadata
}

// client judges the flags, and reads the files that they name.
func (g *gnmiFlags) client(flags *pflag.FlagSet, used bool) (*gnmiClient, error) {
	if err := g.check(flags, used); err != nil {
		return nil, err
	}
	c := &gnmiClient{gnmiFlags: g, tls: tls.Config{MinVersion: tls.VersionTLS12}}
	if g.ca != "" {
		pem, err := os.ReadFile(g.ca)
		if err != nil {
			return nil, fmt.Errorf("--gnmi-ca: %w", err)
		}
		c.tls.RootCAs = x509.NewCertPool()
		if !c.tls.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--gnmi-ca %s holds no certificate in PEM", g.ca)
		}
	}
	if g.cert != "" {
		own, err := tls.LoadX509KeyPair(g.cert, g.key)
		if err != nil {
			return nil, fmt.Errorf("--gnmi-cert and --gnmi-key: %w", err)
		}
		c.tls.Certificates = []tls.Certificate{own}
	}
	if g.user != "" {
		secret, err := os.ReadFile(g.password)
		if err != nil {
			return nil, fmt.Errorf("--gnmi-password-file: %w", err)
		}
		line, _, _ := strings.Cut(string(secret), "\n")
		c.login = []string{"username", g.user, "password", strings.TrimSuffix(line, "\r")}
	}
	return c, nil
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
	ctx, cancel := context.WithTimeout(metadata.AppendToOutgoingContext(ctx, g.login...), gnmiTimeout)
	defer cancel()
	identity := g.tls.Clone()
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
		return nil, errors.New("it publishes no next hops: set SLUICE|global publish_next_hops=enabled there")
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
