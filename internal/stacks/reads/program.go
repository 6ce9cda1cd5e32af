// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/inputs"
	"github.com/yuba-dev/yuba/internal/tofu/module"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// setFiles adds the files that are written for the tool.
func (c *Configuration) setFiles(_ *infrav1.Terraform, in *inputs.Inputs) error {
	for _, f := range in.Files {
		c.files = append(c.files, run.File{Location: run.FileLocation(f.Location), Path: f.Path, Content: []byte(f.Content.Reveal()), Secret: true})
	}
	c.cliConfig = []byte(in.CLIConfig.Reveal())
	return nil
}

// setModule completes the root module as the tool will find it: with files from Secrets, main.tf
// rendered, and the files of values.
func (c *Configuration) setModule(obj *infrav1.Terraform, in *inputs.Inputs) error {
	joining, secret := c.joining(), map[string]bool{}
	for name := range joining {
		secret[name] = true
	}
	if text := c.program.template; text != nil {
		rendered, err := render(text, in)
		if err != nil {
			return err
		}
		joining[templateResult] = rendered
		c.files = append(c.files, run.File{Location: run.FileInModule, Path: templateResult, Content: rendered})
		c.secrets = append(c.secrets, secretTexts(in)...)
	}
	if len(joining) > 0 {
		files := maps.Clone(c.program.files)
		if files == nil {
			files = map[string][]byte{}
		}
		maps.Copy(files, joining)
		with := *c.program.readModule
		with.module, with.diags = module.Parse(files)
		c.joined = module.NewReader(func(string) map[string][]byte { return nil }).With(cmp.Or(CleanDir(obj.Spec.Path), "."), files).World
		c.program = &Program{artifact: c.program.artifact, readModule: &with}
	}
	for _, f := range c.files {
		if f.Location == run.FileInModule && module.IsConfigFile(f.Path) && path.Dir(f.Path) != "." {
			c.joined = append(c.joined, fmt.Sprintf("the file %s, which is written into a module", f.Path))
		}
	}
	if err := c.program.diags.AsError(); err != nil {
		return &Problem{infrav1.ReasonInitFailed, shown(c.program.diags, secret, in), in.MayChange}
	}
	return c.setVarFiles(obj, in)
}

// joining are the files from Secrets that become part of the root module.
func (c *Configuration) joining() map[string][]byte {
	files := map[string][]byte{}
	for _, f := range c.files {
		if f.Location == run.FileInModule && module.IsConfigFile(f.Path) && path.Dir(f.Path) == "." {
			files[f.Path] = f.Content
		}
	}
	return files
}

// shown renders diagnostics without the lines of secret files and without secrets in templates.
func shown(diags diagnostic.List, secret map[string]bool, in *inputs.Inputs) string {
	var list diagnostic.List
	for _, d := range diags {
		if secret[d.File] {
			d.Snippet, d.Detail = nil, "The file comes from a Secret and is not shown."
		}
		list = append(list, d)
	}
	return in.Hide(list.AsError().Error())
}

func render(text []byte, in *inputs.Inputs) ([]byte, error) {
	data, err := in.TemplateData()
	if err != nil {
		return nil, &Problem{infrav1.ReasonVarsGenerationFailed, err.Error(), in.MayChange}
	}
	rendered, err := template.File(templateName, text, data)
	var wrong *template.Error
	if errors.As(err, &wrong) {
		return nil, &Problem{infrav1.ReasonTemplateGenerationFailed, in.Hide(err.Error()), in.MayChange}
	}
	return rendered, err
}

// secretTexts are the texts in variables from Secrets. A template can use undeclared ones, too.
func secretTexts(in *inputs.Inputs) []string {
	var texts []string
	for _, v := range in.Variables {
		if !v.Secret || v.Open {
			continue
		}
		var value any
		if json.Unmarshal(v.JSON, &value) == nil {
			texts = append(texts, StringsIn(value)...)
		}
	}
	return texts
}

// StringsIn lists the strings in a decoded JSON value.
func StringsIn(value any) []string {
	var found []string
	switch v := value.(type) {
	case string:
		found = append(found, v)
	case []any:
		for _, item := range v {
			found = append(found, StringsIn(item)...)
		}
	case map[string]any:
		for _, item := range v {
			found = append(found, StringsIn(item)...)
		}
	}
	return found
}

