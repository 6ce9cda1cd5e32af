// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// processors limits the processors of a Go program. This program is started with one, which costs a
// third less; its program gets the value of restored, or none.
const (
	processors = "GOMAXPROCS="
	restored   = "YUBA_PROGRAM_" + processors
)

// programEnvironment is the environment of the program, made from that of this one.
func programEnvironment(env []string) []string {
	value, found := "", false
	for _, e := range env {
		if v, ok := strings.CutPrefix(e, restored); ok {
			value, found = v, true
		}
	}
	if !found {
		return env
	}
	program := make([]string, 0, len(env))
	for _, e := range env {
		if !strings.HasPrefix(e, processors) && !strings.HasPrefix(e, restored) {
			program = append(program, e)
		}
	}
	if value != "" {
		program = append(program, processors+value)
	}
	return program
}

// relayEnvironment is that of the relay of a person's shell, as package confinement has it for other
// programs. The person's has credentials, and the relay reads packets of hostile programs.
func relayEnvironment() []string { return []string{"GOMEMLIMIT=256MiB", processors + "1", restored} }
