// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

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
	varFiles  []string
	// fromVarFiles are the variables that those assign.
	fromVarFiles map[string]module.Position
	files        []run.File
	cliConfig    []byte
	// secrets are texts to mask beside the values marked as secret.
	secrets []string
	// planLock and lockTimeout say how the tool treats the lock of an own backend. They change no plan.
	planLock    bool
	lockTimeout time.Duration
	warnings    []string
	// part is what of the source counts, joined what the files that join the root module read of the world.
	part   part
	joined []string
	// origins say where values come from.
	origins map[string]string
	// lent are the names that went from varsFrom into the environment, with what says their types.
	lent []string
	// digest covers all of this; whole is the same with the whole archive instead of its part, as earlier versions have
	// it, and empty when there is no difference.
	digest, whole string
}

// into writes the configuration into a run's spec.
func (c *configuration) into(s *run.Spec) {
	s.Artifact, s.Backend, s.Variables, s.Env = c.program.artifact, c.backend, c.variables, c.env
	s.VarFiles, s.Files, s.CLIConfig, s.Secrets = c.varFiles, c.files, c.cliConfig, c.secrets
	s.NoPlanLock, s.LockTimeout = !c.planLock, run.Duration(c.lockTimeout)
	if s.Part = nil; c.part.digest != "" {
		s.Part = &run.Part{Paths: slices.Concat(c.part.dirs, c.part.files), Digest: c.part.digest}
	}
}

// configProblem says what is wrong with a stack's inputs or program, for people.
type configProblem struct{ reason, message string }

func (p *configProblem) Error() string { return p.message }

// configure puts program and inputs together and checks that they fit. A *configProblem is the user's to solve.
func configure(obj *infrav1.Terraform, prog *program, in *inputs.Inputs) (*configuration, error) {
	if refused := refusedFields(&obj.Spec); refused != "" {
		return nil, &configProblem{infrav1.ReasonFieldNotSupported, refused}
	}
	c := &configuration{program: prog, variables: map[string]run.Variable{}, warnings: in.Warnings, origins: in.Origins}
	for _, part := range []func(*infrav1.Terraform, *inputs.Inputs) error{
		c.setBackend, c.setLocking, c.setFiles, c.setModule, c.setLent, c.setVariables, c.setPart,
	} {
		if err := part(obj, in); err != nil {
			return nil, err
		}
	}
	c.digest = c.sum(obj)
	if c.part.digest != "" {
		c.whole = c.sumWith(obj, c.program.artifact.Digest)
	}
	return c, nil
}

func (c *configuration) setBackend(obj *infrav1.Terraform, in *inputs.Inputs) error {
	backend, err := inputs.Backend(obj, in)
	if err != nil {
		return &configProblem{infrav1.ReasonInitFailed, err.Error()}
	}
	c.backend = run.Backend{Kind: run.BackendKind(backend.Kind), Override: backend.HCL}
	for _, s := range in.Settings {
		if c.backend.Settings == nil {
			c.backend.Settings = map[string]string{}
		}
		c.backend.Settings[s.Name] = s.Value.Reveal()
		if s.Secret {
			c.secrets = append(c.secrets, s.Value.Reveal())
		}
	}
	for _, e := range append(slices.Clone(in.Env), backend.Env...) {
		env := run.EnvVar{Name: e.Name, Value: e.Value.Reveal(), Secret: e.Secret}
		// What the backend needs wins over a name that the stack sets itself.
		c.env = append(slices.DeleteFunc(c.env, func(have run.EnvVar) bool { return have.Name == env.Name }), env)
	}
	return nil
}

// setLocking reads what the stack says about the lock of a backend of its own. Plans on the managed backend take none.
func (c *configuration) setLocking(obj *infrav1.Terraform, _ *inputs.Inputs) error {
	c.planLock = obj.Spec.Plan == nil || obj.Spec.Plan.Lock == nil || *obj.Spec.Plan.Lock
	if t := obj.Spec.TFState; t != nil && t.LockTimeout != "" {
		timeout, err := time.ParseDuration(t.LockTimeout)
		if err != nil || timeout < 0 {
			return &configProblem{infrav1.ReasonPlanFailed, fmt.Sprintf("spec.tfstate.lockTimeout: %q is no time to wait, such as 30s", t.LockTimeout)}
		}
		c.lockTimeout = timeout
	}
	return nil
}

func (c *configuration) setVariables(_ *infrav1.Terraform, in *inputs.Inputs) error {
	values := in.Values()
	for name := range values {
		// The tool takes the value of the last file of values, and the one here with its type does not count.
		if _, inFile := c.fromVarFiles[name]; inFile {
			delete(values, name)
		}
	}
	for _, name := range c.lent {
		delete(values, name)
	}
	m := c.program.module.WithAssigned(c.fromVarFiles)
	converted, problems, warnings := module.CheckVariables(m, values, append(in.EnvNames(), c.lent...)...)
	if len(problems) > 0 {
		return &configProblem{infrav1.ReasonVarsGenerationFailed, problems.Error()}
	}
	for name, value := range converted {
		declared := m.Variables[name]
		c.variables[name] = run.Variable{Value: value, Secret: in.Variables[name].Secret || declared != nil && declared.Sensitive}
	}
	if c.program.template == nil { // a template may use what the module does not declare
		c.warnings = append(c.warnings, warnings...)
	}
	for _, text := range in.Inserted {
		c.secrets = append(c.secrets, text.Reveal())
	}
	return nil
}

// sum is the configuration's digest. Values go in as they are: the digest is kept in the status, so it is salted with
// the object's UID to tell nobody whether two stacks share a password.
func (c *configuration) sum(obj *infrav1.Terraform) string {
	return c.sumWith(obj, cmp.Or(c.part.digest, c.program.artifact.Digest))
}

// sumWith is the digest with what counts of the source: its archive, or the part of it that can be read.
func (c *configuration) sumWith(obj *infrav1.Terraform, source string) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, part := range []any{
		"yuba configuration 1", obj.UID, source, cleanDir(obj.Spec.Path), obj.WorkspaceName(),
		c.backend, obj.StateSuffix(), c.variables, sortedEnv(c.env), obj.Spec.Targets, obj.Spec.Tool, obj.Spec.Destroy,
	} {
		encode(enc, part)
	}
	// Only what is there goes in: the digests of stacks without it stay what they were in earlier versions, and so do
	// their pending plans.
	if len(c.varFiles)+len(c.files)+len(c.cliConfig) > 0 {
		encode(enc, []any{c.varFiles, c.files, c.cliConfig})
	}
	// Who is to be asked about plans, and in which form they are to be kept, is found out with a plan.
	if hooks, form := activeWebhooks(obj), readableForm(obj); len(hooks) > 0 || form != "" {
		encode(enc, []any{"plans", obj.Spec.Webhooks, form})
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func encode(enc *json.Encoder, part any) {
	if err := enc.Encode(part); err != nil {
		panic(fmt.Sprintf("encode the configuration: %v. This is a bug in Yuba.", err))
	}
}

func sortedEnv(env []run.EnvVar) []run.EnvVar {
	sorted := slices.Clone(env)
	slices.SortStableFunc(sorted, func(a, b run.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return sorted
}

// refusedFields names the fields that this version does not honour although ignoring them could do harm: they say where
// the state is, what goes into the program or what must happen first. [infrav1.SupportOf] knows which these are.
func refusedFields(s *infrav1.TerraformSpec) string {
	return refusal(fieldNames(s, infrav1.SupportRefused))
}

func refusal(names []string) string {
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
