// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// setPart finds the relevant part for this stack, whose inputs may lead out of the module's part.
func (c *Configuration) setPart(_ *infrav1.Terraform, _ *inputs.Inputs) error {
	c.part = c.program.part
	if c.part.digest != "" {
		if elsewhere := c.leadsElsewhere(); elsewhere != "" {
			c.part.digest, c.part.why = "", elsewhere
		}
	}
	return nil
}

// leadsElsewhere names an input that may be a path out of the part; empty for none.
func (c *Configuration) leadsElsewhere() string {
	for _, name := range c.part.variables {
		value, given := c.variables[name]
		_, inFile := c.fromVarFiles[name]
		_, beside := c.program.module.Assigned[name]
		var text string
		if !given || inFile || beside || json.Unmarshal(value.Value, &text) != nil || !plainName(text) {
			return fmt.Sprintf("which files are read depends on var.%s", name)
		}
	}
	for name, v := range c.variables {
		if module.LeavesDirectory(string(v.Value)) {
			return fmt.Sprintf("the value of var.%s may be a path out of its directory", name)
		}
	}
	for _, e := range c.env {
		if module.LeavesDirectory(e.Value) || strings.HasPrefix(e.Name, "TF_VAR_") && slices.Contains(c.part.variables, strings.TrimPrefix(e.Name, "TF_VAR_")) {
			return fmt.Sprintf("the environment variable %s may be a path out of its directory", e.Name)
		}
	}
	for _, f := range c.files {
		if f.Location == run.FileInModule || module.LeavesDirectory(string(f.Content)) {
			return fmt.Sprintf("the file %s is written into its directory, or may contain a path out of it", f.Path)
		}
	}
	for name, value := range c.backend.Settings {
		if module.LeavesDirectory(value) {
			return fmt.Sprintf("the backend setting %s may be a path out of its directory", name)
		}
	}
	if module.LeavesDirectory(c.backend.Override) || module.LeavesDirectory(string(c.cliConfig)) {
		return "the backend or the CLI configuration may contain a path out of its directory"
	}
	return ""
}

// plainName reports whether a text is a single path element.
func plainName(text string) bool {
	return text != "" && text != "." && text != ".." && !strings.ContainsAny(text, "/\\~\x00")
}

// Reading names the external data that a program reads while planning; empty for none.
func (c *Configuration) Reading() string {
	world := slices.Concat(c.part.world, c.joined)
	switch len(world) {
	case 0:
		return ""
	case 1:
		return world[0]
	}
	return fmt.Sprintf("%s and %d more", world[0], len(world)-1)
}

// DependOn adds the dependencies' outputs, each as "name=digest", to the configuration: a stack may
// read them in hidden ways, such as from the other's state.
func (c *Configuration) DependOn(outputs []string) {
	c.outputs = outputs
	c.Digest = withOutputs(c.Digest, outputs)
	if c.Whole != "" {
		c.Whole = withOutputs(c.Whole, outputs)
	}
}

func withOutputs(digest string, outputs []string) string {
	if len(outputs) == 0 {
		return digest
	}
	h := sha256.New()
	fmt.Fprintln(h, digest)
	for _, output := range outputs {
		fmt.Fprintln(h, output)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Inputs is the configuration's share of a run's record, besides the spec.
func (c *Configuration) Inputs() *run.Inputs {
	in := &run.Inputs{Part: c.part.digest, Dirs: c.part.dirs, Whole: c.part.why, Unsettled: c.part.unsettled}
	if in.MayBe() == "" {
		in.Dirs = nil
	}
	for _, output := range c.outputs {
		if in.Outputs == nil {
			in.Outputs = map[string]string{}
		}
		name, digest, _ := strings.Cut(output, "=")
		in.Outputs[name] = digest
	}
	return in
}

// Proof lists the dependencies of the configuration.
func (c *Configuration) Proof() *run.Proof {
	if c.part.digest == "" {
		return &run.Proof{Whole: c.part.why, World: c.Reading()}
	}
	return &run.Proof{Dirs: slices.Concat(c.part.dirs, c.part.files), World: c.Reading()}
}

// RequiredProviders are the sources of the providers that the root module names.
func (c *Configuration) RequiredProviders() []string {
	var sources []string
	for name, required := range c.program.module.RequiredProviders {
		sources = append(sources, cmp.Or(required.Source, "hashicorp/"+name))
	}
	return sources
}
