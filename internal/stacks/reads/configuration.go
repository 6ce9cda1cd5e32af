// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Configuration has all inputs of a plan except the real infrastructure.
type Configuration struct {
	// Digest covers the configuration. Whole is the same digest over the whole archive, as earlier
	// versions recorded it; empty if the stack reads the whole archive.
	Digest, Whole string
	// Settled is Digest once the program's remote modules are settled; empty if it has none, or if
	// the whole archive counts anyway.
	Settled  string
	Warnings []string
	// Origins say where values come from.
	Origins map[string]string

	program   *Program
	variables map[string]run.Variable
	env       []run.EnvVar
	backend   run.Backend
	// location says where the backend keeps the state. It is derived, so no digest covers it.
	location string
	varFiles []string
	// fromVarFiles are the variables assigned in files of values.
	fromVarFiles map[string]module.Position
	files        []run.File
	cliConfig    []byte
	// secrets are texts to mask besides values marked as secret.
	secrets []string
	// open are variables, and "env NAME", from Secrets that are known not to be secret. The digest
	// ignores that, so learning it causes no plan.
	open map[string]bool
	// identities are tokens of the stack's service account, serviceAccount. It reads the registry.
	identities     []run.Identity
	serviceAccount string
	// planLock and lockTimeout are for locks of a custom backend. They do not change plans.
	planLock    bool
	lockTimeout time.Duration
	// part is the relevant part of the source; joined names external data that joining files read.
	part   part
	joined []string
	// lent has the names of varsFrom that are in the environment, with their types.
	lent []string
	// outputs are digests of the dependencies' outputs, as "name=digest".
	outputs []string
}

// Into writes the configuration into a run's spec.
func (c *Configuration) Into(s *run.Spec) {
	s.Artifact, s.Backend = c.program.artifact, c.backend
	s.Backend.Location = c.location
	s.Variables, s.Env = c.opened()
	s.VarFiles, s.Files, s.CLIConfig, s.Secrets = c.varFiles, c.files, c.cliConfig, c.secrets
	s.Identities, s.ServiceAccount = c.identities, c.serviceAccount
	s.NoPlanLock, s.LockTimeout = !c.planLock, run.Duration(c.lockTimeout)
	// A lost working directory may be created again with modules that read more of the source.
	if s.Part = nil; c.part.digest != "" && !c.part.loose {
		s.Part = &run.Part{Paths: slices.Concat(c.part.dirs, c.part.files), Digest: c.part.digest}
	}
}

// Encrypts reports whether tofu encrypts the state: then only tofu can read its outputs.
func (c *Configuration) Encrypts() bool {
	return c.program.module.Encrypted ||
		slices.ContainsFunc(c.env, func(e run.EnvVar) bool { return e.Name == "TF_ENCRYPTION" && e.Value != "" })
}

// StateLocation says where the backend keeps the state, see [inputs.BackendConfig.Location].
func (c *Configuration) StateLocation() string { return c.location }

// Outputs are the names of the outputs that the program declares, sorted.
func (c *Configuration) Outputs() []string {
	return slices.Sorted(maps.Keys(c.program.module.Outputs))
}

// opened returns variables and environment for runs, without marks on values that are known not to
// be secret.
func (c *Configuration) opened() (map[string]run.Variable, []run.EnvVar) {
	if len(c.open) == 0 {
		return c.variables, c.env
	}
	variables, env := maps.Clone(c.variables), slices.Clone(c.env)
	for name, v := range variables {
		v.Open = v.Secret && c.open[name]
		v.Secret = v.Secret && !v.Open
		variables[name] = v
	}
	for i := range env {
		env[i].Open = env[i].Secret && c.open["env "+env[i].Name]
		env[i].Secret = env[i].Secret && !env[i].Open
	}
	return variables, env
}

// Problem is an error in a stack's inputs or program. It is passing if a controller may correct it,
// because the inputs come from that controller's object; otherwise a person must.
type Problem struct {
	Reason, Message string
	Passing         bool
}

func (p *Problem) Error() string { return p.Message }

// Configure combines program and inputs, and checks them. A *Problem is for the user to solve.
func Configure(obj *infrav1.Terraform, prog *Program, in *inputs.Inputs) (*Configuration, error) {
	if refused := refusedFields(&obj.Spec); refused != "" {
		return nil, &Problem{Reason: infrav1.ReasonFieldNotSupported, Message: refused}
	}
	c := &Configuration{program: prog, variables: map[string]run.Variable{}, open: map[string]bool{}, Warnings: in.Warnings, Origins: in.Origins}
	for _, part := range []func(*infrav1.Terraform, *inputs.Inputs) error{
		c.setBackend, c.setLocking, c.setFiles, c.setModule, c.setLent, c.setVariables, c.setPart,
	} {
		if err := part(obj, in); err != nil {
			return nil, err
		}
	}
	if err := c.setIdentities(obj); err != nil {
		return nil, err
	}
	c.Digest = c.sum(obj)
	if c.part.digest != "" {
		c.Whole = c.sumWith(obj, c.program.artifact.Digest)
	}
	return c, nil
}

// vagueLocation warns that a new password looks like another place.
const vagueLocation = "a setting of the backend may have a password where Yuba does not expect one, so the place of the state is not understood. When " +
	"the setting changes, the stack stops until somebody says whether the place is another one. Set credentials in the environment, and only the place in the setting"

