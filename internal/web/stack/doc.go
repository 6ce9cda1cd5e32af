// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package stack shows one stack: what it is and how it stands, its plan, runs, states, inputs and outputs,
// why Yuba does what it does, and a button for every action of the command line.
//
//	stack.go       the pages, and what they have in common; gone.go those of what is gone
//	overview.go    the first page; facts.go, buttons.go and verdicts.go are its pure parts
//	actions.go     what the buttons do, by package verbs
//	plan.go        the plan; package plandiff makes its view
//	runs.go        runs and their records; runlog.go the log and its stream; package runlog reads it
//	states.go      versions of the state; package statediff compares them
//	inputs.go      inputs; package origins finds where they come from
//	details.go     outputs, why, connections, events and YAML
//
// Invariants:
//
//   - Everything is read and done as the person.
//   - An action names what the person saw: the plan by its id and digest, the run, the lock or the version
//     by its id. If it is another one by now, the action says so and does nothing.
//   - A part that cannot be read says why, and the rest of the page is there.
package stack
