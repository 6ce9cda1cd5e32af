// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner executes runs: one long-lived process beside the server executes many of them at
// once.
//
// It accepts runs from the server, limits how many work at a time, carries each of them out or,
// after a crash, takes it over, and delivers the results. The packages below do the rest:
//
//   - steps: the steps that runs consist of; initstep: the init step. initflow decides what init
//     does next.
//   - supervisor: runs tofu and follows its output. process: one process of tofu. usage: its
//     resource usage.
//   - statekeeper: the state during a run.
//   - shell: the shell of "yuba shell".
//   - execution: a run in progress, and the equipment that all runs share.
//   - workspace: a stack's working directory. initcache: results of init for other stacks.
//   - spool: everything of a run that the server does not have yet. link: the connection to the
//     server.
//   - tools: finds tofu or terraform. fetch: downloads for the stores of providers and modules.
//   - fault: how a run fails.
//
// # Terms
//
//   - A job is one run that this runner executes.
//   - An adoption takes over a run that an earlier runner left.
//   - A place is the right to run processes; there are as many as [Options.Capacity]. A job has one
//     from init to its last process. It is prepared before it has one, and ships its results after
//     it has given it back.
//   - A terminal belongs to a user who runs "yuba shell": their own process executes that run, with
//     the same steps, below DIR/shells. If the process dies, the runner takes the run over.
//
// # Invariants
//
//   - tofu does not depend on this process: it has its own session and writes to files, which the
//     runner reads as they grow. If the runner dies, tofu continues, and the next runner adopts it.
//   - Every complete state that tofu writes goes to the spool first, and from there to the server,
//     in order, until the server acknowledges or finally refuses it. The runner keeps refused
//     states below DIR/orphans.
//   - A process gets exactly one SIGINT; its group is killed only after the grace period.
//   - tofu gets a built environment and, where the kernel supports it, sees only its own working
//     directory and the system's libraries. The runner reads everything that tofu can write to
//     through an os.Root, so links cannot leave it.
//   - No secret of a run leaves the runner in text: log lines, errors and warnings are masked
//     first. State, plan and outputs are data and have their own endpoints.
//
// The package decides nothing: the spec says what to run, and the server decides whether an apply
// may begin.
package runner
