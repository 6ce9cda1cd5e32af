// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/run"
)

// A state may need providers that the program does not need any more: what is to be destroyed was made by them. init
// knows that only if it sees the state, which is placed after it (see steps); so where one is missing init runs again.

// stateProvider finds the provider of a resource in a state: "provider[\"HOST/NAMESPACE/TYPE\"].alias", after the module
// that it was configured in, if any.
var stateProvider = regexp.MustCompile(`"provider"\s*:\s*"[^"\\]*provider\[\\"([^"\\]+)\\"\]`)

// builtIn is the host of the providers that are part of the tool.
const builtIn = "terraform.io/builtin/"

// missingProviders are the providers of a state that the lock file does not have. In an encrypted state there are none to
// be seen. One of terraform's registry is as good in OpenTofu's: tofu takes the one for the other.
func missingProviders(state, lockFile []byte) []string {
	var missing []string
	locked := func(name string) bool { return strings.Contains(string(lockFile), `provider "`+name+`"`) }
	for _, m := range stateProvider.FindAllSubmatch(state, -1) {
		name := string(m[1])
		rest, ofTerraform := strings.CutPrefix(name, "registry.terraform.io/")
		if strings.HasPrefix(name, builtIn) || slices.Contains(missing, name) || locked(name) || ofTerraform && locked("registry.opentofu.org/"+rest) {
			continue
		}
		missing = append(missing, name)
	}
	return missing
}

// initForState runs init with the state in its sight, when that needs providers which nothing else does.
func (j *job) initForState(ctx context.Context, state []byte) error {
	w := j.space
	switch j.spec.Operation {
	case run.OperationPlan, run.OperationPlanAndApply, run.OperationApply:
	default: // a provider that is nowhere to be had any more may be why somebody changes the state by hand
		return nil
	}
	lockFile, _ := w.read(w.inModule(lockFileTF), maxLockFile) // without one all are missing
	missing := missingProviders(state, lockFile)
	if !slices.ContainsFunc(missing, func(name string) bool { return !slices.Contains(w.record.NotNeeded, name) }) {
		return nil
	}
	j.log.note("Init: again, because resources in the state need providers that the program does not: %s", strings.Join(missing, ", "))
	j.result.Init, j.replayed = run.InitRan, ""
	args := []string{"init", "-input=false", "-no-color"}
	if w.tool.jsonInit() {
		args = append(args, "-json")
	}
	// What init knows of the backend stays: it is the same, and so there is no state to move.
	err := j.initCommand(ctx, false, args...)
	if err == nil {
		lockFile, _ = w.read(w.inModule(lockFileTF), maxLockFile)
		err = j.recordInit()
		w.record.NotNeeded = missingProviders(state, lockFile)
		err = errors.Join(err, w.save())
	}
	var f *failure
	if errors.As(err, &f) && f.step == "" {
		f.step = run.StepInit
	}
	return err
}
