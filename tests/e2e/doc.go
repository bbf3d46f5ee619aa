// SPDX-License-Identifier: Apache-2.0

// Package e2e tests the built programs together, as root, in namespaces that it makes:
// sluiced with the software switch on the leaf of a small fabric, a Redis of its own,
// real packets. `make test` builds these programs.
package e2e
