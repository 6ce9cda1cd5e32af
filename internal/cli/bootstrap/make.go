// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/yamltext"
	"github.com/yuba-dev/yuba/internal/platform/blueprint"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// making are the flags of the command that makes a platform.
type making struct {
	from, modules string
	credentials   map[string]string
	follow        followFlags
}

// makes makes cmd the command that makes a platform.
func (g *group) makes(cmd *cobra.Command) {
	var f making
	flags := cmd.Flags()
	flags.StringVarP(&f.from, "from", "f", "", "the file with the blueprint (\"-\" for stdin)")
	flags.StringVar(&f.modules, "modules", "", "a directory with the modules, stored as the ExternalArtifact that the blueprint's library names")
	flags.StringToStringVar(&f.credentials, "credentials", nil, "a file with lines NAME=VALUE to store as a Secret, as SECRET=FILE; can be repeated")
	f.follow.add(cmd)
	h := g.AddHome(cmd)
	out := ui.AddOutputFlag(cmd, "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		g.enter()
		clean, err := f.unbundle(cmd, g.DataDirectory())
		if err != nil {
			return err
		}
		defer clean()
		if f.from == "" {
			if !g.Interactive() || out.Machine() {
				return ui.UsageErrorf(cmd, "there is no terminal to ask on: name a blueprint with --from FILE")
			}
			file, err := g.ask()
			if err != nil {
				return err
			}
			f.from = file
		}
		b, err := g.read(f.from)
		if err != nil {
			return err
		}
		return g.with(cmd, h, func(ctx context.Context, s *session.Session, r *running) error {
			key, err := f.apply(ctx, g, s, b)
			if err != nil {
				return err
			}
			r.mark(b.Platform.Spec.Domain.FQDN)
			return g.follow(ctx, s, r, key, f.follow, out)
		})
	}
}

// with runs an action with a home, for as long as --timeout allows.
func (g *group) with(cmd *cobra.Command, h Home, do func(context.Context, *session.Session, *running) error) (err error) {
	s, r, err := g.open(cmd, h)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stop()) }()
	ctx, cancel := ui.WithTimeout(cmd)
	defer cancel()
	return do(ctx, s, r)
}

// read reads a blueprint; its problems are the error.
func (g *group) read(file string) (*blueprint.Blueprint, error) {
	text, err := g.ReadFile(file, blueprint.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("read the blueprint: %w", err)
	}
	b, problems, err := blueprint.Read(text)
	if err != nil {
		return nil, ui.Exitf(ui.ExitUsage, "%s: %w", file, err)
	}
	if len(problems) > 0 {
		return nil, ui.Exitf(ui.ExitUsage, "%s cannot be made; nothing was changed:\n%s", file, listOf(problems))
	}
	return b, nil
}

func listOf(problems []plan.Problem) string {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = "  - " + p.String()
	}
	return strings.Join(lines, "\n")
}

// apply writes everything that the server needs into the API, and returns the platform.
func (f *making) apply(ctx context.Context, g *group, s *session.Session, b *blueprint.Blueprint) (key types.NamespacedName, err error) {
	key = types.NamespacedName{Namespace: s.Namespace, Name: b.Object.GetName()}
	if ns := b.Object.GetNamespace(); ns != "" {
		key.Namespace = ns
	}
	before, err := g.known(ctx, s, b.Platform.Spec.Domain.FQDN)
	if err != nil {
		return key, err
	}
	if before != nil {
		key = client.ObjectKeyFromObject(before)
		b.Platform.Name = key.Name
		if err := g.confirmRemovals(before, b.Platform, f.follow.yes); err != nil {
			return key, err
		}
	}
	if err := f.store(ctx, g, s, b, key.Namespace); err != nil {
		return key, err
	}
	b.Object.SetNamespace(key.Namespace)
	b.Object.SetName(key.Name)
	if err := s.Objects.Patch(ctx, b.Object, yamltext.Apply, session.FieldOwner, client.ForceOwnership); err != nil {
		return key, fmt.Errorf("apply the blueprint: %w", err)
	}
	return key, nil
}

// store stores modules and credentials.
func (f *making) store(ctx context.Context, g *group, s *session.Session, b *blueprint.Blueprint, namespace string) error {
	if f.modules != "" {
		l := b.Platform.Spec.Library
		if l == nil || l.SourceRef.Kind != "ExternalArtifact" {
			return ui.Exitf(ui.ExitUsage, "--modules stores an ExternalArtifact, and spec.library.sourceRef of the blueprint does not name one")
		}
		if _, err := g.Push(ctx, s, f.modules, types.NamespacedName{Namespace: namespace, Name: l.SourceRef.Name}); err != nil {
			return err
		}
	}
	for name, file := range f.credentials {
		if err := storeCredentials(ctx, g, s, types.NamespacedName{Namespace: namespace, Name: name}, file); err != nil {
			return err
		}
	}
	return nil
}

// maxCredentials limits a file with credentials.
const maxCredentials = 64 << 10

// storeCredentials stores the lines of a file as a Secret. Errors quote no values.
func storeCredentials(ctx context.Context, g *group, s *session.Session, key types.NamespacedName, file string) error {
	text, err := g.ReadFile(file, maxCredentials)
	if err != nil {
		return fmt.Errorf("read the credentials %s: %w", key.Name, err)
	}
	secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: map[string][]byte{}}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if !ok || strings.ContainsAny(name, " \t") {
			return ui.Exitf(ui.ExitUsage, "read the credentials %s: line %d of %s is not NAME=VALUE", key.Name, i+1, file)
		}
		secret.Data[name] = []byte(unquoted(value))
	}
	if len(secret.Data) == 0 {
		return ui.Exitf(ui.ExitUsage, "read the credentials %s: %s has no lines NAME=VALUE", key.Name, file)
	}
	err = s.Objects.Create(ctx, secret, session.FieldOwner)
	if apierrors.IsAlreadyExists(err) {
		err = s.Objects.Patch(ctx, secret, client.Merge, session.FieldOwner)
	}
	if err != nil {
		return fmt.Errorf("store the credentials %s: %w", key, err)
	}
	return nil
}

func unquoted(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// known finds the platform with a DNS name; nil if there is none.
func (g *group) known(ctx context.Context, s *session.Session, fqdn string) (*yubav1.Platform, error) {
	all, err := platforms(ctx, s, s.Namespace)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Spec.Domain.FQDN == fqdn {
			return &all[i], nil
		}
	}
	return nil, nil
}

func platforms(ctx context.Context, s *session.Session, namespace string) (all []yubav1.Platform, err error) {
	objects, _, err := s.ListObjects(ctx, session.Platforms, namespace)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		var p yubav1.Platform
		if err := o.As(&p); err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b yubav1.Platform) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// confirmRemovals asks before a change of a blueprint destroys something.
func (g *group) confirmRemovals(before, after *yubav1.Platform, yes bool) error {
	if after.Spec.Removal == yubav1.RemovalKeep || before.Spec.Decommission {
		return nil
	}
	wanted := map[string]bool{}
	for _, step := range plan.Steps(after, plan.Given{}) {
		wanted[step.ID] = true
	}
	var gone []string
	for _, phase := range before.Status.Phases {
		if !wanted[phase.Name] {
			gone = append(gone, phase.Name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return g.MustConfirm(yes, fmt.Sprintf("The blueprint has lost %s. Yuba destroys their resources; there is no undo. Do you really want that?", strings.Join(gone, ", ")))
}

// now is the time of requests.
func now() time.Time { return time.Now() }