func (c *Configuration) setBackend(obj *infrav1.Terraform, in *inputs.Inputs) error {
	backend, err := inputs.Backend(obj, in)
	if err != nil {
		return &Problem{infrav1.ReasonInitFailed, err.Error(), in.MayChange}
	}
	c.backend = run.Backend{Kind: run.BackendKind(backend.Kind), Override: backend.HCL}
	c.location = backend.Location(in.Settings, in.Conceal)
	if inputs.Vague(c.location) {
		c.Warnings = append(slices.Clip(c.Warnings), vagueLocation)
	}
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
		c.open["env "+e.Name] = e.Open
		// The backend's own variables take precedence.
		c.env = append(slices.DeleteFunc(c.env, func(have run.EnvVar) bool { return have.Name == env.Name }), env)
	}
	return nil
}

// setLocking reads the lock settings of a custom backend. Other plans take no lock.
func (c *Configuration) setLocking(obj *infrav1.Terraform, _ *inputs.Inputs) error {
	c.planLock = obj.Spec.Plan == nil || obj.Spec.Plan.Lock == nil || *obj.Spec.Plan.Lock
	if t := obj.Spec.TFState; t != nil && t.LockTimeout != "" {
		timeout, err := time.ParseDuration(t.LockTimeout)
		if err != nil || timeout < 0 {
			return &Problem{Reason: infrav1.ReasonPlanFailed, Message: fmt.Sprintf("spec.tfstate.lockTimeout: %q is not a duration such as 30s", t.LockTimeout)}
		}
		c.lockTimeout = timeout
	}
	return nil
}

func (c *Configuration) setVariables(obj *infrav1.Terraform, in *inputs.Inputs) error {
	values := in.Values()
	for name := range values {
		// The tool uses the value in the file, even if ours has another type.
		if at, inFile := c.fromVarFiles[name]; inFile && in.Consumes(name) {
			return &Problem{Reason: infrav1.ReasonContractMisfit, Message: fmt.Sprintf(
				"spec.consumes sets the variable %s, and so does %s, a file of spec.tfVarsFiles, which would win. Remove it from one of them", name, at)}
		} else if inFile {
			delete(values, name)
		}
	}
	for _, name := range c.lent {
		delete(values, name)
	}
	m := c.program.module.WithAssigned(c.fromVarFiles)
	for name, v := range in.Variables {
		if declared := m.Variables[name]; v.Absent && declared != nil && !declared.TakesEmpty() {
			delete(values, name)
		}
	}
	converted, problems, warnings := module.CheckVariables(m, values, append(in.EnvNames(), c.lent...)...)
	if len(problems) > 0 {
		return &Problem{infrav1.ReasonVarsGenerationFailed, problems.Error(), othersMayMend(problems, values, in)}
	}
	for name, value := range converted {
		sensitive := m.Variables[name] != nil && m.Variables[name].Sensitive
		c.variables[name] = run.Variable{Value: value, Secret: in.Variables[name].Secret || sensitive}
		c.open[name] = in.Variables[name].Open && !sensitive
	}
	if c.program.template == nil { // a template may use undeclared variables
		if lost := lostFields(obj, m); lost != nil {
			return lost
		}
		c.Warnings = append(c.Warnings, warnings...)
	}
	for _, text := range in.Inserted {
		c.secrets = append(c.secrets, text.Reveal())
	}
	return nil
}

// othersMayMend reports whether another controller can correct all of the problems.
func othersMayMend(problems module.Problems, values map[string]json.RawMessage, in *inputs.Inputs) bool {
	return !slices.ContainsFunc(problems, func(p module.Problem) bool {
		if _, given := values[p.Variable]; given {
			return !in.Variables[p.Variable].Kept
		}
		return !in.MayGrow
	})
}

// sum is the configuration's digest. The stack salts it, so equal passwords do not show.
func (c *Configuration) sum(obj *infrav1.Terraform) string {
	return c.sumWith(obj, cmp.Or(c.part.digest, c.program.artifact.Digest))
}

// sumWith is the digest with an archive, or a part of one, as the source.
func (c *Configuration) sumWith(obj *infrav1.Terraform, source string) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, part := range []any{
		"yuba configuration 1", obj.Salt(), source, CleanDir(obj.Spec.Path), obj.WorkspaceName(),
		c.backend, obj.StateSuffix(), c.variables, sortedEnv(c.env), obj.Spec.Targets, obj.Spec.Tool, obj.Spec.Destroy,
	} {
		encode(enc, part)
	}
	// Omit unset fields, so that digests and pending plans of earlier versions stay valid.
	if len(c.varFiles)+len(c.files)+len(c.cliConfig) > 0 {
		encode(enc, []any{c.varFiles, c.files, c.cliConfig})
	}
	if len(c.identities) > 0 {
		encode(enc, []any{"identities", c.serviceAccount, c.identities})
	}
	// Webhooks are asked about a new plan, and its readable form is kept when it is made.
	if hooks, form := obj.ActiveWebhooks(), obj.ReadablePlanForm(); len(hooks) > 0 || form != "" {
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

// refusedFields names the fields that this version does not support and that are harmful to ignore:
// they concern the state, the program or the order. See [infrav1.SupportOf].
func refusedFields(s *infrav1.TerraformSpec) string {
	return refusal(fieldNames(s, infrav1.SupportRefused))
}

func refusal(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("This version does not support %s, and ignoring it could do harm. No runs start", sentence(names))
}

// IgnoredFields says which fields are ignored without harm.
func (r Rules) IgnoredFields(s *infrav1.TerraformSpec) []string {
	var warnings []string
	for _, name := range fieldNames(s, infrav1.SupportIgnored) {
		warnings = append(warnings, name+" has no effect yet")
	}
	if names := fieldNames(s, infrav1.SupportPods); len(names) > 0 && !r.Pods {
		warnings = append(warnings, "Runs are processes, not Pods. These fields have no effect: "+sentence(names))
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
