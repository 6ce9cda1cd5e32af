// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package confinement starts untrusted programs, which can reach only what the caller lists.
//
// The nouns:
//
//   - Walls separate a program from the rest of the machine: its own namespaces, its own user, the
//     system call filter and Landlock. [Probe] tries them and reports which ones this machine
//     supports.
//
//   - A cell lists what one program may use: files, a user, limits, and whether it has a network.
//
//   - The sandbox is the program yuba-sandbox. It builds the walls around itself and then executes
//     the program in its own place, so the program is a direct child of the process that started
//     the sandbox.
//
//   - A tunnel is the way out of a program's own network namespace. The relay, the program
//     yuba-network, connects it to the machine's network, as far as a list allows. It is confined,
//     too, and ends with the program.
//
//   - A user of its own is a numeric user ID that belongs to one working directory and to no
//     account of the machine. Only root can assign them.
//
//   - The mark of a run is a number in the resource limits of each of its processes. Yuba finds
//     processes that outlived the run by it.
//
// # Invariants
//
//   - No program starts less confined than Probe reported: if the sandbox cannot build one of these
//     walls, it fails.
//   - With its own namespaces, the program is the first process of its process namespace. When it
//     exits, the kernel kills all its descendants, even if no process of Yuba is left.
//   - A program's output comes from that program, or from a process that it handed its output to.
//   - Each missing wall has a name, a reason, and a description of what programs can do without it.
//
// The package knows neither runs nor stacks.
package confinement
