// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
)

// The registry's name, on loopback.
const registryName = "registry.test"

// A registry serves images by version 2 of Docker's registry API, as far as docker pull and
// SONiC's package manager read it.
type registry struct {
	repository string
	blobs      map[string][]byte // by digest
	tags       map[string]string // to digests of manifests
}

// add adds an image, from a file that docker save wrote.
func (r *registry) add(tag, file string) error {
	saved, err := os.Open(file)
	if err != nil {
		return err
	}
	defer saved.Close()
	files := map[string][]byte{}
	for t := tar.NewReader(saved); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
		if files[h.Name], err = io.ReadAll(t); err != nil {
			return fmt.Errorf("read %s: %w", file, err)
		}
	}
	var of []struct {
		Config string
		Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &of); err != nil || len(of) != 1 {
		return fmt.Errorf("read %s: %d images: %w", file, len(of), err)
	}
	type blob struct {
		MediaType string `json:"mediaType"`
		Size      int    `json:"size"`
		Digest    string `json:"digest"`
	}
	keep := func(kind, name string) blob {
		text := files[name]
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(text))
		r.blobs[digest] = text
		return blob{kind, len(text), digest}
	}
	manifest := struct {
		SchemaVersion int    `json:"schemaVersion"`
		MediaType     string `json:"mediaType"`
		Config        blob   `json:"config"`
		Layers        []blob `json:"layers"`
	}{2, mediaManifest, keep("application/vnd.docker.container.image.v1+json", of[0].Config), nil}
	for _, layer := range of[0].Layers {
		manifest.Layers = append(manifest.Layers, keep("application/vnd.docker.image.rootfs.diff.tar.gzip", layer))
	}
	if files["manifest"], err = json.Marshal(manifest); err != nil {
		return err
	}
	r.tags[tag] = keep(mediaManifest, "manifest").Digest
	return nil
}

const mediaManifest = "application/vnd.docker.distribution.manifest.v2+json"

func (r *registry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	rest, ok := strings.CutPrefix(req.URL.Path, "/v2/"+r.repository+"/")
	kind, name, _ := strings.Cut(rest, "/")
	switch {
	case req.URL.Path == "/v2/":
		w.WriteHeader(http.StatusOK)
		return
	case ok && kind == "tags":
		_ = json.NewEncoder(w).Encode(map[string]any{"name": r.repository, "tags": slices.Sorted(maps.Keys(r.tags))})
		return
	case ok && kind == "manifests":
		if digest, ok := r.tags[name]; ok {
			name = digest
		}
		w.Header().Set("Content-Type", mediaManifest)
	case ok && kind == "blobs":
		w.Header().Set("Content-Type", "application/octet-stream")
	}
	text, ok := r.blobs[name]
	if !ok {
		http.NotFound(w, req)
		return
	}
	w.Header().Set("Docker-Content-Digest", name)
	http.ServeContent(w, req, "", time.Time{}, bytes.NewReader(text))
}

// serve serves the registry with a certificate of its own, which programs that use Python's
// requests trust from then on. It returns how to end it.
func (r *registry) serve() (func(), error) {
	cert, err := certificate()
	if err != nil {
		return nil, err
	}
	hosts, err := os.OpenFile("/etc/hosts", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(hosts, "127.0.0.1", registryName)
	const trusted = "/tmp/registry.pem"
	if err := errors.Join(err, hosts.Close(), os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}), 0o644),
		os.Setenv("REQUESTS_CA_BUNDLE", trusted)); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:443")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: r, ReadHeaderTimeout: time.Minute}
	go func() {
		_ = server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}))
	}()
	return func() { _ = server.Close() }, nil
}

// certificate makes a certificate that signs itself.
func certificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	of := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: registryName}, DNSNames: []string{registryName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
