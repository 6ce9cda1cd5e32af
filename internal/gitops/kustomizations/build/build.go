// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/kustomize"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/subprocess"
)

// Input is the input of a build.
type Input struct {
	// Object is the Kustomization. Only its name, namespace and spec are used.
	Object *kustomizev1.Kustomization
	// Dir is the root of the unpacked artifact, which contains spec.path. It is only read.
	Dir string
	// Values reads the ConfigMaps and Secrets that the Kustomization names, including decryption
	// keys. Without it, only postBuild.substitute has variables, and nothing is decrypted.
	Values Reader
	// Strict requires a value for variables without a default, as in Flux; otherwise it is empty.
	Strict bool
	// Programs finds the programs that decrypt and that build trees which could grow. Without it,
	// this process builds all, only for users' own trees, and decrypts nothing.
	Programs subprocess.Finder
	// KeepEncrypted does not decrypt, and reads no keys, to display a build.
	KeepEncrypted bool
	// apart always builds in a separate process, for tests.
	apart bool
}

// Result is a build.
type Result struct {
	// Objects are the objects to apply, in kustomize's order. They belong to the caller.
	Objects []*unstructured.Unstructured
	// Digest is "sha256:…" of the objects and their order.
	Digest string
}

// Build builds the objects. It returns a *PathError if spec.path is not in the artifact, and a
// *LimitError if the tree is too large. When ctx ends it returns even if kustomize still runs.
func Build(ctx context.Context, in Input) (*Result, error) {
	sops := decrypt.NewProgram(ctx, in.Programs)
	defer sops.Close()
	keys, err := in.keys(ctx, sops.Open)
	if err != nil {
		return nil, err
	}
	t, err := openTree(in.Dir, in.Object.Spec.Path, keys)
	if err != nil {
		return nil, err
	}
	f := &finisher{keys: keys, strict: in.Strict, plaintextOnly: in.Values != nil && !in.KeepEncrypted}
	if post := in.Object.Spec.PostBuild; post != nil {
		if f.vars, err = in.variables(ctx); err != nil {
			return nil, err
		}
		f.substitute = len(f.vars) > 0 || in.Object.GetSubstituteStrategy() == kustomizev1.SubstituteStrategyAlways
	}
	built, l, err := t.build(ctx, in)
	if err != nil {
		return nil, err
	}
	f.look = l
	objects, err := f.objects(ctx, built)
	if err != nil {
		return nil, err
	}
	if common := in.Object.Spec.CommonMetadata; common != nil {
		ssautil.SetCommonMetadata(objects, common.Labels, common.Annotations)
	}
	digest, err := digestOf(objects)
	if err != nil {
		return nil, err
	}
	return &Result{Objects: objects, Digest: digest}, nil
}

// finisher completes kustomize's objects.
type finisher struct {
	look       *look
	keys       *decrypt.Keys
	vars       map[string]string
	substitute bool
	strict     bool
	// plaintextOnly refuses Secrets that are still encrypted.
	plaintextOnly bool
}

// objects decrypts objects, substitutes variables, unfolds lists, and reports all undefined
// variables.
func (f *finisher) objects(ctx context.Context, built []*kustomize.Object) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(built))
	var undefined []error
	size := 0
	for _, o := range built {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("build directory %s: %w", f.look.t.name(f.look.t.dir), context.Cause(ctx))
		}
		object, err := f.object(o)
		if missing := (*undefinedError)(nil); errors.As(err, &missing) {
			undefined = append(undefined, err)
			continue
		}
		if err != nil {
			return nil, err
		}
		if size += sizeOf(object); size > maxBuilt {
			return nil, &LimitError{Subject: "the directory " + f.look.t.name(f.look.t.dir), Grown: fmt.Sprintf("%d MiB in all objects", maxBuilt>>20)}
		}
		objects = append(objects, unfolded(object)...)
	}
	if len(undefined) > 0 {
		return nil, together(undefined)
	}
	return objects, nil
}

// sizeOf estimates the memory of a value.
func sizeOf(value any) int {
	const each = 64
	size := each
	switch value := value.(type) {
	case string:
		size += len(value)
	case []any:
		for _, element := range value {
			size += sizeOf(element)
		}
	case map[string]any:
		for key, element := range value {
			size += len(key) + sizeOf(element)
		}
	}
	return size
}

// together joins the first errors.
func together(errs []error) error {
	const most = 5
	if len(errs) > most {
		errs = append(errs[:most:most], fmt.Errorf("and %d more objects with undefined variables", len(errs)-most))
	}
	return errors.Join(errs...)
}

