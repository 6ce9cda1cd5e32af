// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package startup shortens the start of the program, which is most of what a short command costs: it is
// imported for its effect by the program's main package.
//
//   - Go initialises packages in the order of their import paths, once the packages that they import are
//     initialised. This one imports nothing, so it comes before all of Kubernetes.
//   - Until the first garbage collection, the heap may be 64 MiB. After it, and with GOGC set, the garbage
//     collector works as in any program.
//   - Package texts keeps kubectl from loading translations that nobody sees.
package startup
