// SPDX-License-Identifier: Apache-2.0

// Package goipfix measures the exporter beside vmware/go-ipfix, on the same
// records in the same run. It is a module of its own, so that the product does
// not depend on that one.
package goipfix
