// SPDX-License-Identifier: Apache-2.0

// Package leafspine is a simulated Clos fabric of two tiers, whose leaves choose uplinks
// by the kernel's hash: the time of collectives with labels by hash, by one leaf alone,
// and by a plan. It runs the code that a leaf and the planner would: [placement.Table],
// [plan.Make], rows and quotas as JSON.
//
// Its tests call it. It is pure: the seed of its random numbers is given. It models rates
// only: flows share links fairly (max-min), which alone sets their rates.
package leafspine
