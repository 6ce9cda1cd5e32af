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

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/apart"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
)

// Input is what a build is made from.
type Input struct {
	// Object is the Kustomization; only its name, its namespace and its spec are read.
	Object *kustomizev1.Kustomization
	// Dir is the root of the unpacked artifact, below which spec.path lies. Nothing is written there.
	Dir string
	// Values reads the ConfigMaps and Secrets that the Kustomization names, keys for decryption among them. Without it
	// none are read: variables are those of postBuild.substitute alone, and what is encrypted stays so.
	Values Reader
	// Strict fails the build when a variable without a default has no value. That is Flux's default
	// (its feature gate StrictPostBuildSubstitutions); without it such a variable is an empty text.
	Strict bool
	// Programs finds the programs that decrypt, and that build where a tree could grow without bounds while it is built.
	// Without it everything is built in this process and nothing is decrypted: that is for people and trees of their own.
	Programs apart.Finder
	// KeepEncrypted leaves what is encrypted as it is, and reads no keys: for those who only show a build.
	KeepEncrypted bool
	// apart builds all that kustomize builds in a process of its own, for tests.
	apart bool
}

// Result is a build.
type Result struct {
	// Objects are what is to be applied, in kustomize's order. They belong to the caller.
	Objects []*unstructured.Unstructured
	// Digest is "sha256:…" over the objects: equal digests mean equal objects in equal order.
	Digest string
}

// Build makes the objects. A *PathError says that spec.path is not in the artifact, a *LimitError that the tree is larger
// than trees may be. When the context ends, Build returns although kustomize may still be at work.
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
	resources, l, err := t.resources(ctx, in)
	if err != nil {
		return nil, err
	}
	f.look = l
	objects, err := f.objects(ctx, resources)
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

// finisher makes objects of what kustomize gives.
type finisher struct {
	look       *look
	keys       *decrypt.Keys
	vars       map[string]string
	substitute bool
	strict     bool
	// plaintextOnly refuses Secrets that are still encrypted.
	plaintextOnly bool
}

// objects decrypts, substitutes and unfolds. Undefined variables are collected, so that all are named at once.
func (f *finisher) objects(ctx context.Context, resources []made) ([]*unstructured.Unstructured, error) {
	objects := make([]*unstructured.Unstructured, 0, len(resources))
	var undefined []error
	size := 0
	for _, r := range resources {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("build directory %s: %w", f.look.t.name(f.look.t.dir), context.Cause(ctx))
		}
		object, err := f.object(r)
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

// sizeOf is about what a value takes in memory.
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

// together names the first of many errors.
func together(errs []error) error {
	const most = 5
	if len(errs) > most {
		errs = append(errs[:most:most], fmt.Errorf("and %d more objects with undefined variables", len(errs)-most))
	}
	return errors.Join(errs...)
}

// object makes one object of a resource.
func (f *finisher) object(r made) (map[string]any, error) {
	if r.GetName() == "" || r.GetKind() == "" || r.GetApiVersion() == "" {
		return nil, fmt.Errorf("an object of the build lacks apiVersion, kind or metadata.name: it has kind %q and name %q", r.GetKind(), r.GetName())
	}
	data, err := r.MarshalJSON()
	if err != nil {
		if twice := f.look.repeatedIn(r.GetKind(), r.GetName()); twice != nil {
			return nil, twice
		}
		return nil, f.failed("read", r, errors.New("it cannot be written as JSON"))
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(data, &object); err != nil {
		return nil, f.failed("read", r, errors.New("it is no object"))
	}
	kept := substituteDisabled(object)
	if f.keys != nil {
		if object, _, err = f.keys.Object(object); err != nil {
			return nil, f.failed("decrypt", r, err)
		}
	}
	if f.plaintextOnly && r.GetKind() == "Secret" && r.GetApiVersion() == "v1" && object["sops"] != nil {
		return nil, f.failed("apply", r, errors.New("it is encrypted with SOPS; name the key in spec.decryption"))
	}
	if f.substitute && !kept {
		if object, err = substitute(object, f.vars, f.strict); err != nil {
			return nil, f.failed("substitute variables in", r, err)
		}
	}
	return object, nil
}

// substituteDisabled tells whether an object says that its text is to stay as it is.
func substituteDisabled(object map[string]any) bool {
	metadata, _ := object["metadata"].(map[string]any)
	for _, field := range []string{"labels", "annotations"} {
		if values, _ := metadata[field].(map[string]any); values[substituteKey] == disabled {
			return true
		}
	}
	return false
}

// failed says what failed with an object and where that object stands: for a variable the line that names it.
func (f *finisher) failed(action string, r made, err error) error {
	at := ""
	if p, found := f.look.where(r.GetKind(), r.GetName()); found {
		line := p.line
		if missing := (*undefinedError)(nil); errors.As(err, &missing) {
			line = f.look.lineBehind(p, "${"+missing.names[0])
		}
		if unreadable := (*expressionError)(nil); errors.As(err, &unreadable) && unreadable.text != "" {
			line = f.look.lineBehind(p, unreadable.text)
		}
		at = fmt.Sprintf(" (%s:%d)", p.file, line)
	}
	return fmt.Errorf("%s %s%s: %w", action, describe(r), at, err)
}

// unfolded is the object, or those of a list, without what is no object of the API.
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

// digestOf is the digest of objects in their order. Keys are sorted in JSON, so that equal objects are equal bytes.
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

// Fingerprint is a digest of everything that goes into a build of an artifact: while it is the same, so is the build. It
// reads the ConfigMaps and Secrets that the Kustomization names, and no file.
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
		data, err := in.Values.Secret(ctx, in.Object.Namespace, d.SecretRef.Name)
		if err != nil {
			return "", fmt.Errorf("keys of spec.decryption: read Secret %s/%s: %w", in.Object.Namespace, d.SecretRef.Name, err)
		}
		parts = append(parts, data)
	}
	sum := sha256.New()
	if err := json.NewEncoder(sum).Encode(parts); err != nil {
		return "", fmt.Errorf("fingerprint of the build: %w", err)
	}
	return digestText(sum), nil
}

// lineBehind is the first line with a text at or behind an object's first line, or that line itself.
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
