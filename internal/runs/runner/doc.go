// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner executes runs: one long-lived process beside the server that carries out many of them at once.
//
// The packages below have what does not need the whole:
//
//   - workspace: a stack's working directory, WORKROOT/NAMESPACE/NAME.
//   - spool: what is kept of a run, in DIR/runs/ID, until the server has it. It outlives this process.
//   - process: a process of tofu, which outlives this one.
//   - link: the way to the server.
//   - tools: which tofu, or terraform, a stack wants.
//   - fetch: downloads for the stores of providers and modules.
//   - meter: what runs take of the machine.
//   - initflow: what init does next; it is pure.
//   - fault: how a run fails.
//
// # Terms
//
//   - A job is one run in this runner's hands. It is made of parts: the task, the place among other jobs, the working
//     directory, the supervisor of tofu, and the steps. Each part names the parts that it uses.
//   - An adoption takes over a run that an earlier runner left.
//   - A place is the right to run processes. A job has one from its init to its last process; it is prepared before it has
//     one, and ships its results after it has given it back.
//   - A kept init is what init left for one stack, kept in memory for others with the same requirements. A replay puts it
//     in place instead of running init.
//   - Modules from elsewhere are kept below DIR/modules and put in place before init; see package modules.
//   - A terminal is a person's: their own process executes one run of run.OperationShell there, with the same steps and the
//     same care for states as the runner, below DIR/shells. If it dies, the runner takes the run over.
//
// # Invariants
//
//   - tofu never depends on this process: it has its own session and writes to files, which are read here as they grow.
//     When the runner dies, tofu goes on, and the next runner adopts it.
//   - Every complete state that tofu writes goes to the spool first and from there to the server, in order, until the
//     server acknowledges it or refuses it for good. A newer state of the same lineage replaces those that still wait.
//     A state the server never took is kept below DIR/orphans.
//   - A process is asked to stop by exactly one SIGINT to its own id; only after the grace period is its group killed.
//   - tofu gets a built environment and, where the kernel can, sees its own working directory and the system's
//     libraries only. Whatever tofu can write to is read through an os.Root: no link leads out of what is the stack's own.
//   - A kept init comes from a directory that nobody else can have written to, and holds nothing but links to providers of
//     the mirror or the store, the list of modules of the same source, and the lock file. When a plan after it fails in a
//     way that init may have told, init runs and the plan is made again.
//   - A run uses what init left for an earlier one only if a list that programs cannot reach says that nothing has changed
//     since. A new revision takes over providers only, and none after an init that may have started programs of the stack.
//     Files that planning made wait, on a list of their own, for the apply of that plan. HOME and TMPDIR are new for each run.
//   - What other stacks may use of modules and providers was downloaded in a directory of its own, with nothing of a stack but
//     the credentials that its scope is named by.
//   - Plan and apply are one process only where there is no state and nobody looks at the plan, and after the server
//     permitted the apply. Until the first resource is begun, what goes wrong there is a plan that failed.
//   - No secret of a run leaves it in text: log lines, errors and warnings pass the masker first. State, plan and
//     outputs are data and go to their own endpoints.
//
// The package decides nothing: what to run comes with the spec, and whether an apply may begin is asked.
package runner
