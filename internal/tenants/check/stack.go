// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// stack is a Terraform object of the template.
type stack struct {
	id  string
	obj *infrav1.Terraform
	// module has the declarations of its program; nil if unknown.
	module *module.Module
	// files are the files of the program, by their paths.
	files map[string]string
	// joined is true if files from Secrets are added to the module: they may declare more.
	joined bool
}

// stackKind is the kind of all stacks.
const stackKind = "Terraform"

// mainTemplate is the file that main.tf is rendered from when the run begins.
const mainTemplate = "main.tf.tpl"

// stacks checks the Terraform objects, and records the Secrets that they write.
func (c *checker) stacks(objects []render.Object) {
	c.outputs = map[secretName]*written{}
	known := c.given(objects)
	var stacks []*stack
	for _, o := range objects {
		if gk := o.Object.GroupVersionKind().GroupKind(); gk.Group != infrav1.GroupVersion.Group || gk.Kind != stackKind {
			continue
		}
		if s := c.stack(o); s != nil {
			stacks = append(stacks, s)
			c.writes(s)
		}
	}
	for _, s := range stacks {
		c.variables(s, known)
		c.read(s)
	}
}

// stack reads a Terraform object and its program.
func (c *checker) stack(o render.Object) *stack {
	s := &stack{id: o.ID, obj: &infrav1.Terraform{}}
	strict := o.Object.GetAPIVersion() == infrav1.GroupVersion.String()
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object.Object, s.obj, strict)
	switch {
	case err != nil && runtime.IsStrictDecodingError(err):
		// Server-side apply refuses these fields; other writes drop them silently.
		severity := Error
		if s := o.Resource.PatchStrategy; s == tenantv1.PatchStrategyMerge || s == tenantv1.PatchStrategyReplace {
			severity = Warning
		}
		c.find(severity, o.ID, "%s", strings.TrimPrefix(err.Error(), "strict decoding error: "))
	case err != nil:
		c.find(Error, o.ID, "it is not a valid %s: %s", stackKind, misfit(o.Object.Object, err))
		return nil
	}
	files, inline := s.obj.InlineProgram()
	if !inline {
		if s.obj.Spec.SourceRef == nil {
			c.find(Error, o.ID, "the stack has no program: set spec.sourceRef, spec.inline or spec.values.hcl")
		}
		return s
	}
	s.files = files
	c.inserted(o)
	for _, m := range s.obj.Spec.FileMappings {
		s.joined = s.joined || m.Location == infrav1.FileLocationWorkspace && module.IsConfigFile(m.Path)
	}
	c.program(s)
	return s
}

// misfit names the field of a wrong type, which the converter's error does not contain.
func misfit(object map[string]any, err error) string {
	text, failed := json.Marshal(object)
	var wrong *json.UnmarshalTypeError
	if failed != nil || !errors.As(json.Unmarshal(text, &infrav1.Terraform{}), &wrong) {
		return err.Error()
	}
	return fmt.Sprintf("%s is %s, and not %s", wrong.Field, diagnostic.WithArticle(wrong.Value), diagnostic.WithArticle(wrong.Type.String()))
}

// program parses the modules of a program: each directory is one.
func (c *checker) program(s *stack) {
	dirs := map[string]map[string][]byte{}
	for name, content := range s.files {
		dir := path.Dir(path.Clean(name))
		if dirs[dir] == nil {
			dirs[dir] = map[string][]byte{}
		}
		dirs[dir][path.Base(name)] = []byte(content)
	}
	root := rootOf(s.obj)
	if dirs[root] == nil {
		c.find(Error, s.id, "the program does not contain the directory %q; check spec.path", s.obj.Spec.Path)
		return
	}
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		files := dirs[dir]
		if _, later := files[mainTemplate]; later || dir != root && !hasConfig(files) {
			continue // its content is not known yet, or it is not a module
		}
		m, diags := module.Parse(files)
		for _, d := range diags {
			c.diagnosed(s.id, dir, d)
		}
		if dir == root && !diags.HasErrors() {
			s.module = m
			c.backend(s, dir)
		}
	}
}

// inserted reports texts of the row that become part of a program, which they could change
// completely.
func (c *checker) inserted(o render.Object) {
	tell := func(field string, program any) {
		text, _ := program.(string)
		told := map[string]bool{"uid": true, "registryId": true, "templateRef": true} // which are valid names
		for _, name := range render.Written(text) {
			if told[name] {
				continue
			}
			told[name] = true
			c.find(Warning, o.ID, "%s: the text of .%s becomes part of the program, and could be more than a value; declare a variable and set it in spec.vars, or write {{ hcl .%s }} without quotes",
				field, name, name)
		}
	}
	spec, _ := o.Resource.Spec.Object["spec"].(map[string]any)
	files, _ := spec["inline"].(map[string]any)
	for _, file := range slices.Sorted(maps.Keys(files)) {
		tell("spec.inline["+file+"]", files[file])
	}
	values, _ := spec["values"].(map[string]any)
	tell("spec.values.hcl", values["hcl"])
}

func hasConfig(files map[string][]byte) bool {
	for name := range files {
		if module.IsConfigFile(name) {
			return true
		}
	}
	return false
}

// rootOf is the directory of a stack's root module.
func rootOf(obj *infrav1.Terraform) string {
	return cmp.Or(strings.TrimPrefix(path.Clean("/"+obj.Spec.Path), "/"), ".")
}

// diagnosed adds a finding for a diagnostic of the parser.
func (c *checker) diagnosed(id, dir string, d diagnostic.Diagnostic) {
	severity := Error
	if d.Severity == diagnostic.Warning {
		severity = Warning
	}
	message := d.Summary
	if detail, _, _ := strings.Cut(strings.TrimSpace(d.Detail), "\n\n"); detail != "" {
		message += ": " + detail
	}
	f := c.find(severity, id, "%s", message)
	if d.File != "" {
		f.File, f.Line, f.Column = path.Join(dir, d.File), d.Line, d.Column
		f.Snippet = c.showable(d.Snippet)
	}
}

// showable masks the row's values in a snippet, if they are private.
func (c *checker) showable(s *diagnostic.Snippet) *diagnostic.Snippet {
	if s == nil || !c.subject.Private {
		return s
	}
	values := mask.New()
	for _, value := range c.subject.Row.Extra {
		values.Add(value)
	}
	if code := values.Masker("…").Text(s.Code); code != s.Code {
		return &diagnostic.Snippet{Context: s.Context, Code: code, StartLine: s.StartLine}
	}
	return s
}

// backend reports a backend block without effect.
func (c *checker) backend(s *stack, dir string) {
	b := s.module.Backend
	if b == nil || s.obj.KeepsOwnState() {
		return
	}
	f := c.find(Warning, s.id, "the backend %q has no effect, because Yuba stores the state; to use the backend, set spec.backendConfig.disable", b.Type)
	f.File, f.Line = path.Join(dir, b.Pos.File), b.Pos.Line
}
