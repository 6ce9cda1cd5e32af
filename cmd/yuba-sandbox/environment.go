// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// processors is the variable that says on how many processors a Go program works. This program is asked to start on one,
// where it costs a third less; the program that it becomes gets the value that restored has, or none.
const (
	processors = "GOMAXPROCS="
	restored   = "YUBA_PROGRAM_" + processors
)

// programEnvironment is the environment of the program, given that of this one.
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
