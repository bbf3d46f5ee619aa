// SPDX-License-Identifier: Apache-2.0

// Package gnmi tests the program sluice-gnmi as its clients see it: a process of
// its own before a Redis of its own, over the unix socket or TLS on loopback.
//
//   - TestConformanceCases has a case for each MUST of the gNMI specification 0.10.0
//     and its extensions depth and commit confirmed, named by section: MUSTS.md
//     lists the demands, and TestMustsHaveTests keeps list and tests together;
//   - TestRealClientsWork runs gnmi_cli, grpcurl and a client in Python, TestLoginsOfRealClients and
//     TestLoginsOfGnmic the matrix of logins;
//   - the fault tests repeat the complaints of operators about other servers.
//
// The package has tests only.
package gnmi
