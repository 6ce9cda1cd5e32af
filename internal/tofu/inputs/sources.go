// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"bytes"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// values sets the variable "values", unless the values are a program.
func (r *resolver) values(spec *infrav1.TerraformSpec) {
	if spec.Values == nil {
		return
	}
	if _, program := (&infrav1.Terraform{Spec: *spec}).ValuesHCL(); program {
		return
	}
	inputs := r.templateInputs(spec.ReadInputsFromSecrets)
	if !template.IsDocument(spec.Values.Raw) {
		r.literal("spec.values", "values", spec.Values.Raw)
		return
	}
	// Without one of its Secrets, a template would only report that again.
	if len(r.problems) > 0 || r.failed != nil {
		return
	}
	rendered, err := template.Document("spec.values", spec.Values.Raw, inputs)
	if err != nil {
		r.templateProblem(err, inputs)
		return
	}
	r.variables["values"] = Variable{JSON: rendered.JSON}
	r.origins["values"] = "spec.values"
	closed := r.closed(spec.ReadInputsFromSecrets, inputs)
	r.inserted = inserted(rendered.Strings, secretTextsOf(spec.Values.Raw, rendered.Strings, inputs, closed), closed)
}

// literal sets a variable to JSON from the object.
func (r *resolver) literal(field, name string, raw []byte) {
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		r.problem(field, Reference{}, "", "the value is not valid JSON")
		return
	}
	r.variables[name] = Variable{JSON: compact.Bytes()}
	r.origins[name] = field
}

func (r *resolver) variable(field string, v *infrav1.Variable) {
	switch {
	case v.Name == "":
		r.problem(field, Reference{}, "", "the variable's name is missing")
	case v.Value != nil && v.ValueFrom != nil:
		r.problem(field, Reference{}, "", "variable %q has both value and valueFrom; set only one", v.Name)
	case v.Value != nil:
		r.literal(field, v.Name, v.Value.Raw)
	case v.ValueFrom != nil:
		if value, ok := r.keyOf(field, v.ValueFrom); ok {
			r.variables[v.Name] = Variable{JSON: quoted(value.text), Secret: value.secret, Open: value.open, Kept: value.kept}
			r.origins[v.Name] = r.originOf(v.ValueFrom)
		}
	default:
		r.variables[v.Name] = Variable{JSON: json.RawMessage("null")}
		r.origins[v.Name] = field
	}
}

// variablesFrom sets variables from the keys of an object: those in varsKeys, else all. Missing
// keys behave as in tofu-controller: see [resolver.absentKey].
func (r *resolver) variablesFrom(field string, from *infrav1.VarsReference) {
	keys, ok := r.varsKeys(field, from.VarsKeys)
	o := r.require(field, from.Kind, from.Name, from.Optional)
	if !ok {
		return
	}
	r.mayGrow = r.mayGrow || o == nil || o.kept && len(keys) == 0
	if o == nil {
		r.absentObject(from, keys)
		return
	}
	if len(from.VarsKeys) == 0 {
		for _, key := range o.keys() {
			keys = append(keys, varsKey{key, key})
		}
	}
	for _, key := range keys {
		if _, there := o.data[key.from]; !there {
			r.mayGrow = r.mayGrow || o.kept
			r.absentKey(field, o, key, from.Optional)
			continue
		}
		if text, ok := r.text(field, o, key.from, false); ok {
			r.variables[key.to] = Variable{JSON: quoted(text), Secret: from.Kind == kindSecret, Open: o.isOpen(key.from), Kept: o.kept, Listed: true}
			r.origins[key.to] = o.origin(key.from)
		}
	}
}