// setVarFiles finds the files of values in the source, or among files written to the root module.
func (c *Configuration) setVarFiles(obj *infrav1.Terraform, in *inputs.Inputs) error {
	c.fromVarFiles = map[string]module.Position{}
	for i, name := range varFilesOf(&obj.Spec) {
		given := obj.Spec.TfVarsFiles[i]
		if name == ".." || strings.HasPrefix(name, "../") {
			return &Problem{Reason: infrav1.ReasonPlanFailed, Message: fmt.Sprintf(
				"spec.tfVarsFiles[%d]: %q is outside of the source. Paths are relative to the source's root", i, given)}
		}
		file, ok := c.program.varFiles[name]
		if content, placed := c.placed(name, CleanDir(obj.Spec.Path)); placed {
			assigned, diags := module.Assignments(name, content)
			if err := diags.AsError(); err != nil {
				return &Problem{infrav1.ReasonPlanFailed, shown(diags, map[string]bool{name: true}, in), in.MayChange}
			}
			file, ok = varFile{assigned: assigned}, true
		}
		if !ok {
			return &Problem{Reason: infrav1.ReasonPlanFailed, Message: fmt.Sprintf(
				"tfvars file's path does not exist: %s (spec.tfVarsFiles[%d]; paths are relative to the source's root, not to spec.path)", given, i)}
		}
		if err := file.diags.AsError(); err != nil {
			return &Problem{infrav1.ReasonPlanFailed, in.Hide(err.Error()), in.MayChange}
		}
		maps.Copy(c.fromVarFiles, file.assigned)
		c.varFiles = append(c.varFiles, name)
	}
	return nil
}

// placed returns the content of the file that is written to a path of the source.
func (c *Configuration) placed(name, dir string) (content []byte, ok bool) {
	for _, f := range c.files {
		if f.Location == run.FileInModule && path.Join(dir, f.Path) == name {
			content, ok = f.Content, true
		}
	}
	return content, ok
}

// madeByTemplate reports whether a Tenant owns the stack, or, across namespaces, a label names one.
func madeByTemplate(obj *infrav1.Terraform) bool {
	if obj.Labels[tenantv1.LabelTenant] != "" {
		return true
	}
	return slices.ContainsFunc(obj.OwnerReferences, func(ref metav1.OwnerReference) bool {
		gv, err := schema.ParseGroupVersion(ref.APIVersion)
		return err == nil && gv.Group == tenantv1.GroupVersion.Group && ref.Kind == tenantv1.TenantKind
	})
}

// Rules configure what stacks may read.
type Rules struct {
	// AllowCrossNamespace lets sourceRef, dependsOn and cliConfigSecretRef name other namespaces.
	AllowCrossNamespace bool
	// TenantEnvPrefixes select keys of varsFrom for the environment of tenants' stacks whose
	// programs do not declare them.
	TenantEnvPrefixes []string
	// Pods says that runs execute in Pods.
	Pods bool
	// Digest makes digests, as [inputs.Digest] does, of texts of an object with a UID; nil for none.
	Digest func(uid, text string) string
}

// Resolve reads a stack's inputs.
func (r Rules) Resolve(ctx context.Context, from inputs.Getter, obj *infrav1.Terraform) (*inputs.Inputs, error) {
	options := []inputs.Option{inputs.AllowCrossNamespace(r.AllowCrossNamespace), inputs.InScope(scope.Of(obj.Labels))}
	if _, inline := obj.InlineProgram(); inline && madeByTemplate(obj) {
		options = append(options, inputs.LendEnvironment(r.TenantEnvPrefixes))
	}
	in, err := inputs.Resolve(ctx, from, obj.Namespace, &obj.Spec, options...)
	if err == nil && r.Digest != nil {
		in.Conceal = func(text string) string { return r.Digest(string(obj.UID), text) }
	}
	return in, err
}

// setLent passes values of varsFrom for providers through the environment. Otherwise templates'
// inline programs would have to declare a variable for each.
func (c *Configuration) setLent(_ *infrav1.Terraform, in *inputs.Inputs) error {
	lent := in.Lent(func(name string) bool {
		return c.program.module.Variables[name] != nil ||
			slices.ContainsFunc(c.env, func(e run.EnvVar) bool { return e.Name == name })
	})
	if len(lent) == 0 {
		return nil
	}
	c.Origins = maps.Clone(c.Origins)
	if c.Origins == nil {
		c.Origins = map[string]string{}
	}
	for _, e := range lent {
		c.env = append(c.env, run.EnvVar{Name: e.Name, Value: e.Value.Reveal(), Secret: e.Secret})
		c.open["env "+e.Name] = e.Open
		c.lent = append(c.lent, e.Name, inputs.TypeOf(e.Name))
		c.Origins["env "+e.Name] = c.Origins[e.Name]
	}
	return nil
}
