// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/schema"
)

// interval is how often a stack looks for drift, unless the template says otherwise.
const interval = 10 * time.Minute

// Terraform makes the stack of an instance.
func Terraform(d *definition.Definition, i *Instance) (*infrav1.Terraform, error) {
	t := d.Terraform
	stack := &infrav1.Terraform{TypeMeta: metav1.TypeMeta{APIVersion: infrav1.GroupVersion.String(), Kind: infrav1.Kind}, ObjectMeta: i.metadata(d)}
	if err := fromTemplate(d, i, stack); err != nil {
		return nil, err
	}
	spec := &stack.Spec
	if spec.Interval.Duration == 0 {
		spec.Interval.Duration = interval
	}
	if err := i.choose(t, spec); err != nil {
		return nil, err
	}
	values, err := d.Table.Values(schema.WithoutInternal(d.Schema.Default(i.Spec)))
	if err != nil {
		return nil, fmt.Errorf("make variables of the spec: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		spec.Vars = append(spec.Vars, infrav1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: values[name]}})
	}
	switch {
	case len(t.Inline) > 0:
		spec.Inline = maps.Clone(t.Inline)
	case t.SourceRef != nil:
		spec.SourceRef = &infrav1.CrossNamespaceSourceReference{APIVersion: t.SourceRef.APIVersion, Kind: t.SourceRef.Kind, Name: t.SourceRef.Name, Namespace: t.SourceRef.Namespace}
		spec.Path = t.Path
	default:
		if spec.Inline, err = wrapper(d, spec.Vars); err != nil {
			return nil, err
		}
	}
	if len(t.Outputs) > 0 {
		spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: OutputsSecret(d, i.Name), Outputs: slices.Clone(t.Outputs)}
	}
	return stack, nil
}

// OutputsSecret is the name of the Secret with the outputs of an instance.
func OutputsSecret(d *definition.Definition, instance string) string {
	return d.ObjectName(instance) + "-outputs"
}

func fromTemplate(d *definition.Definition, i *Instance, stack *infrav1.Terraform) error {
	if template := d.Terraform.Template; template != nil {
		i.complete(&stack.ObjectMeta, template.Metadata)
	}
	// A stack of an instance is destroyed with it, unless the template says otherwise.
	stack.Spec.DestroyResourcesOnDeletion = true
	if d.Template == nil {
		return nil
	}
	data, err := json.Marshal(definition.Fill(d.Template, i.words()))
	if err == nil {
		err = json.Unmarshal(data, &stack.Spec)
	}
	if err != nil {
		return fmt.Errorf("fill in the definition's template: %w", err)
	}
	return nil
}

// choose sets what the instance may decide.
func (i *Instance) choose(t *appv1.TerraformBackend, spec *infrav1.TerraformSpec) error {
	rule, err := i.approvePlan(t)
	if err != nil {
		return err
	}
	if rule != appv1.ApproveManual {
		spec.ApprovePlan = string(rule)
	}
	spec.ServiceAccountName, err = i.identity(t.Identity)
	if err == nil && i.Annotations[appv1.AnnotationAbandon] == string(i.UID) {
		spec.DestroyResourcesOnDeletion = false
	}
	return err
}

// wrapper is the program that calls a module of a registry.
func wrapper(d *definition.Definition, vars []infrav1.Variable) (map[string]string, error) {
	source, version, pinned := cutVersion(d.Terraform.Module)
	call := map[string]any{"source": source}
	if pinned {
		call["version"] = version
	}
	declared := map[string]any{}
	for _, v := range vars {
		declared[v.Name] = map[string]any{"nullable": true, "default": nil}
		call[v.Name] = "${var." + v.Name + "}"
	}
	program := map[string]any{"module": map[string]any{"application": call}}
	if len(declared) > 0 {
		program["variable"] = declared
	}
	outputs := map[string]any{}
	for _, name := range d.Terraform.Outputs {
		output := map[string]any{"value": "${module.application." + name + "}"}
		if slices.Contains(d.Terraform.SensitiveOutputs, name) {
			output["sensitive"] = true
		}
		outputs[name] = output
	}
	if len(outputs) > 0 {
		program["output"] = outputs
	}
	content, err := json.Marshal(program) // with sorted keys
	if err != nil {
		return nil, fmt.Errorf("write the program that calls module %s: %w", source, err)
	}
	return map[string]string{"main.tf.json": string(content)}, nil
}

// cutVersion divides acme/bucket/aws@~>1.2.
func cutVersion(text string) (source, version string, pinned bool) { return strings.Cut(text, "@") }
