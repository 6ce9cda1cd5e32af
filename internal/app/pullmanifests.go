// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	pullrequests "github.com/yuba-dev/yuba/internal/pullrequests/controller"
)

// Manifests implements [pullrequests.Sources].
func (p *pullSources) Manifests(ctx context.Context, all []kustomizev1.Kustomization, base, head *pullrequests.Source, changed []string) (before, after []pullrequests.Manifest, err error) {
	trees := filepath.Join(p.engine.dir.Sources(), "trees")
	if err := os.MkdirAll(trees, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the directory for manifests: %w", err)
	}
	dir, err := os.MkdirTemp(trees, "tree-pull-")
	if err != nil {
		return nil, nil, fmt.Errorf("make the directory for manifests: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the next start removes what is left
	for name, s := range map[string]*pullrequests.Source{"base": base, "head": head} {
		if err := p.unpack(ctx, s.Digest, filepath.Join(dir, name)); err != nil {
			return nil, nil, err
		}
	}
	if before, err = p.build(ctx, all, filepath.Join(dir, "base")); err != nil {
		return nil, nil, fmt.Errorf("of the base: %w", err)
	}
	tree := "head"
	if changed != nil {
		if tree = "base"; err == nil {
			err = merge(dir, changed)
		}
	}
	if err == nil {
		after, err = p.build(ctx, all, filepath.Join(dir, tree))
	}
	return before, after, err
}

func (p *pullSources) unpack(ctx context.Context, digest, dir string) error {
	packed, err := p.engine.blobs.OpenArtifact(ctx, digest)
	if err != nil {
		return err
	}
	defer packed.Close() //nolint:errcheck // read only
	_, err = archive.Extract(ctx, packed, dir, p.limits(), digest)
	return err
}

// merge puts the changed files of the tree "head" into the tree "base". The names come from a forge:
// nothing outside of the directory is touched. A file can have become a directory, or the reverse.
func merge(dir string, changed []string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing is written by it
	changed = slices.DeleteFunc(slices.Clone(changed), func(name string) bool { return !filepath.IsLocal(name) || path.Clean(name) == "." })
	for _, name := range changed {
		if err := root.RemoveAll(path.Join("base", name)); err != nil && !absent(err) {
			return fmt.Errorf("merge the changed files: %w", err)
		}
	}
	for _, name := range changed {
		from, to := path.Join("head", name), path.Join("base", name)
		info, err := root.Lstat(from)
		if absent(err) || err == nil && info.IsDir() {
			continue
		}
		if err == nil {
			if err = root.MkdirAll(path.Dir(to), 0o700); err == nil {
				err = root.Rename(from, to)
			}
		}
		if err != nil {
			return fmt.Errorf("merge the changed files: %w", err)
		}
	}
	return nil
}

// absent reports whether an error says that there is no such file, because a directory of its path is none.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// maxPullManifests limits the bytes of all stacks' manifests in one tree. A thousand stacks have some MiB.
const maxPullManifests = 32 << 20

// build builds the stacks that Kustomizations make of a tree.
func (p *pullSources) build(ctx context.Context, all []kustomizev1.Kustomization, dir string) (out []pullrequests.Manifest, err error) {
	size := 0
	for i := range all {
		k := &all[i]
		result, err := p.engine.buildKustomization(ctx, build.Input{Object: k, Dir: dir, Values: withholding{build.FromAPI(p.direct)}, Strict: true, KeepEncrypted: true})
		var missing *build.PathError
		if errors.As(err, &missing) {
			continue // it makes nothing of this tree
		}
		if err != nil {
			return nil, fmt.Errorf("build Kustomization %s/%s: %w", k.Namespace, k.Name, err)
		}
		for _, o := range result.Objects {
			if gvk := o.GroupVersionKind(); gvk.Group != infrav1.GroupVersion.Group || gvk.Kind != infrav1.Kind {
				continue
			}
			o.SetNamespace(cmp.Or(o.GetNamespace(), k.Spec.TargetNamespace, k.Namespace))
			o.SetAPIVersion(infrav1.GroupVersion.String())
			object, err := json.Marshal(o)
			if err != nil {
				return nil, err
			}
			if size += len(object); size > maxPullManifests {
				return nil, fmt.Errorf("the manifests of stacks have more than %d MiB", maxPullManifests>>20)
			}
			out = append(out, pullrequests.Manifest{Namespace: o.GetNamespace(), Name: o.GetName(), Object: object,
				Kustomization: client.ObjectKeyFromObject(k), Prunes: k.Spec.Prune})
		}
	}
	return out, nil
}

// withholding reads ConfigMaps, and the keys of Secrets without their values: who may push could show
// them in a manifest.
type withholding struct{ build.Reader }

// Secret implements [build.Reader].
func (w withholding) Secret(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	data, err := w.Reader.Secret(ctx, namespace, name)
	for key := range data {
		data[key] = []byte(pullrequests.Withheld)
	}
	return data, err
}

// Foresee implements [pullrequests.Sources]: the API server sets defaults, validates, and stores nothing.
func (p *pullSources) Foresee(ctx context.Context, manifest []byte) ([]byte, error) {
	var given, live infrav1.Terraform
	if err := json.Unmarshal(manifest, &given); err != nil {
		return nil, err
	}
	given.Status = infrav1.TerraformStatus{}
	err := p.api.Get(ctx, client.ObjectKeyFromObject(&given), &live)
	switch {
	case apierrors.IsNotFound(err):
		err = p.api.Create(ctx, &given, client.DryRunAll)
	case err == nil:
		live.Labels, live.Annotations = given.Labels, given.Annotations
		given.ObjectMeta = live.ObjectMeta
		err = p.api.Update(ctx, &given, client.DryRunAll)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(&given)
}
