// SPDX-License-Identifier: Apache-2.0

// Package fuzz holds the list of fuzz targets, targets.txt, to the tree: each target is in
// it, and each parser has one. It has tests only.
package fuzz
