// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	applications "github.com/yuba-dev/yuba/internal/applications/controller"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// definedPrograms finds the programs of application definitions, where stacks find theirs.
type definedPrograms struct {
	sources *reads.Sources
	modules *catalog.Catalog
	own     func(source string) (layout.Module, bool)
}

var _ applications.Programs = definedPrograms{}

// InSource implements [applications.Programs]. Definitions are written for the whole platform, so their
// sources may be in any namespace; whether stacks may use them there is another question.
func (d definedPrograms) InSource(ctx context.Context, kind string, name types.NamespacedName, dir string) (*applications.Program, error) {
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace}, Spec: infrav1.TerraformSpec{Path: dir,
		SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: kind, Name: name.Name, Namespace: name.Namespace}}}
	found, err := d.sources.Find(ctx, stack, false)
	place := fmt.Sprintf("%s %s", kind, name)
	if clean := path.Clean("/" + dir); clean != "/" {
		place = fmt.Sprintf("%s of %s", clean[1:], place)
	}
	var wrong *reads.SourceError
	switch {
	case errors.As(err, &wrong) && wrong.Lasting && wrong.Revision != "":
		return &applications.Program{Name: fmt.Sprintf("%s at %s", place, wrong.Revision), Problem: wrong.Message}, nil
	case errors.As(err, &wrong):
		return nil, &applications.UnknownError{Message: wrong.Message}
	case err != nil:
		return nil, err
	case found.Template():
		return nil, &applications.UnknownError{Message: place + " is a template of a program", Never: true}
	}
	program := &applications.Program{Name: fmt.Sprintf("%s at %s", place, found.Revision())}
	root, mistakes := found.Root()
	if program.Module = root; mistakes.HasErrors() {
		program.Problem = mistakes.AsError().Error()
	}
	return program, nil
}

// OfModule implements [applications.Programs].
func (d definedPrograms) OfModule(ctx context.Context, source, versions string) (*applications.Program, error) {
	m, own := d.own(source)
	if !own {
		return nil, &applications.UnknownError{Message: fmt.Sprintf("the module %s is not in this server's registry", source), Never: true}
	}
	allowed, err := inspect.ParseConstraints(versions)
	if err != nil {
		return &applications.Program{Name: "the module " + source, Problem: err.Error()}, nil
	}
	list, err := d.modules.Versions(ctx, m)
	if errors.Is(err, catalog.ErrNone) {
		return nil, &applications.UnknownError{Message: fmt.Sprintf("the registry has no module %s. Publish it: yuba registry push DIR %s@VERSION", m, m)}
	}
	if err != nil {
		return nil, err
	}
	for _, release := range list {
		if !usable(release, versions) || !allowed.Allow(release.Version) {
			continue
		}
		if release, err = d.modules.Describe(ctx, release.ModuleVersion); err != nil {
			return nil, err
		}
		if release.Interface == nil {
			return nil, &applications.UnknownError{Message: fmt.Sprintf("what the module %s@%s declares is not known", m, release.Version), Never: true}
		}
		return &applications.Program{Name: fmt.Sprintf("the module %s@%s", m, release.Version), Module: release.Interface.Module()}, nil
	}
	return nil, &applications.UnknownError{Message: fmt.Sprintf("the registry has no version of the module %s that %q allows; the newest is %s", m, versions, list[0].Version)}
}

// usable reports whether a run would use a release: tofu takes a pre-release only when exactly that is
// asked for.
func usable(r catalog.Release, versions string) bool {
	if r.Problem != "" || r.Notice != nil && r.Notice.Kind == catalog.Revoked {
		return false
	}
	return !strings.Contains(r.Version, "-") || strings.Contains(versions, r.Version)
}

// announceModules lets definitions be compared again when this server publishes a version of their module.
func (e *engine) announceModules(ctx context.Context, to *applications.Applications) {
	e.registry.modules.Announce(func(changed layout.Module) {
		to.ModuleChanged(ctx, func(source string) bool {
			m, own := e.ownModule(source)
			return own && m == changed
		})
	})
}
