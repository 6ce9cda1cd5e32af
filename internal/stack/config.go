// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/inputs"
	"github.com/yuba-dev/yuba/internal/module"
	"github.com/yuba-dev/yuba/internal/run"
)

// configuration is everything that decides what a plan says, apart from the world.
type configuration struct {
	program   *program
	variables map[string]run.Variable
	env       []run.EnvVar
	backend   run.Backend
	warnings  []string
	digest    string
}

// configProblem says what is wrong with a stack's inputs or program, for people.
type configProblem struct{ reason, message string }

func (p *configProblem) Error() string { return p.message }

// configure puts program and inputs together and checks that they fit. A *configProblem is the user's to solve.
func configure(obj *infrav1.Terraform, prog *program, in *inputs.Inputs) (*configuration, error) {
	if refused := refusedFields(&obj.Spec); refused != "" {
		return nil, &configProblem{infrav1.ReasonFieldNotSupported, refused}
	}
	if prog.template {
		return nil, &configProblem{infrav1.ReasonFieldNotSupported, "The source has a main.tf.tpl, which this version does not render yet, " +
			"and leaving out what it declares could destroy that. Nothing runs"}
	}
	if err := prog.diags.AsError(); err != nil {
		return nil, &configProblem{infrav1.ReasonInitFailed, err.Error()}
	}
	backend, err := inputs.Backend(&obj.Spec)
	if err != nil {
		return nil, &configProblem{infrav1.ReasonInitFailed, err.Error()}
	}
	converted, problems, warnings := module.CheckVariables(prog.module, in.Values(), in.EnvNames()...)
	if len(problems) > 0 {
		return nil, &configProblem{infrav1.ReasonVarsGenerationFailed, problems.Error()}
	}
	c := &configuration{program: prog, variables: map[string]run.Variable{}, warnings: append(warnings, in.Warnings...),
		backend: run.Backend{Kind: run.BackendKind(backend.Kind), Override: backend.HCL}}
	for name, value := range converted {
		declared := prog.module.Variables[name]
		c.variables[name] = run.Variable{Value: value, Secret: in.Variables[name].Secret || declared != nil && declared.Sensitive}
	}
	for _, e := range in.Env {
		c.env = append(c.env, run.EnvVar{Name: e.Name, Value: e.Value.Reveal(), Secret: e.Secret})
	}
	c.digest = c.sum(obj)
	return c, nil
}

// sum is the configuration's digest. Values go in as they are: the digest is kept in the status, so it is salted with
// the object's UID to tell nobody whether two stacks share a password.
func (c *configuration) sum(obj *infrav1.Terraform) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, part := range []any{
		"yuba configuration 1", obj.UID, c.program.artifact.Digest, cleanDir(obj.Spec.Path), obj.WorkspaceName(),
		c.backend, obj.StateSuffix(), c.variables, sortedEnv(c.env), obj.Spec.Targets, obj.Spec.Tool, obj.Spec.Destroy,
	} {
		if err := enc.Encode(part); err != nil {
			panic(fmt.Sprintf("encode the configuration: %v. This is a bug in Yuba.", err))
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func sortedEnv(env []run.EnvVar) []run.EnvVar {
	sorted := slices.Clone(env)
	slices.SortStableFunc(sorted, func(a, b run.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

// refusedFields names the fields that this version does not honour although ignoring them could do harm: they say where
// the state is, what goes into the program or what must happen first. [infrav1.SupportOf] knows which these are.
func refusedFields(s *infrav1.TerraformSpec) string {
	names := fieldNames(s, infrav1.SupportRefused)
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("This version does not honour %s yet, and ignoring that could do harm. Nothing runs", sentence(names))
}

// ignoredFields says which fields have no effect and do no harm by it.
func ignoredFields(s *infrav1.TerraformSpec) []string {
	var warnings []string
	for _, name := range fieldNames(s, infrav1.SupportIgnored) {
		warnings = append(warnings, name+" has no effect yet")
	}
	if names := fieldNames(s, infrav1.SupportPods); len(names) > 0 {
		warnings = append(warnings, "Runs are processes here, not Pods. Without effect, because about Pods only: "+sentence(names))
	}
	return warnings
}

func fieldNames(s *infrav1.TerraformSpec, support infrav1.Support) []string {
	var names []string
	for _, field := range s.Unsupported(support) {
		names = append(names, field.Name())
	}
	return names
}

func sentence(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
