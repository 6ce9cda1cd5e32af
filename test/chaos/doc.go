// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package chaos kills Yuba at random moments and checks that nothing was lost.
//
// A real `yuba up`, with its runner, tofu and the provider of test/provider, manages a fleet of
// stacks in a cloud of test/cloud, while a storm changes the fleet and kills processes. The cloud
// knows which objects exist, and its journal records creations, changes and deletions that were
// based on wrong assumptions. After the storm, everything must settle without help. Then the test
// checks that
//
//   - the objects in the cloud are those that the stacks declare and those that their states list;
//   - nothing was created twice, or changed or deleted after it was gone;
//   - no lock is held, and every run has ended; each state has one lineage and increasing serials;
//   - the runner's spool is empty, and no process and no file with secrets is left.
//
// # Terms
//
//   - A storm is a schedule of blows, derived from a seed, and a stream of changes to the fleet.
//   - A blow is a target and a time to kill it: after a delay, or just after an event such as the
//     start of an apply, a state on its way to the server, or a write to the API.
//
// The seed determines the schedule, but not what the blows hit, because timing differs between
// runs. So a failed storm cannot be replayed; it keeps its directory and prints its name.
//
// `make test` runs the short form, `make chaos` the long one.
package chaos