// object completes one object.
func (f *finisher) object(o *kustomize.Object) (map[string]any, error) {
	if o.Name == "" || o.Kind == "" || o.APIVersion == "" {
		return nil, fmt.Errorf("an object of the build lacks apiVersion, kind or metadata.name: it has kind %q and name %q", o.Kind, o.Name)
	}
	if len(o.JSON) == 0 {
		if twice := f.look.repeatedIn(o.Kind, o.Name); twice != nil {
			return nil, twice
		}
		return nil, f.failed("read", o, errors.New("it cannot be written as JSON"))
	}
	object := map[string]any{}
	err := utiljson.Unmarshal(o.JSON, &object)
	if err != nil {
		return nil, f.failed("read", o, errors.New("it is not an object"))
	}
	kept := substituteDisabled(object)
	if f.keys != nil {
		if object, _, err = f.keys.Object(object); err != nil {
			return nil, f.failed("decrypt", o, err)
		}
	}
	if f.plaintextOnly && o.Kind == "Secret" && o.APIVersion == "v1" && object["sops"] != nil {
		return nil, f.failed("apply", o, errors.New("it is encrypted with SOPS; name the key in spec.decryption"))
	}
	if f.substitute && !kept {
		if object, err = substitute(object, f.vars, f.strict); err != nil {
			return nil, f.failed("substitute variables in", o, err)
		}
	}
	return object, nil
}

// substituteDisabled reports whether an object excludes itself from substitution.
func substituteDisabled(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if values, _ := metadata[field].(map[string]any); values[substituteKey] == disabled {
			return true
		}
	}
	return false
}

// failed adds to an error what was attempted, and where the object is; for a variable, its line.
func (f *finisher) failed(action string, o *kustomize.Object, err error) error {
	at := ""
	if p, found := f.look.where(o.Kind, o.Name); found {
		line := p.line
		if missing := (*undefinedError)(nil); errors.As(err, &missing) {
			line = f.look.lineBehind(p, "${"+missing.names[0])
		}
		if unreadable := (*expressionError)(nil); errors.As(err, &unreadable) && unreadable.text != "" {
			line = f.look.lineBehind(p, unreadable.text)
		}
		at = fmt.Sprintf(" (%s:%d)", p.file, line)
	}
	return fmt.Errorf("%s %s%s: %w", action, o, at, err)
}

// unfolded returns the object, or those of a list, without kustomizations and the like.
func unfolded(object map[string]any) []*unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: object}
	if !u.IsList() {
		if ssautil.IsKubernetesObject(u) && !ssautil.IsKustomization(u) {
			return []*unstructured.Unstructured{u}
		}
		return nil
	}
	var all []*unstructured.Unstructured
	items, _ := object["items"].([]any)
	for _, item := range items {
		if item, ok := item.(map[string]any); ok {
			all = append(all, &unstructured.Unstructured{Object: item})
		}
	}
	return all
}

// digestOf returns the digest of objects in their order. JSON sorts keys.
func digestOf(objects []*unstructured.Unstructured) (string, error) {
	sum := sha256.New()
	encoder := json.NewEncoder(sum)
	for _, object := range objects {
		if err := encoder.Encode(object.Object); err != nil {
			return "", fmt.Errorf("digest of the build: %w", err)
		}
	}
	return digestText(sum), nil
}

func digestText(sum hash.Hash) string { return "sha256:" + hex.EncodeToString(sum.Sum(nil)) }

// Fingerprint returns a digest of everything that determines the build of an artifact. It reads the
// ConfigMaps and Secrets that the Kustomization names, but no files.
func Fingerprint(ctx context.Context, in Input, artifact string) (string, error) {
	spec := in.Object.Spec
	parts := []any{artifact, in.Strict, in.KeepEncrypted, spec.Path, spec.TargetNamespace, spec.NamePrefix, spec.NameSuffix, spec.Patches, spec.Images,
		spec.Components, spec.IgnoreMissingComponents, spec.BuildMetadata, spec.CommonMetadata, spec.PostBuild, spec.Decryption}
	if spec.PostBuild != nil {
		vars, err := in.variables(ctx)
		if err != nil {
			return "", err
		}
		parts = append(parts, vars)
	}
	if d := spec.Decryption; d != nil && d.SecretRef != nil && in.Values != nil && !in.KeepEncrypted {
		data, err := in.keyData(ctx)
		if err != nil {
			return "", err
		}
		parts = append(parts, data)
	}
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode(parts); err != nil {
		return "", fmt.Errorf("fingerprint of the build: %w", err)
	}
	return digestText(sum), nil
}

// lineBehind returns the first line with a text after an object's first line, or that line.
func (l *look) lineBehind(p place, text string) int {
	i := slices.IndexFunc(l.files, func(file string) bool { return l.t.name(file) == p.file })
	if i < 0 {
		return p.line
	}
	data, err := l.t.ReadFile(l.files[i])
	if err != nil {
		return p.line
	}
	lines := strings.Split(string(data), "\n")
	for i := max(p.line-1, 0); i < len(lines); i++ {
		if strings.Contains(lines[i], text) {
			return i + 1
		}
	}
	return p.line
}
