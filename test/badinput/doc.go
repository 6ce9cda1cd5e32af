// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package badinput gives a real Yuba, with a real tofu, hundreds of incorrect stacks, and requires
// of each that
//
//   - it ends: it is refused, or its condition Ready says what is wrong and names the cause;
//   - it holds no lock, leaves no process, and blocks no other stack;
//   - it can be deleted.
//
// A case is an entry of a file in corpus/: a program or other fields of the spec, objects that
// exist before it, and the required words of the refusal or condition. archives_test.go adds
// archives that no manifest can describe, and mutants_test.go programs with random damage. Some
// cases only look incorrect: those must be applied.
//
//	go test ./test/badinput                       the corpus and a few mutants, about 2 minutes
//	make bad-input                                the long form, with 1000 mutants
//	go test ./test/badinput -mutants 100 -seed 7  mutants with other damage
//	go test ./test/badinput -only output-         some of the cases
package badinput
