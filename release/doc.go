// SPDX-License-Identifier: Apache-2.0

// Package release has the scripts of `make install` and `make release`, with tests:
//
//   - install.sh installs the files of make build below a prefix; the Debian package is
//     made by it;
//   - uninstall.sh removes what install.sh installed;
//   - release.sh gathers packages, images, archives of the tool, YANG models, bill of materials and
//     checksums;
//   - tool.sh makes an archive of the tool alone for each system;
//   - beside.sh writes completion and manual pages, licenses.sh the licenses of modules;
//   - internal/sbom writes the bill of materials.
//
// The programs contain none of it.
package release
