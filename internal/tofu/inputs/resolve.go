// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Getter reads the objects that stacks name. Its errors for missing ones satisfy
// [apierrors.IsNotFound]. It removes an annotation of [OpenOutputs] that cannot be trusted.
type Getter interface {
	ConfigMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error)
	Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error)
}

const (
	kindSecret    = "Secret"
	kindConfigMap = "ConfigMap"
)

// Option configures Resolve.
type Option func(*resolver)

// AllowCrossNamespace lets a stack name objects of other namespaces, in fields that have a
// namespace.
func AllowCrossNamespace(allow bool) Option { return func(r *resolver) { r.crossNamespace = allow } }

// Resolve reads a stack's inputs. An *Error lists what the user must fix; the inputs returned with
// it contain the references to wait for. Other errors may be temporary.
func Resolve(ctx context.Context, g Getter, namespace string, spec *infrav1.TerraformSpec, options ...Option) (*Inputs, error) {
	r := &resolver{
		ctx: ctx, getter: g, namespace: namespace, part: PartVariables,
		objects:   map[Reference]*object{},
		variables: map[string]Variable{},
		env:       map[string]EnvVar{},
		settings:  map[string]Setting{},
		origins:   map[string]string{},
	}
	for _, option := range options {
		option(r)
	}
	r.everything(spec)
	if r.failed != nil {
		return nil, r.failed
	}
	in := r.inputs()
	if len(r.problems) > 0 {
		return in, &Error{r.problems}
	}
	return in, nil
}

// everything resolves all inputs, so that all problems are reported together.
func (r *resolver) everything(spec *infrav1.TerraformSpec) {
	r.values(spec)
	for i := range spec.Vars {
		r.variable(fmt.Sprintf("spec.vars[%d]", i), &spec.Vars[i])
	}
	for i := range spec.VarsFrom {
		r.variablesFrom(fmt.Sprintf("spec.varsFrom[%d]", i), &spec.VarsFrom[i])
	}
	r.podEnvironment(spec.RunnerPodTemplate)
	for i := range spec.EnvFrom {
		r.environmentFrom(fmt.Sprintf("spec.envFrom[%d]", i), &spec.EnvFrom[i])
	}
	for i := range spec.Env {
		r.environment(fmt.Sprintf("spec.env[%d]", i), &spec.Env[i])
	}
	r.cliConfig(spec.CliConfigSecretRef)
	for i := range spec.FileMappings {
		r.file(fmt.Sprintf("spec.fileMappings[%d]", i), &spec.FileMappings[i])
	}
	for i := range spec.BackendConfigsFrom {
		r.settingsFrom(fmt.Sprintf("spec.backendConfigsFrom[%d]", i), &spec.BackendConfigsFrom[i])
	}
}

// resolver collects inputs and problems. It reads each object once.
type resolver struct {
	ctx       context.Context
	getter    Getter
	namespace string
	// crossNamespace allows references to other namespaces.
	crossNamespace bool
	// scope is the stack's tenant; empty if it has none. prefixes select names of varsFrom for the
	// environment.
	scope    scope.Scope
	prefixes []string
	// part is the current part for problems.
	part Part
	// lenient turns an invalid name of an environment variable into a warning.
	lenient bool

	objects   map[Reference]*object
	variables map[string]Variable
	env       map[string]EnvVar
	settings  map[string]Setting
	files     []File
	config    Value
	inserted  []Value
	problems  []Problem
	warnings  []string
	failed    error
	origins   map[string]string
	// mayChange and mayGrow are as in [Inputs].
	mayChange, mayGrow bool
}

// object is a Secret or ConfigMap; data is nil if it does not exist.
type object struct {
	ref  Reference
	data map[string][]byte
	// scope is its tenant, from its label.
	scope scope.Scope
	// open are the keys of a Secret that are not secret; nil if unknown.
	open map[string]bool
	// kept is true if the object has a controller.
	kept bool
}

// keys returns the sorted keys of an object.
func (o *object) keys() []string { return slices.Sorted(maps.Keys(o.data)) }

