// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
)

// NewCommand is "yuba app".
func NewCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use: "app", Aliases: []string{"apps", "application", "applications"},
		Short: "See the instances of application kinds, approve their plans, and delete them",
		Long: `See the instances of application kinds, which ApplicationDefinitions declare: what they wait for, their plans, outputs and why.
Create and change them like other objects, with kubectl or from a source.`,
		Example: "  yuba app list\n  yuba app plan bucket photos\n  yuba app approve bucket photos plan-1a2b3c4d5e\n  yuba app why bucket photos\n" +
			"  yuba app outputs bucket photos\n  yuba app delete bucket photos",
	}, newListCommand(a), newPlanCommand(a), newApproveCommand(a), newWhyCommand(a), newOutputsCommand(a), newDeleteCommand(a))
}

// kinds are the application kinds that the API serves.
func kinds(s *session.Session) ([]metav1.APIResource, error) {
	d, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		return nil, fmt.Errorf("create a client for the API's kinds: %w", err)
	}
	list, err := d.ServerResourcesForGroupVersion(appv1.InstanceVersion.String())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("ask the API for its application kinds: %w", err)
	}
	return slices.DeleteFunc(list.APIResources, func(r metav1.APIResource) bool { return strings.Contains(r.Name, "/") }), nil
}

// find finds the kind that a user names.
func find(s *session.Session, named string) (metav1.APIResource, error) {
	all, err := kinds(s)
	if err != nil {
		return metav1.APIResource{}, err
	}
	var names []string
	for _, r := range all {
		if slices.Contains([]string{r.Name, r.SingularName, strings.ToLower(r.Kind)}, strings.ToLower(named)) {
			return r, nil
		}
		names = append(names, r.SingularName)
	}
	if len(names) == 0 {
		return metav1.APIResource{}, ui.Exitf(ui.ExitNotFound, "the API has no application kinds. A platform team declares them with an ApplicationDefinition")
	}
	slices.Sort(names)
	return metav1.APIResource{}, ui.Exitf(ui.ExitNotFound, "%q is not an application kind. There are: %s", named, strings.Join(names, ", "))
}

// action is what a command does with an instance.
type action func(ctx context.Context, s *session.Session, kind session.Kind, i content.Instance, rest []string) error

// onInstance runs an action on the instance that the first two arguments name.
func onInstance(a *session.App, do action) func(*cobra.Command, []string) error {
	return a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		r, err := find(s, args[0])
		if err != nil {
			return err
		}
		key, err := s.Stack(cmd, args[1])
		if err != nil {
			return err
		}
		ctx, cancel := ui.WithTimeout(cmd)
		defer cancel()
		return do(ctx, s, kindOf(r), content.Instance{Resource: r.Name, Namespace: key.Namespace, Name: key.Name}, args[2:])
	})
}
