// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package badinput gives a real Yuba, with a real tofu, hundreds of stacks that are wrong in some way, and holds each of
// them to one law:
//
//   - it ends: it is refused, or its condition Ready says what is wrong and names the cause;
//   - it holds no lock, leaves no process, and takes no place of others;
//   - it can be deleted.
//
// A case is an entry of a file in corpus/: a program or other fields of the spec, objects that are there before it, and
// the words that the refusal or the condition must have. archives_test.go adds archives that no manifest can describe,
// and mutants_test.go programs that were damaged at random. Some cases look bad and are not: those must be applied.
//
//	go test ./test/badinput                       the corpus and a few mutants, about 2 minutes
//	make bad-input                                the long form, with 1000 mutants
//	go test ./test/badinput -mutants 100 -seed 7  mutants that were damaged in other ways
//	go test ./test/badinput -only output-         some of it
package badinput
