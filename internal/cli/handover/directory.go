// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// The names of files that the command writes.
const (
	programDir   = "program"
	cardName     = "handover.json"
	readmeName   = "README.md"
	envName      = "environment"
	rcName       = "tofu.rc"
	backendName  = "yuba_backend_override.tf"
	tfvarsName   = "generated.auto.tfvars.json"
	secretsName  = "secret.auto.tfvars.json"
	stateName    = "terraform.tfstate"
	lockFileName = ".terraform.lock.hcl"
	// disarmedName makes every command of tofu fail after a take-back: it cannot be parsed. A required
	// version is not enough, as not every build of tofu checks it.
	disarmedName = "yuba_taken_back.tf"
)

// localBackend wins over a backend that the program names: the run that Yuba made used it as well.
const localBackend = "# Yuba kept the state; now it is in the file below. To use another backend, replace this block and run: tofu init -migrate-state\n" +
	"terraform {\n  backend \"local\" {\n    path = \"terraform.tfstate\"\n  }\n}\n"

// card identifies a directory. It has no secrets.
type card struct {
	moving.Handover
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Home      string `json:"home"`
	Module    string `json:"module"`
	Tool      string `json:"tool"`
	Workspace string `json:"workspace"`
	// Withheld are secrets that the owner has to provide.
	Withheld []string `json:"withheld,omitempty"`
}

// directory is a directory that is being written.
type directory struct {
	path    string
	secrets bool
	card    card
}

// module is the root module.
func (d *directory) module() string {
	return filepath.Join(d.path, programDir, filepath.FromSlash(d.card.Module))
}

// write writes everything beside the program.
func (d *directory) write(c *content) error {
	spec := &c.record.Spec
	if !filepath.IsLocal(cmp.Or(spec.Path, ".")) {
		return fmt.Errorf("its path %q leaves the program", spec.Path)
	}
	d.card.Module, d.card.Workspace = filepath.ToSlash(filepath.Clean(spec.Path)), cmp.Or(spec.Workspace, "default")
	if spec.Path == "" {
		d.card.Module = "."
	}
	d.card.Tool = cmp.Or(spec.Tool.Name, "tofu")
	if c.file != nil {
		d.card.Tool += " " + c.file.TerraformVersion
	}
	for _, step := range []func(*content) error{d.writeBackend, d.writeVariables, d.writeVarFiles, d.writeFiles, d.writeEnvironment} {
		if err := step(c); err != nil {
			return err
		}
	}
	if len(c.lockFile) > 0 {
		return d.replace(filepath.Join(d.module(), lockFileName), c.lockFile)
	}
	return nil
}

// replace writes a file that only its owner reads, through no symbolic link of the program.
func (d *directory) replace(name string, data []byte) error {
	root, err := os.OpenRoot(d.path)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // read only
	rel, err := filepath.Rel(d.path, name)
	if err != nil {
		return err
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return err
	}
	if err := root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return root.WriteFile(rel, data, 0o600)
}

func (d *directory) writeBackend(c *content) error {
	if c.stack.KeepsOwnState() {
		if text := c.record.Spec.Backend.Override; text != "" {
			return d.replace(filepath.Join(d.module(), backendName), []byte(text))
		}
		return nil
	}
	return d.replace(filepath.Join(d.module(), backendName), []byte(localBackend))
}

// writeState gives the directory its state, where tofu keeps that of the workspace.
func (d *directory) writeState(c *content) error {
	if c.state == nil {
		return nil
	}
	return d.replace(d.statePath(), c.state)
}

func (d *directory) statePath() string {
	if d.card.Workspace == "default" {
		return filepath.Join(d.module(), stateName)
	}
	return filepath.Join(d.module(), stateName+".d", d.card.Workspace, stateName)
}

