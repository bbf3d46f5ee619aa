// SPDX-License-Identifier: Apache-2.0

// Package container has only tests, which check the files of the container for SONiC.
//
//   - manifest.json describes the container to SONiC's package manager; with the models
//     in yang/ it becomes the image's labels (labels.sh);
//   - Dockerfile, image.sh and debian-root.sh build the image;
//   - start.sh with environment.sh, health.sh, supervisord.conf and critical_processes run sluiced and
//     sluice-gnmi in it;
//   - Dockerfile.tool and tool-image.sh build the image of the tool alone, with sample captures;
//   - arm64-root.sh is for the cross build (make arm64);
//   - cli/ are the commands show, config and clear on the switch, in Python, with
//     tests of their own (cli/tests).
//
// The commands run the program sluice in the container, with its words as they are: tables,
// fields and texts are the program's.
package container
