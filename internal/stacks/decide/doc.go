// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide says what should happen to a stack next, and why.
//
// [Decide] is a pure function: [Facts] in, one [Decision] out. The facts are plain values, the time among them; there
// is no client, clock, logger or randomness here, and a test lists this package's imports to keep it so. All rules of
// scheduling and approval live in this package and nowhere else; the controller gathers the facts, acts on the
// decision and records what came of it.
//
// # Words
//
//   - Configuration is everything that decides what a plan says apart from the world: the artifact, path, variables,
//     environment, backend, workspace, targets, spec.destroy and tool, boiled down to one digest. Two equal digests need
//     no second plan to prove that nothing changed on our side.
//   - The world is what providers report. It is looked at by drift detection, on an interval. A program that asks others
//     while it is planned reads the world, too, and is never proven by its configuration alone.
//   - A pending plan is saved, shown and waits for approval. It is bound to the digest of its bytes.
//
// # Laws
//
// Whatever the facts, these hold (and are tested on random facts):
//
//   - Nothing is applied without approval: by mode auto or force, by the pending plan's exact id, or by a deletion
//     that the stack declared to destroy its resources.
//   - A plan is never applied when the configuration or the state it was made for has moved.
//   - Nothing runs while the stack is suspended or held for work by hand, another run of it is in hand, or somebody else
//     holds its lock. The lock of a run in hand is never broken, and no other that nobody named.
//   - Nothing but a deletion runs before what the stack depends on is ready, and nothing goes that others depend on.
//   - When the attempts that the stack allows are used up, only a change or a request begins them anew.
//   - Plan-only and disabled stacks never apply, save for the declared deletion.
//   - After an apply that did not succeed nothing is applied before a fresh plan.
//   - What was rejected is not applied, also not by mode auto or force.
//   - While a circuit breaker that concerns the stack is open, nothing is applied but what a person approved by its id or a
//     declared deletion. After it, drift is not repaired before the stack was looked at and a person approved.
//   - While the state is that of a deleted stack, nothing is applied or destroyed but a plan that a person approved.
//   - Suspension holds every deletion.
//   - After a person has canceled a run, no other run of the same configuration follows by itself.
//   - A decision that waits for time says until when.
package decide
