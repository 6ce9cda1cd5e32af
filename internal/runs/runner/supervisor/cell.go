// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
	"github.com/yuba-dev/yuba/internal/runs/runner/meter"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Cell is what tofu has access to.
func (g *Supervisor) Cell() confinement.Cell {
	w := g.site.Space
	executable := append([]string{w.Tool.Path}, fetch.SystemExecutable...)
	executable = append(executable, g.Mirrors()...)
	home := filepath.Join(w.Base, workspace.HomeDir) // also at its own path, which is next to the working directory
	return confinement.Cell{
		User: w.Record.User, Dir: w.Dir, Home: home, Temp: w.Temp, Mark: confinement.Mark(g.run.ID),
		Writable:   append([]string{filepath.Join(w.Base, workspace.SourceDir), filepath.Join(w.Base, workspace.PlanDir), home}, fetch.SystemWritable...),
		Executable: executable,
		Readable:   append([]string{filepath.Join(w.Base, workspace.CLIConfigName), filepath.Join(w.Base, workspace.GivenDir)}, fetch.SystemReadable...),
		NoNetwork:  g.run.Spec.Limits.Network == run.NoNetwork, Listen: g.run.Spec.Limits.Listen,
		Limits: meter.ProcessLimits(g.run.Spec.Limits, g.run.Walls), Background: true,
	}
}

// Environment builds tofu's environment. It has nothing of the runner's own environment, and the spec
// cannot replace the names that the runner sets.
func (g *Supervisor) Environment() []string {
	w, spec, cell := g.site.Space, &g.run.Spec, g.Cell()
	own := map[string]string{
		"PATH": tools.SystemPath,
		"HOME": g.run.Walls.HomeOf(cell), "TMPDIR": g.run.Walls.TempOf(cell), "LANG": "C.UTF-8",
		"TF_IN_AUTOMATION": "1", "TF_INPUT": "0", "CHECKPOINT_DISABLE": "1",
		"TF_CLI_CONFIG_FILE": filepath.Join(w.Base, workspace.CLIConfigName),
	}
	if account := g.run.Walls.Account(); account != "" { // /etc/passwd may not have it
		own["USER"], own["LOGNAME"] = account, account
	}
	// A stack's own backend may not have a workspace "default".
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
