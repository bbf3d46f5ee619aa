// SPDX-License-Identifier: Apache-2.0

// Package minute has a test of the first minute: from a clone of the tree to the verdict of
// `sluice doctor`, without a network, a C compiler, packages or rights.
package minute
