// SPDX-License-Identifier: Apache-2.0

// Package report shows the results of a simulation: as one JSON object, as the rows of a table,
// as plots in SVG, and as one HTML page with all of that, complete in itself.
package report
