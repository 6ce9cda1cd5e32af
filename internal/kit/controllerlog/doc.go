// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controllerlog is the log of controller-runtime, whose packages log through one logger of the process.
//
//   - The logger is set while the program initialises its packages, and drops everything until [To] names a log.
//     controller-runtime waits 30 seconds for a logger. Then it prints a stack trace to the standard error, and never logs
//     anything: of a command that takes long, people would see the trace, and the controllers of a server that starts
//     slowly would be silent.
//   - Go initialises packages in the order of their import paths, once the packages that they import are initialised. So this
//     one comes right after controller-runtime's log, and before its other packages.
package controllerlog
