// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	k8syaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// NewCommand is "yuba definition".
func NewCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use: "definition", Aliases: []string{"definitions", "appdef"},
		Short: "Work with the definitions of application kinds",
		Long: `Work with ApplicationDefinitions, which declare application kinds: list them, write examples and reference pages of their
kinds, preview what a changed definition does to all instances, follow its rollout and go back. For the instances themselves,
see "yuba app".`,
		Example: "  yuba definition list\n  yuba definition example bucket\n  yuba definition diff -f bucket.yaml\n  yuba definition rollback bucket",
	}, newListCommand(a), newExampleCommand(a), newDocsCommand(a), newDiffCommand(a), newHistoryCommand(a), newRollbackCommand(a), newPauseCommand(a), newResumeCommand(a))
}

// maxFile exceeds the size of objects that an API accepts.
const maxFile = 64 << 20

// source says where a command finds its definition.
type source struct {
	*session.App
	file string
}

func (s *source) flag(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.file, "filename", "f", "", "read the definition from this file (\"-\" for stdin) instead of from the API")
}

// arguments requires a name unless there is a file.
func (s *source) arguments(cmd *cobra.Command, args []string) error {
	if s.file == "" && len(args) == 0 {
		return ui.UsageErrorf(cmd, "name a definition, or a file with one (-f)")
	}
	return ui.Arguments(0, 1)(cmd, args)
}

func nameOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}

// find returns the definition that a user names, from the file or the API.
func (s *source) find(ctx context.Context, args []string) (*appv1.ApplicationDefinition, error) {
	if s.file != "" {
		return fromFile(s.Console, s.file, nameOf(args))
	}
	connected, err := s.Connect()
	if err != nil {
		return nil, err
	}
	d, err := fromAPI(ctx, connected, args[0])
	if err == nil && d == nil {
		return nil, ui.Exitf(ui.ExitNotFound, "there is no definition %s. List them:\n    yuba definition list", args[0])
	}
	return d, err
}

// parse reads a definition, and reports its mistakes.
func parse(d *appv1.ApplicationDefinition) (*definition.Definition, finding.List, error) {
	parsed, found := definition.Parse(d)
	if parsed == nil {
		return nil, found, ui.Exitf(ui.ExitFailure, "the definition %s has mistakes:\n%s", d.Name, diagnostic.Printable(indented(found.Of(finding.Error))))
	}
	return parsed, found, nil
}

func indented(list finding.List) string { return ui.Indented(list.String()) }

// fromAPI returns a definition of the API, or nil.
func fromAPI(ctx context.Context, s *session.Session, name string) (*appv1.ApplicationDefinition, error) {
	d := &appv1.ApplicationDefinition{}
	err := s.Objects.Get(ctx, client.ObjectKey{Name: name}, d)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apimeta.IsNoMatchError(err):
		return nil, ui.Exitf(ui.ExitNotFound, "this API does not serve ApplicationDefinitions: its server is older")
	case err != nil:
		return nil, fmt.Errorf("read the definition %s: %w", name, err)
	}
	return d, nil
}

// fromFile finds a definition in a file. A file with one definition needs no name.
func fromFile(console *ui.Console, file, name string) (*appv1.ApplicationDefinition, error) {
	data, err := console.ReadFile(file, maxFile)
	if err != nil {
		return nil, fmt.Errorf("read the definition: %w", err)
	}
	all, err := definitionsIn(file, data)
	if err != nil {
		return nil, err
	}
	var found *appv1.ApplicationDefinition
	var names []string
	for _, d := range all {
		if name == "" || d.Name == name {
			found, names = d, append(names, d.Name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, ui.Exitf(ui.ExitNotFound, "%s has no ApplicationDefinition %s", file, name)
	case len(names) > 1:
		return nil, ui.Exitf(ui.ExitUsage, "%s has several definitions: %s; name one of them", file, strings.Join(names, ", "))
	}
	found.Status = appv1.ApplicationDefinitionStatus{}
	return found, nil
}

// definitionsIn reads the definitions of a file, and ignores other objects.
func definitionsIn(file string, data []byte) (found []*appv1.ApplicationDefinition, err error) {
	decoder := k8syaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), len(data)+1)
	for {
		var raw runtime.RawExtension
		if err := decoder.Decode(&raw); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if len(raw.Raw) == 0 {
			continue
		}
		more, err := decoded(raw.Raw)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		found = append(found, more...)
	}
}

// decoded reads one object, or a list of "kubectl get -o yaml".
func decoded(raw []byte) (found []*appv1.ApplicationDefinition, err error) {
	var head struct {
		APIVersion string                 `json:"apiVersion"`
		Kind       string                 `json:"kind"`
		Items      []runtime.RawExtension `json:"items"`
	}
	if err := yaml.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	if strings.HasSuffix(head.Kind, "List") {
		for _, item := range head.Items {
			more, err := decoded(item.Raw)
			if err != nil {
				return nil, err
			}
			found = append(found, more...)
		}
		return found, nil
	}
	if head.APIVersion != appv1.GroupVersion.String() || head.Kind != appv1.ApplicationDefinitionKind {
		return nil, nil
	}
	d := &appv1.ApplicationDefinition{}
	if err := yaml.UnmarshalStrict(raw, d); err != nil {
		return nil, err
	}
	return append(found, d), nil
}
