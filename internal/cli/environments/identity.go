// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/preview/worktree"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/catalog"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
)

// annotationRepository says which library a stack or an artifact is of. Directories of the same name in two
// repositories must not replace each other's files.
const annotationRepository = "yuba.dev/repository"

// identities are the names of the library: the addresses of its repository without credentials, with the
// directory in it. The first is written down. Without an address, it is the directory on this machine.
func (p *place) identities(ctx context.Context) (list []string) {
	root, err := filepath.EvalSymlinks(p.root)
	if err != nil {
		root = p.root
	}
	if r, err := worktree.Open(ctx, root); err == nil {
		inside, err := filepath.Rel(r.Root, root)
		if err == nil && filepath.IsLocal(inside) {
			addresses := r.Addresses(ctx)
			for _, a := range addresses[:max(0, len(addresses)-1)] { // the last is the directory
				if inside != "." {
					a += "//" + filepath.ToSlash(inside)
				}
				list = append(list, a)
			}
		}
	}
	host, _ := os.Hostname() //nolint:errcheck // then only the directory tells
	return append(list, host+":"+filepath.ToSlash(root))
}

// sourceOf is the source of the stack.
func (o *connection) sourceOf(name string) (kind, of string, err error) {
	if o.source == "" {
		return infrav1.SourceKindExternalArtifact, name, nil
	}
	kind, of, ok := strings.Cut(o.source, "/")
	if !ok {
		return "", "", ui.Exitf(ui.ExitUsage, "--source %s: want KIND/NAME, such as GitRepository/live", o.source)
	}
	return kind, of, nil
}

func newArtifact() *unstructured.Unstructured {
	artifact := &unstructured.Unstructured{Object: map[string]any{}}
	artifact.SetGroupVersionKind(sourcev1.GroupVersion.WithKind(infrav1.SourceKindExternalArtifact))
	return artifact
}

// TakenError says that something on the server belongs to something else.
type TakenError struct {
	Environment, What, Why, Next string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("connect %s: %s %s. %s. If this is the same one, take it over:\n    yuba env connect %s --replace", e.Environment, e.What, e.Why, e.Next, e.Environment)
}

// free reports the stack as it is (nil if there is none), and refuses if the stack or the artifact belongs to
// something else.
func (p *place) free(ctx context.Context, s *session.Session, key types.NamespacedName, o *connection) (*infrav1.Terraform, error) {
	kind, name, err := o.sourceOf(p.sourceName())
	if err != nil {
		return nil, err
	}
	ours := p.identities(ctx)
	before := &infrav1.Terraform{}
	err = s.Objects.Get(ctx, key, before)
	switch {
	case apierrors.IsNotFound(err):
		before = nil
	case err != nil:
		return nil, fmt.Errorf("get %s: %w", key, err)
	case !o.takeOver:
		ref, other := before.Spec.SourceRef, before.Annotations[annotationRepository]
		why := ""
		switch {
		case before.Spec.Path != "./"+p.env.Dir:
			why = fmt.Sprintf("exists already, with the path %q", before.Spec.Path)
		case ref.Kind != kind || ref.Name != name || cmp.Or(ref.Namespace, key.Namespace) != key.Namespace:
			why = fmt.Sprintf("exists already, with the source %s/%s in place of %s/%s", ref.Kind, ref.Name, kind, name)
		case other != "" && !slices.Contains(ours, other):
			why = "is of the repository " + ui.OneLine(other)
		}
		if why != "" {
			return nil, ui.WithCode(ui.ExitRefused, &TakenError{p.label(), "the stack " + key.String(), why, fmt.Sprintf("Choose another name for it in %s: environments.%s.stack", catalog.FileName, p.env.Name)})
		}
	}
	if o.source != "" || o.takeOver {
		return before, nil
	}
	artifact := newArtifact()
	err = s.Objects.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: name}, artifact)
	switch {
	case apierrors.IsNotFound(err):
		return before, nil
	case err != nil:
		return nil, fmt.Errorf("get the ExternalArtifact %s: %w", name, err)
	}
	if other := artifact.GetAnnotations()[annotationRepository]; !slices.Contains(ours, other) {
		why := "is of the repository " + ui.OneLine(other)
		if other == "" {
			why = "was pushed by something else, and stacks may use its files"
		}
		return nil, ui.WithCode(ui.ExitRefused, &TakenError{p.label(), "the ExternalArtifact " + name, why, "Rename the directory of this repository, or use a source with --source"})
	}
	return before, nil
}

// claim writes down whose the artifact is, before its files are pushed.
func (p *place) claim(ctx context.Context, s *session.Session, key types.NamespacedName) error {
	artifact := newArtifact()
	artifact.SetNamespace(key.Namespace)
	artifact.SetName(key.Name)
	artifact.SetAnnotations(map[string]string{annotationRepository: p.identities(ctx)[0]})
	artifact.Object["spec"] = map[string]any{}
	if err := s.Objects.Patch(ctx, artifact, yamltext.Apply, session.FieldOwner, client.ForceOwnership); err != nil {
		return fmt.Errorf("claim the ExternalArtifact %s for this repository: %w", key, err)
	}
	return nil
}