func (r *resolver) inputs() *Inputs {
	in := &Inputs{Variables: r.variables, Warnings: r.warnings, Files: r.files, CLIConfig: r.config, Inserted: r.inserted, Origins: r.origins,
		MayChange: r.mayChange, MayGrow: r.mayGrow, prefixes: r.prefixes}
	for _, name := range slices.Sorted(maps.Keys(r.settings)) {
		in.Settings = append(in.Settings, r.settings[name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.env)) {
		in.Env = append(in.Env, r.env[name])
	}
	for _, o := range r.objects {
		in.References = append(in.References, o.ref)
	}
	slices.SortFunc(in.References, func(a, b Reference) int { return strings.Compare(a.String(), b.String()) })
	in.Digest = in.digest()
	return in
}

func (r *resolver) problem(field string, ref Reference, key, format string, args ...any) {
	r.problems = append(r.problems, Problem{Part: r.part, Field: field, Reference: ref, Key: key, Reason: fmt.Sprintf(format, args...), Lasting: ref.Name == ""})
}

// passing marks the last problem as one that another value in an object can fix.
func (r *resolver) passing() { r.problems[len(r.problems)-1].Lasting = false }

// get reads an object. It returns nil if reading failed.
func (r *resolver) get(kind, namespace, name string) *object {
	ref := Reference{Kind: kind, Namespace: namespace, Name: name}
	if o := r.objects[ref]; o != nil || r.failed != nil {
		return o
	}
	o := &object{ref: ref}
	var err error
	if kind == kindSecret {
		err = o.fromSecret(r.getter.Secret(r.ctx, namespace, name))
	} else {
		err = o.fromConfigMap(r.getter.ConfigMap(r.ctx, namespace, name))
	}
	if err != nil && !apierrors.IsNotFound(err) {
		r.failed = fmt.Errorf("read %s: %w", ref, err)
		return nil
	}
	r.objects[ref] = o
	return o
}

func (o *object) describe(found metav1.Object) {
	o.ref.ResourceVersion, o.data, o.scope = found.GetResourceVersion(), map[string][]byte{}, scope.Of(found.GetLabels())
	o.kept = metav1.GetControllerOfNoCopy(found) != nil
}

func (o *object) fromSecret(s *corev1.Secret, err error) error {
	if err != nil {
		return err
	}
	o.describe(s)
	maps.Copy(o.data, s.Data)
	if known, ok := OpenOutputsOf(s); ok {
		o.open = map[string]bool{}
		for _, key := range known.Open {
			o.open[key] = true
		}
	}
	return nil
}

func (o *object) fromConfigMap(c *corev1.ConfigMap, err error) error {
	if err != nil {
		return err
	}
	o.describe(c)
	maps.Copy(o.data, c.BinaryData)
	for key, value := range c.Data {
		o.data[key] = []byte(value)
	}
	return nil
}

// require reads an object that a field names; a missing one is a problem unless it is optional.
func (r *resolver) require(field, kind, name string, optional bool) *object {
	return r.requireIn(field, kind, r.namespace, name, optional)
}

func (r *resolver) requireIn(field, kind, namespace, name string, optional bool) *object {
	if kind != kindSecret && kind != kindConfigMap {
		r.problem(field, Reference{}, "", "kind must be Secret or ConfigMap, not %q", kind)
		return nil
	}
	if name == "" {
		r.problem(field, Reference{}, "", "the name of the %s is missing", kind)
		return nil
	}
	if len(validation.IsDNS1123Subdomain(name)) > 0 && !optional {
		r.problem(field, Reference{}, "", "no %s can have the name %q: names consist of lower-case letters, digits, \"-\" and \".\"", kind, cut(name))
		return nil
	}
	o := r.get(kind, namespace, name)
	if o == nil {
		return nil
	}
	r.mayChange = r.mayChange || o.kept || o.data == nil
	if o.data == nil {
		if !optional {
			r.problem(field, o.ref, "", "does not exist")
		}
		return nil
	}
	if r.scope.Excludes(o.scope) {
		r.foreign(field, o)
		return nil
	}
	return o
}

// maxShown limits the part of an overlong name that is shown.
const maxShown = 80

func cut(name string) string { return shorten.CutBytes(name, maxShown) }

// text returns a key's value as text. A missing key is a problem unless it is optional; a value
// that is not text always is.
func (r *resolver) text(field string, o *object, key string, optional bool) (string, bool) {
	value, ok := o.data[key]
	switch {
	case !ok && optional:
		return "", false
	case !ok:
		r.problem(field, o.ref, key, "has no key %q", key)
		return "", false
	case !utf8.Valid(value):
		r.problem(field, o.ref, key, "the value of key %q is not text (UTF-8)", key)
		return "", false
	}
	return string(value), true
}

// picked is the value of one key.
type picked struct {
	text string
	// secret is true for a value from a Secret, open if it is known not to be secret.
	secret, open bool
	// kept is true if the object has a controller.
	kept bool
}

// keyOf reads the key that a valueFrom names.
func (r *resolver) keyOf(field string, from *corev1.EnvVarSource) (value picked, ok bool) {
	kind, named := selected(from)
	if kind == "" {
		r.problem(field, Reference{}, "", "valueFrom needs secretKeyRef or configMapKeyRef; a stack has no Pod whose fields could be read")
		return picked{}, false
	}
	may := named.Optional != nil && *named.Optional
	o := r.require(field, kind, named.Name, may)
	if o == nil {
		r.mayGrow = true
		return picked{}, false
	}
	text, ok := r.text(field, o, named.Key, may)
	r.mayGrow = r.mayGrow || !ok && o.kept
	return picked{text: text, secret: o.ref.Kind == kindSecret, open: o.isOpen(named.Key), kept: o.kept}, ok
}

// selected returns the key that a valueFrom names, and the kind of its object; empty for none.
func selected(from *corev1.EnvVarSource) (kind string, named corev1.SecretKeySelector) {
	switch {
	case from.SecretKeyRef != nil:
		return kindSecret, *from.SecretKeyRef
	case from.ConfigMapKeyRef != nil:
		return kindConfigMap, corev1.SecretKeySelector(*from.ConfigMapKeyRef)
	}
	return "", named
}

func quoted(text string) json.RawMessage {
	out, _ := json.Marshal(text) //nolint:errchkjson // a string always has a JSON form
	return out
}
