// SPDX-License-Identifier: Apache-2.0

// Command lab builds the lab of sluice.clab.yml, a topology of containerlab, of network
// namespaces, for machines without containerlab: `make lab` and `make lab-down` call it.
// It reads nodes, links, addresses, routes and programs from that file, which is their
// only list. Programs of images other than Sluice's and Redis run in containers alone.
//
//	lab up [TOPOLOGY]        build the lab, and leave it running
//	lab down                 end it; nothing is left
//	lab exec NODE COMMAND    run a command in a node, with the node's environment
//
// It needs root, iproute2, and Redis.
package main
