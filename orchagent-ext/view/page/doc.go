// SPDX-License-Identifier: Apache-2.0

// Package page is the page of sluice view: HTML, one script and one style sheet, which are in the
// program. The room view/server serves them; the page asks it for pictures, and asks no other.
//
// The script is made of src, and of the sources of others in third_party, by esbuild: go generate
// writes dist. Names and texts of switches come into the page as text alone.
package page
