// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// tofu and its providers are Go programs that live for a moment. By themselves they collect their garbage as if they
// were to run for days, on as many cores as there are, which is a third of what a small plan costs. economy tells them
// otherwise: to let garbage gather where the machine has the memory, and to share the cores with the other runs at
// work. A run alone has them all. A program that has much in use lets less gather, before the machine has to end it. A
// stack's own environment overrides each of these.

const (
	// memoryAtEase is what each run can have, with its providers, when garbage may grow to four times what is in use.
	memoryAtEase = 4 << 30
	// memoryEnough is the same for twice of it.
	memoryEnough = 2 << 30
)

// economy is that part of the environment, for one of so many runs at work out of so many that there may be.
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

// Economic adds economy to an environment, but for names that the environment has itself.
func Economic(env []string, working, capacity int) []string {
	for name, value := range economy(working, capacity, runtime.NumCPU(), machineMemory()) {
		named := func(e string) bool { return strings.HasPrefix(e, name+"=") }
		if !slices.ContainsFunc(env, named) {
			env = append(env, name+"="+value)
		}
	}
	return env
}
