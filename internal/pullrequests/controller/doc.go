// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller reconciles the kind PullRequestPlanner. A pass over a planner reads what has
// happened since the last one, decides about each pull request (package decide), acts, and shows the
// result at the forge and in the status.
//
// The nouns:
//
//   - A link is a GitRepository with a connection to its repository at the forge.
//   - A pull is what is known of a pull request: its head, the stacks that it changes, their plans. It is
//     stored, so that a new server shows and repeats nothing without need.
//   - A source is the tree of a head, fetched with all that the GitRepository says, and removed when
//     the plans of the head have ended. Plans are of the head commit, not of a merge that nobody made.
//   - A hook is a webhook of the forge. It only says where to look.
//
// The files:
//
//	controller.go, pass.go  a pass over a planner
//	connect.go              GitRepositories, credentials, connections
//	refresh.go              which pull requests there are, by hooks or polls
//	step.go                 a pass over one pull request
//	discovery.go            which stacks a head changes
//	plans.go                plans at work
//	commands.go, answer.go  commands in comments
//	behind.go               what follows in the stacks behind
//	merged.go, identity.go  plans after a merge, and who approved them
//	report.go, show.go      what is shown at the forge
//	status.go               what the object shows
//	branchplanner.go        the ConfigMap of tofu-controller's branch planner
//	memory.go, records.go   what is known, and stored
//	hooks.go                webhooks
//
// # Invariants
//
//   - A pass never waits for a plan. Only passes change what is known of a planner; others leave news
//     for the next pass, and wake it.
//   - The forge is asked about everything that a hook says. The content of a hook decides nothing.
//   - A fork's code is fetched, read and planned only after a member allowed the very commit, by a
//     command that names it with all digits.
//   - Code that would start programs, or adds modules or providers of others, is not planned unless the
//     planner allows it, whoever wrote it.
//   - What is shown comes from plans without sensitive values, and from masked errors.
//   - No pull request stops a planner, or takes more memory than a limit: stacks, manifests and records
//     have one.
//   - An approval is given to the pending plan by its id, in the name of accounts of the server that was asked.
//     It counts only for a plan that the comment had completely before the approval.
//   - What one server said about people is never taken for what another one said.
//
// The package does not know runs or archives: the composition root fetches and plans for it.
package controller
