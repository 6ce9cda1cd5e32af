// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package initflow decides what the init step does next.
//
// Init is a state machine. [Next] takes its state and what happened, and returns the new state and the next action; it is
// pure. The runner acts, and reports what happened as an [Event]. The stages, and the events that lead on:
//
//	Begun ──Looked── unchanged ─► Holding ──Done──────────────────────► Ready
//	  │                             │ Gone
//	  └──────── changed ────────────┴─► Preparing ──Done── same modules ─► Ended
//	                                        │
//	                 shareable ┌────────────┴────────────┐ not shareable
//	                           ▼                         ▼
//	                       Replaying ──Gone──────────► Running ──Failed── (at most three retries) ─► Running
//	                           │ Done                    │ Done
//	                           │          Selecting ◄────┤ a workspace has to be selected
//	                           │              │ Done     │
//	                           └──────────────┴──────────┴─► Recording ──Done─► (Keeping) ─► Ready
//
//	Ready ──PlanFailed─► Redoing ──Done─► Running
//	Ready ──StateNeeds─► Completing ──Done─► Recording
//
// # Terms
//
//   - A replay puts in place what the init of another stack with the same requirements left.
//   - A retry runs init again with less: without what it remembers of the backend, without the modules of the module
//     store, or without the providers of the provider store.
//
// # Invariants
//
//   - Every path ends in Ready, Ended or Failed, and init runs at most six times: each retry gives something up, and
//     nothing that was given up comes back.
//   - A failed run is retried only if its failure is about what the retry gives up. Failures that no program reported,
//     such as a cancelled run or a full disk, end init.
//   - What init left is kept for other stacks only after a run without a failure in a directory that was empty before.
//   - Init that sees the state (Completing) is not retried: the stores have nothing to do with its failure.
package initflow
