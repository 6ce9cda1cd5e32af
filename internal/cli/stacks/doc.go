// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package stacks has the commands about stacks: to change them (create, deploy, approve, cancel,
// destroy, delete …) and inspect them (list, status, plan, logs, runs, why, queue, top …).
//
//   - A follower watches a changed stack and shows the logs of its runs.
//   - A review is a follower that also shows the plan, asks, approves, and shows the apply.
//   - An origin is where a stack comes from: its source, and the Kustomization or Tenant that
//     applied it.
//
// Commands talk to the API only. An approval names the plan that was shown, and never approves
// another one.
package stacks
