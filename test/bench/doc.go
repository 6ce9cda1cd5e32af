// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the resources that Yuba needs on this machine, and prints a table: the
// time until it is ready, its idle load, and the cost of a stack compared with plain tofu. "make
// bench" runs it.
//
// Comparisons alternate between Yuba and plain tofu, so that other load on the machine affects
// both. The result is the ratio of the medians. The ratio of CPU times is valid on a busy machine,
// too.
//
// A fleet ("make bench-fleet") is many stacks of one generated repository. In addition to time, CPU
// and memory, the benchmark counts started processes (as reported by the kernel), writes to the API
// (from its metrics), and downloads. -only selects rows; -h lists their durations.
//
// Tenants are the rows of a table and the objects that a template creates for them. The benchmark
// fills the table, and acts as the controller of a kind whose objects become ready with a delay.
//
// limits.yaml contains the target and the last recorded value of each number. A number over its
// target is marked, but does not fail the benchmark.
package main
