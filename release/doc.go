// SPDX-License-Identifier: Apache-2.0

// Package release has the scripts of `make install` and `make release`, with tests:
//
//   - install.sh installs what make build made below a prefix; the Debian package is made by it;
//   - release.sh gathers packages, image, YANG models, bill of materials and checksums;
//   - internal/sbom writes the bill of materials.
//
// Nothing of it is part of the programs.
package release
