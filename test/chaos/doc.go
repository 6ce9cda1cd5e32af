// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package chaos kills Yuba at random moments and looks whether anything was lost.
//
// A real `yuba up`, with its runner, tofu and the provider of test/provider, keeps a fleet of stacks in a cloud of
// test/cloud, while a storm changes what they should be and kills processes. The cloud is the truth: it knows which
// objects there are, and its journal tells who created, changed or deleted something on false assumptions. When the
// storm is over everything must settle by itself; then the accounts are made up:
//
//   - the objects of the cloud are those that the stacks ask for, and those that their states list;
//   - nothing was created twice, or changed or deleted after it was gone;
//   - no lock is held, no run is in hand, each has ended; states have one lineage and serials that only grow;
//   - the runner's spool is empty, no process and no secret file is left over.
//
// # The nouns
//
//   - A storm is a schedule of blows, made from a seed, and a stream of changes to the fleet.
//   - A blow is whom to kill and when: after a while, or a moment after something interesting began, such as an apply,
//     a state on its way to the server, or a write to the API.
//
// The schedule is the seed's; what it meets is not, because the machine is never twice the same. What a storm found is
// therefore looked for in what it leaves behind: on failure the directory stays and is named.
//
// The short form is part of `make test`; `make chaos` is the long one.
package chaos
