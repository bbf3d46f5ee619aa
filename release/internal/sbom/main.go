// SPDX-License-Identifier: Apache-2.0

// Command sbom writes the software bill of materials of programs written in Go, in the
// format of CycloneDX 1.5: their modules, with versions, from the build information in
// each program, and with licenses, from lines MODULE[/PACKAGE],LICENSE on standard input,
// as go-licenses finds them. It is the same for the same programs.
//
//	sbom NAME VERSION PROGRAM...
package main

import (
	"bufio"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// main exits with 1 after an error.
func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

// run writes the bill of materials. The arguments are name, version and programs;
// licenses come on stdin.
func run(args []string, stdin io.Reader, stdout io.Writer) error {
	if len(args) < 3 {
		return errors.New("want NAME VERSION PROGRAM [PROGRAM]")
	}
	licenses, err := readLicenses(stdin)
	if err != nil {
		return err
	}
	b, err := billOf(args[0], args[1], args[2:], licenses)
	if err != nil {
		return err
	}
	e := json.NewEncoder(stdout)
	e.SetIndent("", "  ")
	return e.Encode(b)
}

// A bill is the document, with the fields of CycloneDX 1.5 that are used.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

// metadata and the following types are those of CycloneDX 1.5, as far as the bill has
// them.
type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type     string    `json:"type"`
	Ref      string    `json:"bom-ref"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	PURL     string    `json:"purl,omitempty"`
	Licenses []license `json:"licenses,omitempty"`
}

type license struct {
	License struct {
		ID string `json:"id"`
	} `json:"license"`
}

// licensed are SPDX names as licenses of a component, sorted.
func licensed(names ...string) (all []license) {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		var l license
		l.License.ID = name
		all = append(all, l)
	}
	return all
}

// readLicenses returns the licenses by the module or the package that has them.
func readLicenses(r io.Reader) (map[string]string, error) {
	found := map[string]string{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		name, license, ok := strings.Cut(lines.Text(), ",")
		if !ok || license == "" || license == "Unknown" {
			return nil, fmt.Errorf("%q: no license", lines.Text())
		}
		found[name] = license
	}
	return found, lines.Err()
}

// billOf reads the programs. A module without a license is an error.
func billOf(name, version string, programs []string, licenses map[string]string) (*bill, error) {
	modules := map[string]string{} // version by path
	goVersion := ""
	for _, p := range programs {
		info, err := buildinfo.ReadFile(p)
		if err != nil {
			return nil, err
		}
		goVersion = strings.TrimPrefix(info.GoVersion, "go")
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			modules[m.Path] = m.Version
		}
	}
	b := &bill{Format: "CycloneDX", Spec: "1.5", Version: 1, Metadata: metadata{component{
		Type: "application", Ref: name, Name: name, Version: version, Licenses: licensed("Apache-2.0"),
	}}}
	b.Components = append(b.Components, library("std", goVersion, licensed("BSD-3-Clause")))
	for _, path := range slices.Sorted(maps.Keys(modules)) {
		var names []string
		for of, l := range licenses {
			if of == path || strings.HasPrefix(of, path+"/") && owner(of, modules) == path {
				names = append(names, l)
			}
		}
		if names == nil {
			return nil, fmt.Errorf("module %s: no license was found", path)
		}
		b.Components = append(b.Components, library(path, modules[path], licensed(names...)))
	}
	return b, nil
}

// owner is the module of a package: the longest path that the package's begins with.
func owner(pkg string, modules map[string]string) (path string) {
	for m := range modules {
		if (pkg == m || strings.HasPrefix(pkg, m+"/")) && len(m) > len(path) {
			path = m
		}
	}
	return path
}

// library returns a Go module as a component, with its package URL (purl-spec, type
// golang).
func library(path, version string, licenses []license) component {
	purl := "pkg:golang/" + path + "@" + version
	return component{"library", purl, path, version, purl, licenses}
}
