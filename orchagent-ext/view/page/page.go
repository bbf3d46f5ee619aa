// SPDX-License-Identifier: Apache-2.0

package page

import (
	"embed"
	"io/fs"
)

// dist is the page as bundle has made it.
//
//go:generate go run ./bundle
//go:embed dist
var dist embed.FS

// Files returns the files of the page: index.html, app.js and app.css.
func Files() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil { // the folder is in the program
		panic(err)
	}
	return files
}
