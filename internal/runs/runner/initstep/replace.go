// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package initstep

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// A speculative run works with another version of one module. The tool checks that its list of
// modules fits the calls, so the calls change, too: an override file beside each caller, in the
// working copy of that run, names the exact version.

// replaceName sorts last, so that no other override file wins.
const replaceName = "zzz_yuba_try_override.tf"

// replaced returns the calls of the module in dir with the replacement, and writes the override.
// Other modules keep the version that the stack has.
func (m *moduleWalk) replaced(dir, key string, calls map[string]module.Call) (map[string]module.Call, error) {
	want := m.step.run.Spec.Replace
	if want == nil {
		return calls, nil
	}
	calls = maps.Clone(calls)
	var override strings.Builder
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		call, place := calls[name], strings.TrimPrefix(key+"."+name, ".")
		if !want.Of(call.Source, m.step.site.Space.Tool.Name) {
			if version := m.step.run.Spec.Resolved[place]; version != "" && call.Version != "" && !m.inReplaced(place) {
				call.Version = version
				calls[name] = call
			}
			continue
		}
		call.Version = want.Version
		calls[name] = call
		fmt.Fprintf(&override, "module %q {\n  source  = %q\n  version = %q\n}\n", name, call.Source, call.Version)
		m.step.run.Result.Replaced++
		m.replacedAt = append(m.replacedAt, place+".")
	}
	if override.Len() == 0 {
		return calls, nil
	}
	return calls, m.step.site.Space.Write(path.Join(workspace.SourceDir, dir, replaceName), []byte(override.String()))
}

// inReplaced reports whether a call is in the replaced module, whose own calls are resolved anew.
func (m *moduleWalk) inReplaced(place string) bool {
	return slices.ContainsFunc(m.replacedAt, func(prefix string) bool { return strings.HasPrefix(place, prefix) })
}
