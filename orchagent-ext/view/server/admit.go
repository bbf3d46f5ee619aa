// SPDX-License-Identifier: Apache-2.0

package server

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"sluice/orchagent-ext/host/login"
)

// ofLoopback reports whether a Host header names this machine's loopback.
func ofLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// admit reports whether the user of a request may see the page, and answers those who may not.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if s.Users == nil {
		return true
	}
	name, password, given := r.BasicAuth()
	err := errors.New("this page needs a user and a password")
	if given {
		err = s.Users.Check(r.Context(), name, password, origin(r.RemoteAddr))
	}
	switch {
	case err == nil:
		return true
	case errors.Is(err, login.ErrWait):
		http.Error(w, err.Error(), http.StatusTooManyRequests)
	default:
		w.Header().Set("WWW-Authenticate", `Basic realm="sluice view", charset="UTF-8"`)
		http.Error(w, err.Error(), http.StatusUnauthorized)
	}
	return false
}

// still reports whether the user of a request that was admitted may go on to see the page.
func (s *Server) still(r *http.Request) bool {
	if s.Users == nil {
		return true
	}
	name, password, _ := r.BasicAuth()
	return s.Users.Still(name, password, origin(r.RemoteAddr)) == nil
}

// origin returns where a client is.
func origin(remote string) login.Origin {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return login.Origin{Connection: remote}
	}
	return login.Origin{Connection: remote, Source: login.Source(net.TCPAddrFromAddrPort(at))}
}
