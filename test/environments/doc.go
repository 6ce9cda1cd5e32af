// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package environments tests "yuba env" and "yuba new" as a person uses them: the installed program, real
// tofu, and the library in examples/environments. Providers of clouds are stand-ins (test/standin).
package environments
