// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/archive"
)

// includeError says why an include is unavailable.
type includeError struct {
	reason, message string
	stalled         bool
}

func (e *includeError) Error() string { return e.message }

// maxIncludeDepth limits how far nested includes are followed to find a cycle.
const maxIncludeDepth = 32

// findIncludes returns the artifacts to include, in the order of the spec.
func findIncludes(ctx context.Context, reader client.Reader, o Object, include []sourcev1.GitRepositoryInclude) ([]*meta.Artifact, error) {
	var artifacts []*meta.Artifact
	self := client.ObjectKeyFromObject(o)
	for _, in := range include {
		name := types.NamespacedName{Namespace: self.Namespace, Name: in.GitRepositoryRef.Name}
		var other sourcev1.GitRepository
		if err := reader.Get(ctx, name, &other); err != nil {
			if !apierrors.IsNotFound(err) {
				return nil, fmt.Errorf("read the included GitRepository %s: %w", name, err)
			}
			return nil, &includeError{reason: "NotFound", message: fmt.Sprintf("could not get resource for include '%s': there is no GitRepository %s", name.Name, name)}
		}
		circle, err := includesItself(ctx, reader, self, &other)
		if err != nil {
			return nil, err
		}
		if circle {
			// Each would be updated for every new artifact of the other, forever.
			return nil, &includeError{reason: "IncludeCycle", stalled: true,
				message: fmt.Sprintf("include '%s' leads back to this GitRepository. Remove one of the includes", name.Name)}
		}
		if other.Status.Artifact == nil {
			return nil, &includeError{reason: "NoArtifact", message: fmt.Sprintf("no artifact available for include '%s'", name.Name)}
		}
		artifacts = append(artifacts, other.Status.Artifact.DeepCopy())
	}
	return artifacts, nil
}

// includesItself follows includes, each once.
func includesItself(ctx context.Context, reader client.Reader, self types.NamespacedName, at *sourcev1.GitRepository) (bool, error) {
	seen := map[string]bool{}
	level := []*sourcev1.GitRepository{at}
	for depth := 0; len(level) > 0; depth++ {
		var below []*sourcev1.GitRepository
		for _, one := range level {
			if client.ObjectKeyFromObject(one) == self || depth > maxIncludeDepth {
				return true, nil
			}
			for _, in := range one.Spec.Include {
				name := types.NamespacedName{Namespace: self.Namespace, Name: in.GitRepositoryRef.Name}
				if seen[name.Name] {
					continue
				}
				seen[name.Name] = true
				next := &sourcev1.GitRepository{}
				if err := reader.Get(ctx, name, next); apierrors.IsNotFound(err) {
					continue
				} else if err != nil {
					return false, fmt.Errorf("read the included GitRepository %s: %w", name, err)
				}
				below = append(below, next)
			}
		}
		level = below
	}
	return false, nil
}

// differ reports whether the artifacts differ from those in the status.
func differ(now, status []*meta.Artifact) bool {
	return !slices.EqualFunc(now, status, func(a, b *meta.Artifact) bool {
		return b != nil && a.Digest == b.Digest && a.Revision == b.Revision
	})
}

// maxIncluded limits all includes of an object together: bytes, unless the limits of archives are
// lower, and files. It is checked before they fill the disk.
const (
	maxIncluded      = 4 << 30
	maxIncludedFiles = 200_000
)

// CopyIncludes copies included trees to dir, as they are in the artifacts with these digests. beside is a directory for
// temporary files.
func CopyIncludes(ctx context.Context, store Store, limits archive.Limits, dir, beside string, include []sourcev1.GitRepositoryInclude, digests []string) error {
	artifacts := make([]*meta.Artifact, 0, len(digests))
	for _, digest := range digests {
		artifacts = append(artifacts, &meta.Artifact{Digest: digest})
	}
	return newPacks(store, limits).copyIncludes(ctx, dir, beside, include, artifacts)
}

// copyIncludes copies the included trees to dir. beside is a directory for temporary files.
func (p *packs) copyIncludes(ctx context.Context, dir, beside string, include []sourcev1.GitRepositoryInclude, artifacts []*meta.Artifact) error {
	bytes, files := cmp.Or(p.limits.MaxUnpacked, maxIncluded), int(cmp.Or(p.limits.MaxEntries, maxIncludedFiles))
	for i, in := range include {
		tree := filepath.Join(beside, fmt.Sprintf("include-%d", i))
		packed, err := p.store.OpenArtifact(ctx, artifacts[i].Digest)
		if err != nil {
			return fmt.Errorf("open the artifact of include '%s': %w", in.GitRepositoryRef.Name, err)
		}
		unpacked, err := archive.Extract(ctx, packed, tree, p.limits, artifacts[i].Digest)
		if err := errors.Join(err, packed.Close()); err != nil {
			return fmt.Errorf("unpack the artifact of include '%s': %w", in.GitRepositoryRef.Name, err)
		}
		for name, file := range unpacked.Files {
			if from := inside(in.GetFromPath()); from == "." || name == from || strings.HasPrefix(name, from+"/") {
				bytes, files = bytes-file.Size, files-1
			}
		}
		if bytes < 0 || files < 0 {
			return fmt.Errorf("copy include '%s': together, the includes exceed the limit of bytes or files of an artifact", in.GitRepositoryRef.Name)
		}
		err = copyTree(ctx, tree, in.GetFromPath(), dir, in.GetToPath())
		if err := errors.Join(err, os.RemoveAll(tree)); err != nil {
			return fmt.Errorf("copy include '%s' from '%s' to '%s': %w", in.GitRepositoryRef.Name, in.GetFromPath(), in.GetToPath(), err)
		}
	}
	return nil
}

// inside makes a path relative to the tree's root, and keeps it inside.
func inside(name string) string {
	if name = strings.TrimPrefix(path.Clean("/"+filepath.ToSlash(name)), "/"); name == "" {
		return "."
	}
	return name
}

// copyTree copies a path of one tree to another. Neither paths nor links can leave the trees.
func copyTree(ctx context.Context, tree, from, dir, to string) error {
	in, err := os.OpenRoot(tree)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // read only
	out, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer out.Close() //nolint:errcheck // no more writes go through it
	from, to = inside(from), inside(to)
	return fs.WalkDir(in.FS(), from, func(name string, d fs.DirEntry, err error) error {
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		rest := strings.TrimPrefix(strings.TrimPrefix(name, from), "/")
		if from == "." {
			rest = name
		}
		return copyEntry(in, out, name, path.Join(to, rest), d)
	})
}

func copyEntry(in, out *os.Root, name, to string, d fs.DirEntry) error {
	if d.IsDir() {
		return out.MkdirAll(to, 0o755)
	}
	if err := out.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	// Remove what exists: writing through a link would change something else.
	if err := out.RemoveAll(to); err != nil {
		return err
	}
	if d.Type()&fs.ModeSymlink != 0 {
		target, err := in.Readlink(name)
		if err != nil {
			return err
		}
		return out.Symlink(target, to)
	}
	content, err := in.Open(name)
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // read only
	info, err := content.Stat()
	if err != nil {
		return err
	}
	file, err := out.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
