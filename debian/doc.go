// SPDX-License-Identifier: Apache-2.0

// Package debian has only tests, which check the Debian package.
//
//   - build.sh makes the package (make deb) from the files of make build in bin/;
//   - internal/manual makes the manual page of a daemon from its --help; those of
//     sluice's commands come from the commands themselves (build tag manual);
//   - the units run each program as a user of its own, with few rights;
//   - postinst, prerm and postrm are the package's scripts; etc/ are its conffiles.
package debian
