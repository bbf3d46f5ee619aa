// SPDX-License-Identifier: Apache-2.0

// Command utilities runs SONiC's own utilities beside Sluice: sonic-yang-mgmt,
// generic_config_updater, sonic_package_manager with a Docker daemon and a registry, config, show and
// sonic-clear, featured, generate_dump and the scripts of warm and fast reboot.
//
// They are those of a folder DIR with SONiC's programs in their places, such as an unpacked
// image of docker-sonic-vs. A switch (root.go, files.go) is DIR over this machine's root, in
// namespaces of its own: the programs find everything at the paths of a switch, and all that they
// write is gone in the end. Redis, the Docker daemon and the image are real; systemd is not
// there, its command systemctl is a stand-in (systemctl.go); so are monit and sudo, where the machine has none.
//
// A scenario (scenarios.go) runs commands and compares CONFIG_DB, files, exit statuses and
// messages. Each check is a line of the output, and of the report (report.go), which is a part
// of that of tests/sonic.
package main