func (d *directory) writeVariables(c *content) error {
	open, secret := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, v := range c.record.Spec.Variables {
		switch {
		case !v.Secret:
			open[name] = v.Value
		case d.secrets:
			secret[name] = v.Value
		default:
			d.withhold("variable " + name + ", in " + secretsName)
		}
	}
	for name, values := range map[string]map[string]json.RawMessage{tfvarsName: open, secretsName: secret} {
		if len(values) == 0 {
			continue
		}
		text, err := json.MarshalIndent(values, "", "  ")
		if err != nil {
			return err
		}
		if err := d.replace(filepath.Join(d.module(), name), append(text, '\n')); err != nil {
			return err
		}
	}
	return nil
}

func (d *directory) withhold(what string) { d.card.Withheld = append(d.card.Withheld, what) }

// writeVarFiles copies the stack's own tfvars files to names that tofu loads by itself, after the
// generated ones and in their order.
func (d *directory) writeVarFiles(c *content) error {
	root, err := os.OpenRoot(filepath.Join(d.path, programDir))
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // read only
	for i, name := range c.record.Spec.VarFiles {
		data, err := root.ReadFile(filepath.Clean(name))
		if err != nil {
			return fmt.Errorf("read %s of the program: %w", name, err)
		}
		ending := ".auto.tfvars"
		if strings.HasSuffix(name, ".json") {
			ending += ".json"
		}
		if err := d.replace(filepath.Join(d.module(), fmt.Sprintf("yuba-%02d%s", i, ending)), data); err != nil {
			return err
		}
	}
	return nil
}

func (d *directory) writeFiles(c *content) error {
	for _, f := range c.record.Spec.Files {
		if !filepath.IsLocal(f.Path) {
			return fmt.Errorf("its file %q leaves its directory", f.Path)
		}
		dir, where := d.module(), "the root module"
		if f.Location == run.FileInHome {
			dir, where = filepath.Join(d.path, "home"), "the home directory of tofu"
		}
		if f.Secret && !d.secrets {
			d.withhold("file " + f.Path + ", in " + where)
			continue
		}
		if err := d.replace(filepath.Join(dir, filepath.FromSlash(f.Path)), f.Content); err != nil {
			return err
		}
	}
	return nil
}

// writeEnvironment writes what a shell sources.
func (d *directory) writeEnvironment(c *content) error {
	var b bytes.Buffer
	b.WriteString("# The environment of the last apply. Use it with: set -a; . ./" + envName + "; set +a\n")
	for _, e := range c.record.Spec.Env {
		if e.Secret && !d.secrets {
			d.withhold("environment variable " + e.Name)
			fmt.Fprintf(&b, "# %s=    (secret: provide it)\n", e.Name)
			continue
		}
		fmt.Fprintf(&b, "%s=%s\n", e.Name, shell.Quote(e.Value))
	}
	if d.card.Workspace != "default" {
		fmt.Fprintf(&b, "TF_WORKSPACE=%s\n", shell.Quote(d.card.Workspace))
	}
	if len(c.record.Spec.CLIConfig) > 0 {
		if d.secrets {
			if err := d.replace(filepath.Join(d.path, rcName), c.record.Spec.CLIConfig); err != nil {
				return err
			}
		} else {
			d.withhold("the tool's own configuration file (TF_CLI_CONFIG_FILE)")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.record.Spec.Backend.Settings)) {
		d.withhold("setting " + name + " of the backend (tofu init -backend-config)")
	}
	return d.replace(filepath.Join(d.path, envName), b.Bytes())
}

// finish writes what people and take-back read.
func (d *directory) finish(readme string) error {
	if err := d.replace(filepath.Join(d.path, readmeName), []byte(readme)); err != nil {
		return err
	}
	text, err := json.MarshalIndent(d.card, "", "  ")
	if err != nil {
		return err
	}
	return d.replace(filepath.Join(d.path, cardName), append(text, '\n'))
}

// readCard reads the card of a directory.
func readCard(path string) (card, error) {
	var c card
	data, err := os.ReadFile(filepath.Join(path, cardName))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read %s: %w", filepath.Join(path, cardName), err)
	}
	if !filepath.IsLocal(cmp.Or(c.Module, ".")) || !filepath.IsLocal(cmp.Or(c.Workspace, "default")) {
		return c, fmt.Errorf("read %s: it names a path that leaves its directory", filepath.Join(path, cardName))
	}
	return c, nil
}
