// SPDX-License-Identifier: Apache-2.0

// Command bundle makes dist of src and third_party, in the folder of package page, in which
// go generate runs it. The same sources make the same octets.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

// main exits with 1 after an error.
func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

// run writes the files of dist.
func run() error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	r := api.Build(api.BuildOptions{
		AbsWorkingDir: folder, EntryPoints: []string{"src/app.jsx"}, Outdir: "dist", EntryNames: "app",
		Bundle: true, Write: true, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Format: api.FormatIIFE, Target: api.ES2022, Charset: api.CharsetASCII, LegalComments: api.LegalCommentsInline, LogLevel: api.LogLevelWarning,
		JSX: api.JSXTransform, JSXFactory: "h", JSXFragment: "Fragment",
		Alias: map[string]string{
			"preact": "./third_party/preact/preact.mjs", "preact/hooks": "./third_party/preact/hooks.mjs",
			"uplot": "./third_party/uplot/uPlot.esm.js", "uplot/uPlot.min.css": "./third_party/uplot/uPlot.min.css",
		},
	})
	if len(r.Errors) > 0 || len(r.Warnings) > 0 {
		return fmt.Errorf("%d errors, %d warnings", len(r.Errors), len(r.Warnings))
	}
	text, err := os.ReadFile("src/index.html")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("dist", "index.html"), text, 0o644)
}
