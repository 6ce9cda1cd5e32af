// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// environment is everything tofu finds in its environment. It is built from nothing: what the runner was started with
// does not reach it. A name of the runner's own cannot be replaced by the spec.
func (g *supervisor) environment() []string {
	w, spec, cell := g.site.space, &g.task.spec, g.cell()
	own := map[string]string{
		"PATH": tools.SystemPath,
		"HOME": g.task.walls.HomeOf(cell), "TMPDIR": g.task.walls.TempOf(cell), "LANG": "C.UTF-8",
		"TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "CHECKPOINT_DISABLE": "1",
		"TF_CLI_CONFIG_FILE": filepath.Join(w.Base, workspace.CLIConfigName),
	}
	if account := g.task.walls.Account(); account != "" { // there may be no list of users that has it
		own["USER"], own["LOGNAME"] = account, account
	}
	// A backend of the stack's own may have no workspace "default", as a cloud whose block names another.
	if !w.Own || w.Named != "default" {
		own["TF_WORKSPACE"] = w.Named
	}
	env := make([]string, 0, len(own)+len(spec.Env))
	for name, value := range own {
		env = append(env, name+"="+value)
	}
	for _, e := range spec.Env {
		if _, taken := own[e.Name]; !taken && e.Name != "" && e.Name != "TF_DATA_DIR" && e.Name != "TF_WORKSPACE" && !strings.ContainsAny(e.Name, "=\x00") && !strings.Contains(e.Value, "\x00") {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	slices.Sort(env)
	return env
}
