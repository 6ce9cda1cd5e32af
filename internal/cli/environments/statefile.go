// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"cmp"
	"encoding/json"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// localBackend is what tofu remembers of a backend "local".
type localBackend struct {
	Backend *struct {
		Type   string `json:"type"`
		Config struct {
			Path         string `json:"path"`
			WorkspaceDir string `json:"workspace_dir"`
		} `json:"config"`
	} `json:"backend"`
}

// stateFile is the path of the state of a program whose state is a file: of its workspace, and where its backend
// has it.
func (p *place) stateFile() (string, error) {
	var remembered localBackend
	text, err := fs.ReadFile(p.fsys, path.Join(p.env.Dir, ".terraform", "terraform.tfstate"))
	if err == nil {
		err = json.Unmarshal(text, &remembered)
	}
	name, workspaces := "terraform.tfstate", "terraform.tfstate.d"
	if p.module.Backend != nil {
		if err != nil || remembered.Backend == nil || remembered.Backend.Type != "local" {
			return "", ui.Exitf(ui.ExitRefused, "connect %s: where its state is cannot be known before tofu has configured its backend:\n    yuba env init %s", p.label(), p.label())
		}
		name, workspaces = cmp.Or(remembered.Backend.Config.Path, name), cmp.Or(remembered.Backend.Config.WorkspaceDir, workspaces)
	}
	workspace := p.env.Workspace
	if workspace == "" { // that of "tofu workspace select"
		selected, _ := fs.ReadFile(p.fsys, path.Join(p.env.Dir, ".terraform", "environment")) //nolint:errcheck // it need not be there
		workspace = strings.TrimSpace(string(selected))
	}
	if workspace != "" && workspace != "default" {
		name = filepath.Join(workspaces, workspace, "terraform.tfstate")
	}
	if filepath.IsAbs(name) {
		return name, nil
	}
	return filepath.Join(p.dir(), name), nil
}
