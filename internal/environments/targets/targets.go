// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package targets

import (
	_ "embed"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Target is a preset.
type Target struct {
	Name  string `yaml:"name" json:"name"`
	Title string `yaml:"title" json:"title"`
	// Storage, Bus and Compute are what stacks use there.
	Storage []string `yaml:"storage" json:"storage"`
	Bus     []string `yaml:"bus" json:"bus"`
	Compute string   `yaml:"compute" json:"compute"`
	// Providers are constraints by source.
	Providers map[string]string `yaml:"providers" json:"providers,omitempty"`
	// Identity says as whom workloads and the program act, without stored credentials.
	Identity string `yaml:"identity" json:"identity"`
	// Variables are those that a program for the target has, and the sentence about each.
	Variables     map[string]string `yaml:"variables" json:"variables,omitempty"`
	Prerequisites []Prerequisite    `yaml:"prerequisites" json:"prerequisites"`
}

// Prerequisite is something that must be there first.
type Prerequisite struct {
	// Kind is tool, credentials, api, right, quota or service.
	Kind string `yaml:"kind" json:"kind"`
	What string `yaml:"what" json:"what"`
	// Tool must be on PATH; it is the question if there is no command.
	Tool string `yaml:"tool" json:"tool,omitempty"`
	// Command asks. ${name} is the value of a variable. Wants must be in its answer.
	Command []string `yaml:"command" json:"command,omitempty"`
	Wants   string   `yaml:"wants" json:"wants,omitempty"`
	Remedy  string   `yaml:"remedy" json:"remedy"`
}

//go:embed presets.yaml
var presets []byte

// All are the presets.
var All = sync.OnceValue(func() []Target {
	var list []Target
	if err := yaml.Unmarshal(presets, &list); err != nil {
		panic(fmt.Sprintf("read the presets: %v. This is a bug in Yuba.", err))
	}
	return list
})

// Named returns a preset.
func Named(name string) (Target, bool) {
	for _, t := range All() {
		if t.Name == name {
			return t, true
		}
	}
	return Target{}, false
}

// Names are the names of the presets.
func Names() (names []string) {
	for _, t := range All() {
		names = append(names, t.Name)
	}
	return names
}

// Guess is the preset that fits the providers of a program best; empty for none. A program that runs in
// a cluster of a cloud has both providers.
func Guess(providers []string, modules []string) string {
	has := func(name string) bool {
		for _, p := range providers {
			if strings.HasSuffix("/"+p, "/"+name) {
				return true
			}
		}
		return false
	}
	calls := func(word string) bool {
		for _, m := range modules {
			if strings.Contains(m, word) {
				return true
			}
		}
		return false
	}
	kubernetes := has("kubernetes") || has("helm")
	switch {
	case has("google") && (kubernetes || calls("gke")):
		return "gke"
	case has("google"):
		return "cloud-run"
	case has("aws") && (kubernetes || calls("eks")):
		return "eks"
	case has("aws"):
		return "fargate"
	case kubernetes:
		return "kubernetes"
	}
	return "standalone"
}

var placeholder = regexp.MustCompile(`\$\{([a-z_]+)\}`)

// harmless values cannot be taken for an option, and mean nothing to a program but themselves.
var harmless = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@-]{0,255}$`)

// Ask fills the values of variables into the command. It fails if one is missing or not harmless.
func (p Prerequisite) Ask(values map[string]string) (command []string, err error) {
	for _, word := range p.Command {
		filled := placeholder.ReplaceAllStringFunc(word, func(found string) string {
			name := found[2 : len(found)-1]
			value, there := values[name]
			switch {
			case !there:
				err = fmt.Errorf("the variable %q has no value that can be read without tofu: set it in terraform.tfvars or with --var", name)
			case !harmless.MatchString(value):
				err = fmt.Errorf("the value of the variable %q has characters that no name there has", name)
			}
			return value
		})
		command = append(command, filled)
	}
	return command, err
}
