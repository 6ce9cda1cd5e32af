// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide says what should happen to a stack next, and why.
//
// [Decide] is a pure function: [Facts] in, one [Decision] out. Facts are plain values, the time
// included: no client, clock, logger or randomness; a test checks the imports. All rules of
// scheduling and approval live here; the controller gathers facts, acts and records the result.
//
// # Terms
//
//   - Configuration: all inputs of a plan except the real infrastructure: artifact, path,
//     variables, environment, backend, workspace, targets, spec.destroy and tool, combined into one
//     digest. With an equal digest, nothing changed on our side and no new plan is needed.
//   - World: the real infrastructure as providers report it; drift detection reads it on an
//     interval. The configuration alone cannot prove that a program that reads external data while
//     planning is unchanged.
//   - A pending plan is stored and waits for approval. It is bound to the digest of its bytes.
//
// # Laws
//
// These hold for all facts (tested with random facts):
//
//   - Nothing is applied without approval: by mode auto or force, by a policy in mode policy, by the
//     pending plan's exact id, or by a deletion that the stack declared to destroy its resources.
//   - A plan is never applied after its configuration or state has changed.
//   - Nothing runs while the stack is suspended or held for manual work, another run of it is in
//     progress, or another lock holder has its lock. The lock of a run in progress is never broken;
//     any other only if the stack permits it.
//   - Only a deletion runs before dependencies are ready; nothing is deleted that others depend on.
//   - After all allowed attempts, only a change or a request starts new ones.
//   - Plan-only and disabled stacks never apply, except for the declared deletion.
//   - After a failed apply, a fresh plan comes before anything is applied.
//   - A rejected plan is not applied, not even by mode auto or force.
//   - While a circuit breaker concerns the stack, only plans approved by id and declared deletions
//     are applied. Afterwards drift is repaired only after a fresh check and an approval.
//   - What policies refuse is never applied, what they hold only with a person's approval, and what
//     the present policies have not judged not yet.
//   - While a pull request holds the stack, only plans approved by id are applied.
//   - While the state is a deleted stack's, only plans that a person approved are applied.
//   - Suspension blocks every deletion, except that of the copy that a move left behind.
//   - Nothing runs on a stack that was moved to another home, or that is still arriving.
//   - After a person canceled a run, no run of the same configuration starts automatically.
//   - A decision that waits for time has a next check.
package decide
