// SPDX-License-Identifier: Apache-2.0

// Package release has the scripts of `make install` and `make release`, with tests:
//
//   - install.sh installs the files of make build below a prefix; the Debian package is
//     made by it;
//   - release.sh gathers packages, image, YANG models, bill of materials and checksums;
//   - internal/sbom writes the bill of materials.
//
// The programs contain none of it.
package release
