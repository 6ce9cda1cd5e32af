// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance tests the behaviour that users of tofu-controller rely on. It is a black-box
// test: it applies manifests, and checks only the resulting objects and Secrets.
//
// Terms:
//
//   - A home is an API with a controller that works on its objects. The suite starts two of Yuba's,
//     or uses the one of -kubeconfig.
//   - A behaviour is one thing that a controller does. It has tofu-controller's number, or the
//     number of a problem that its users report. README.md lists behaviours without a case, and the
//     tests that prove reported problems fixed.
//   - A world is the environment of one behaviour: a namespace of a home, and the suite's own HTTP
//     server, which provides sources, registries and data for programs.
//
// Invariants:
//
//   - Behaviours are tested in parallel, so they share nothing but the home.
//   - No test sleeps: it watches until the expected state is reached. To show that something never
//     happens, it waits for something else that takes as long.
//   - Programs use only what is built into the tool: no downloads, no network.
//
// The homes are processes: the test binary also acts as the programs yuba and kube-apiserver when
// it is called by these names.
package conformance
