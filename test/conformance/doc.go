// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance tries what users of tofu-controller rely on: manifests go in, objects and Secrets come out, and
// nothing else is looked at.
//
// The nouns:
//
//   - A home is an API and a controller that works on its objects. The suite starts two of Yuba's own, or takes the one
//     that -kubeconfig names.
//   - A behaviour is one thing that a controller does. It has tofu-controller's number, or the number of a pain that its
//     users report; README.md lists what has none, and which tests show the pains gone.
//   - A world is where one behaviour is tried: a namespace of a home, and the suite's own HTTP server, from which sources,
//     registries and the things come that programs read.
//
// Invariants:
//
//   - Behaviours are tried side by side, so that they share nothing but the home.
//   - Nothing sleeps: the suite watches until what it waits for has come about. What never comes about is shown by
//     something else that had the same time.
//   - Programs use what the tool has built in; nothing is downloaded, and no network is needed.
//
// The homes are processes: the test binary is also the program yuba and the program kube-apiserver, and is them when it is
// called by their names.
package conformance
