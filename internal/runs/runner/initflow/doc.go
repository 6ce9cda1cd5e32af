// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package initflow decides the next action of the init step.
//
// [Next] is a pure function from state and [Event] to new state and action. The runner acts, and
// reports the result as the next event. The stages, and the events that lead on:
//
//	Begun ──Looked── unchanged ─► Holding ──Done────────────────────► Ready
//	  │                             │ Gone
//	  └──────── changed ────────────┴─► Preparing ──Done── same modules ─► Ended
//	                                        │
//	                 shareable ┌────────────┴────────────┐ not shareable
//	                           ▼                         ▼
//	                       Replaying ──Gone──────────► Running ──Failed── (3 retries) ─► Running
//	                           │ Done                    │ Done
//	                           │          Selecting ◄────┤ a workspace has to be selected
//	                           │              │ Done     │
//	                           └──────────────┴──────────┴─► Recording ─Done─► (Keeping) ─► Ready
//
//	Ready ──PlanFailed─► Redoing ──Done─► Running
//	Ready ──StateNeeds─► Completing ──Done─► Recording
//
// # Terms
//
//   - A replay restores the init of another stack with the same requirements.
//   - A retry gives up the recorded backend, the module store or the provider store.
//
// # Invariants
//
//   - Every path ends in Ready, Ended or Failed, and init runs at most six times: nothing that a
//     retry gave up comes back.
//   - Init is retried only if its failure is about what the retry gives up, never after a failure
//     that no program reported, such as a cancelled run or a full disk.
//   - Init is kept for other stacks only if it succeeded in an empty directory, without a retry.
//   - Init with the state (Completing) is not retried: the stores cannot cause its failure.
package initflow
