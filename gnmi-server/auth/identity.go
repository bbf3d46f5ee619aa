// SPDX-License-Identifier: Apache-2.0

package auth

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"sluice/orchagent-ext/host/login"
)

// Local is the user of a client of the unix socket or of the loopback port that the
// operator has opened: file permissions, or access to the host, admit it.
const Local = "local"

// Authenticator identifies clients.
type Authenticator struct {
	Users        *login.Users  // nil: passwords are off
	Certificates *Certificates // nil: TLS is off
}

// Identify returns the user of an RPC (gNMI specification section 3.1): of the
// password in its metadata, else of the client's certificate (its common name),
// else [Local]. A password that is given must be right, whatever else there is.
func (a *Authenticator) Identify(ctx context.Context) (string, error) {
	return a.identify(ctx, func(name, password string, from login.Origin) error {
		return a.Users.Check(ctx, name, password, from)
	})
}

// Still returns why a client that [Authenticator.Identify] accepted would be refused now,
// or nil. It is cheap, and leaves the count of attempts as it is.
func (a *Authenticator) Still(ctx context.Context) error {
	_, err := a.identify(ctx, func(name, password string, from login.Origin) error {
		return a.Users.Still(name, password, from)
	})
	return err
}

// identify returns the user of an RPC: the name in the metadata if check accepts its
// password, else that of the client certificate, and [Local] where the server asks for
// neither. A name of its own needs its password, and one that differs from the
// certificate's, too.
func (a *Authenticator) identify(ctx context.Context, check func(name, password string, from login.Origin) error) (string, error) {
	name, password, err := Login(ctx)
	if err != nil {
		return "", err
	}
	p, _ := peer.FromContext(ctx)
	certified, err := a.fromCertificate(p)
	if err != nil {
		return "", err
	}
	switch {
	case password != "" && name != "":
		if a.Users == nil {
			return "", errors.New("there is a password in the metadata, and the server has no file of users")
		}
		return name, check(name, password, origin(p))
	case password != "":
		return "", errors.New("there is a password in the metadata, and no username")
	case name != "" && name != certified:
		return "", fmt.Errorf("username %q needs its password in the metadata", name)
	case certified != "":
		return certified, nil
	case a.Users != nil && !bySocket(p):
		return "", errors.New("username and password must be in the metadata")
	case encrypted(p):
		return "", errors.New("neither a client certificate nor a password")
	}
	return Local, nil
}

// Login returns the user and the password in the metadata of an RPC. Empty ones, as some clients send
// with a certificate, are left out.
func Login(ctx context.Context) (name, password string, err error) {
	md, _ := metadata.FromIncomingContext(ctx)
	for key, value := range map[string]*string{"username": &name, "password": &password} {
		switch all := md.Get(key); {
		case len(all) > 1:
			return "", "", errors.New("username or password is in the metadata more than once")
		case len(all) == 1:
			*value = all[0]
		}
	}
	return name, password, nil
}

// bySocket reports whether the client came by a unix socket, whose octets stay on this
// machine.
func bySocket(p *peer.Peer) bool { return p != nil && p.Addr.Network() == "unix" }

// origin returns where a client is.
func origin(p *peer.Peer) login.Origin {
	if p == nil {
		return login.Origin{}
	}
	return login.Origin{Connection: p.Addr.String(), Source: login.Source(p.Addr)}
}

// encrypted reports whether the client came by TLS.
func encrypted(p *peer.Peer) bool {
	if p == nil {
		return false
	}
	_, ok := p.AuthInfo.(credentials.TLSInfo)
	return ok
}

// fromCertificate returns the user of a client certificate that was verified and is still
// valid, or "".
func (a *Authenticator) fromCertificate(p *peer.Peer) (string, error) {
	if p == nil {
		return "", nil
	}
	info, ok := p.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return "", nil
	}
	if err := a.Certificates.trust(info.State.PeerCertificates); err != nil {
		return "", fmt.Errorf("the client certificate is no longer valid: %w", err)
	}
	name := info.State.VerifiedChains[0][0].Subject.CommonName
	if name == "" {
		return "", errors.New("the client certificate has no common name")
	}
	return name, nil
}