// environmentFrom adds all keys of an object. Like Kubernetes, it skips keys that are not valid
// names.
func (r *resolver) environmentFrom(field string, from *corev1.EnvFromSource) {
	var o *object
	switch {
	case from.SecretRef != nil:
		o = r.require(field, kindSecret, from.SecretRef.Name, from.SecretRef.Optional != nil && *from.SecretRef.Optional)
	case from.ConfigMapRef != nil:
		o = r.require(field, kindConfigMap, from.ConfigMapRef.Name, from.ConfigMapRef.Optional != nil && *from.ConfigMapRef.Optional)
	default:
		r.problem(field, Reference{}, "", "secretRef or configMapRef is missing")
	}
	r.mayGrow = r.mayGrow || o == nil || o.kept
	if o == nil {
		return
	}
	for _, key := range o.keys() {
		name := from.Prefix + key
		if !isEnvName(name) {
			r.warnings = append(r.warnings, fmt.Sprintf("%s: %s: key %q is not a valid name of an environment variable and is not used", field, o.ref, key))
			continue
		}
		if text, ok := r.text(field, o, key, false); ok {
			r.setEnv(field, o.origin(key), EnvVar{Name: name, Value: NewValue(text), Secret: o.ref.Kind == kindSecret, Open: o.isOpen(key)})
		}
	}
}

// podEnvironment adds the environment of the runner's Pod template, although runs are not Pods. It
// skips names that Yuba reserves: they were meant for another program's Pod.
func (r *resolver) podEnvironment(pod *infrav1.RunnerPodTemplate) {
	if pod == nil {
		return
	}
	r.lenient = true
	for i := range pod.Spec.EnvFrom {
		r.environmentFrom(fmt.Sprintf("spec.runnerPodTemplate.spec.envFrom[%d]", i), &pod.Spec.EnvFrom[i])
	}
	for i := range pod.Spec.Env {
		r.environment(fmt.Sprintf("spec.runnerPodTemplate.spec.env[%d]", i), &pod.Spec.Env[i])
	}
	r.lenient = false
}

func (r *resolver) environment(field string, e *corev1.EnvVar) {
	switch {
	case !isEnvName(e.Name):
		r.problem(field, Reference{}, "", "%q is not a valid name of an environment variable", e.Name)
	case e.Value != "" && e.ValueFrom != nil:
		r.problem(field, Reference{}, "", "%s has both value and valueFrom; set only one", e.Name)
	case e.ValueFrom != nil && r.lenient && e.ValueFrom.SecretKeyRef == nil && e.ValueFrom.ConfigMapKeyRef == nil:
		r.warnings = append(r.warnings, fmt.Sprintf("%s: %s is about a Pod, but runs do not use Pods", field, e.Name))
	case e.ValueFrom != nil:
		if value, ok := r.keyOf(field, e.ValueFrom); ok {
			r.setEnv(field, r.originOf(e.ValueFrom), EnvVar{Name: e.Name, Value: NewValue(value.text), Secret: value.secret, Open: value.open})
		}
	default:
		r.setEnv(field, field, EnvVar{Name: e.Name, Value: NewValue(e.Value)})
	}
}

// origin describes a key of an object.
func (o *object) origin(key string) string { return fmt.Sprintf("%s, key %s", o.ref, key) }

// originOf describes the key that a valueFrom names.
func (r *resolver) originOf(from *corev1.EnvVarSource) string {
	kind, named := selected(from)
	return (&object{ref: Reference{Kind: kind, Namespace: r.namespace, Name: named.Name}}).origin(named.Key)
}

func (r *resolver) setEnv(field, origin string, e EnvVar) {
	if why := checkEnvName(e.Name); why != "" && r.lenient {
		r.warnings = append(r.warnings, field+": "+why)
		return
	} else if why != "" {
		r.problem(field, Reference{}, "", "%s", why)
		return
	}
	if bytes.IndexByte([]byte(e.Value.Reveal()), 0) >= 0 {
		r.problem(field, Reference{}, "", "the value of %s contains a null byte, which is not valid in an environment", e.Name)
		r.passing()
		return
	}
	r.env[e.Name] = e
	r.origins["env "+e.Name] = origin
}
