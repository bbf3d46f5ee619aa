// SPDX-License-Identifier: Apache-2.0

// Package pasttest measures how a past that comes from a Prometheus differs from what was recorded live:
// rows of a Redis that change, the metrics of sluiced about them, a Prometheus (Debian's) that scrapes these
// each second, and a record beside it.
package pasttest
