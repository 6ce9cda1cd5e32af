// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// tofu and its providers are short-lived Go programs. Go's defaults suit long-running ones: garbage
// collection takes a third of a small plan's CPU. economy lets garbage grow while memory is ample
// and shares the cores between active runs. A stack's environment overrides it.

const (
	// memoryAtEase is the memory per run that lets garbage grow to four times the live heap.
	memoryAtEase = 4 << 30
	// memoryEnough lets it grow to twice the live heap.
	memoryEnough = 2 << 30
)

// economy returns these variables, for one of working runs, with at most capacity at once.
func economy(working, capacity, cores int, memory uint64) map[string]string {
	env := map[string]string{"GOMAXPROCS": strconv.Itoa(max(1, cores/max(1, working)))}
	each := memory / uint64(max(1, capacity)) //nolint:gosec // above zero
	switch {
	case each >= memoryAtEase:
		env["GOGC"] = "400"
	case each >= memoryEnough:
		env["GOGC"] = "200"
	default:
		return env
	}
	env["GOMEMLIMIT"] = strconv.FormatUint(each/2, 10)
	return env
}

// Economic adds economy to an environment, except for variables that it already has.
func Economic(env []string, working, capacity int) []string {
	for name, value := range economy(working, capacity, runtime.NumCPU(), machineMemory()) {
		named := func(e string) bool { return strings.HasPrefix(e, name+"=") }
		if !slices.ContainsFunc(env, named) {
			env = append(env, name+"="+value)
		}
	}
	return env
}
