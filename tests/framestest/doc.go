// SPDX-License-Identifier: Apache-2.0

// Package framestest makes states of a fabric for tests of the rooms of sluice view. The same
// arguments make the same frames.
package framestest
